#include "device/sort.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <numeric>
#include <random>
#include <vector>

#include "marks.hpp"
#include "test_devices.hpp"

// Against std::stable_sort. Sizes on both sides of the chunks' bounds; keys that agree in many bits, in all, in none.

namespace pergola {
namespace {

PERGOLA_MARK(threads, "*");

template <class Key>
std::vector<std::uint32_t> stable_order(const std::vector<Key>& keys) {
  std::vector<std::uint32_t> order(keys.size());
  std::iota(order.begin(), order.end(), 0u);
  std::stable_sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) { return keys[a] < keys[b]; });
  return order;
}

TEST(Sort, OrderOfCellsIsTheStableOne) {
  std::mt19937_64 random(1);
  for (const std::size_t count : {1, 2, 1000, 65536, 65537, 200000})
    for (const std::int64_t limit : {std::int64_t{1}, std::int64_t{7}, std::int64_t{5000}, (std::int64_t{1} << 22) + 1})
      for (const int threads : {1, 3}) {
        std::vector<std::uint32_t> keys(count), order(count);
        for (auto& key : keys) key = static_cast<std::uint32_t>(random() % static_cast<std::uint64_t>(limit));
        std::vector<char> work(static_cast<std::size_t>(order_by_key_bytes(static_cast<std::int64_t>(count))));
        std::memcpy(work.data(), keys.data(), count * sizeof(std::uint32_t));
        order_by_key(threads, static_cast<std::int64_t>(count), limit, order.data(), work.data());
        ASSERT_EQ(order, stable_order(keys)) << count << " keys below " << limit << ", " << threads << " threads";
      }
}

TEST(Sort, LongKeysAndTheirValuesComeInTheStableOrder) {
  std::mt19937_64 random(2);
  for (const std::size_t count : {1, 2, 1000, 4096, 4097, 300000})
    for (const std::uint64_t mask :
         {~std::uint64_t{0} >> 1, std::uint64_t{0xffff}, std::uint64_t{0x7f} << 56, std::uint64_t{0}})
      for (const int threads : {1, 3}) {
        std::vector<std::uint64_t> keys(count);
        for (auto& key : keys) key = random() & mask;
        const auto expected = stable_order(keys);
        const Device device = Device::open("cpu", threads);
        std::vector<std::uint32_t> places(count);
        std::iota(places.begin(), places.end(), 0u);
        const auto n = static_cast<std::int64_t>(count);
        SortBuffers buffers{{device, n}, {device, n}, {device, n}, {device, n}};
        std::copy(keys.begin(), keys.end(), buffers.keys.data());
        std::copy(places.begin(), places.end(), buffers.values.data());
        sort_by_key_cpu(device, n, buffers);
        for (std::size_t k = 0; k < count; ++k) {
          ASSERT_EQ(buffers.values.data()[k], expected[k]) << count << " keys with " << mask << ", place " << k;
          ASSERT_EQ(buffers.keys.data()[k], keys[expected[k]]);
        }
      }
}

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
