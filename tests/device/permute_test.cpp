#include "device/permute.hpp"

#include <algorithm>
#include <numeric>
#include <random>
#include <vector>

#include "device/buffer.hpp"
#include "test_devices.hpp"

namespace pergola {
namespace {

class Permute : public DeviceTest {};

TEST_P(Permute, ValuesAreBroughtIntoANewOrder) {
  const Device here = device();
  const std::int64_t count = 70000;
  std::vector<std::uint32_t> order(count);
  std::iota(order.begin(), order.end(), 0U);
  std::shuffle(order.begin(), order.end(), std::mt19937_64(1));
  const Buffer<std::uint32_t> places(here, order);
  const auto expect = [&]<class T>(T) {
    std::vector<T> values(count);
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<T>(i * 7);
    const Buffer<T> from(here, values);
    Buffer<T> to(here, count);
    permute(here, count, places.data(), from.data(), to.data());
    const auto moved = to.to_host();
    for (std::size_t k = 0; k < moved.size(); ++k) ASSERT_EQ(moved[k], values[order[k]]);
  };
  expect(std::uint8_t{});
  expect(float{});
  expect(double{});
  expect(std::uint64_t{});
}

INSTANTIATE_TEST_SUITE_P(Devices, Permute, OnEachDevice(), device_test_name);

}  // namespace
}  // namespace pergola
