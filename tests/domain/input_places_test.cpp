#include "domain/input_places.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <vector>

#include "base/philox.hpp"
#include "marks.hpp"
#include "test_devices.hpp"

namespace pergola {
namespace {

PERGOLA_MARK(threads, "*");

class InputPlaces : public DeviceTest {
 protected:
  /// Every third of 30,000 places, in any order. Reference: the sort of the standard library.
  void expect_places(std::uint64_t first) const {
    constexpr std::int64_t count = 10000;
    const Device on = device(1);
    std::vector<std::uint64_t> places;
    for (std::uint64_t k = 0; k < count; ++k) places.push_back(first + 3 * k);
    std::vector<std::pair<double, std::uint64_t>> drawn;
    for (const std::uint64_t place : places) drawn.emplace_back(Philox(3, 0, place).uniform(), place);
    std::sort(drawn.begin(), drawn.end());
    std::vector<std::uint64_t> mixed;
    for (const auto& [key, place] : drawn) mixed.push_back(place);

    const auto limit = static_cast<std::int64_t>(first) + 3 * count;
    Buffer<std::uint64_t> sorted(on, mixed);
    Buffer<std::uint32_t> order(on, count), within(on, count);
    Buffer<std::byte> work(on, places_work_bytes(on, count, limit));
    sort_places(on, count, limit, sorted.data(), order.data(), work.data());
    EXPECT_EQ(sorted.to_host(), places);
    const auto from = order.to_host();
    for (std::size_t k = 0; k < places.size(); ++k) ASSERT_EQ(mixed[from[k]], places[k]);

    const std::vector<std::int64_t> bounds{0, static_cast<std::int64_t>(first) + 4, limit};
    EXPECT_EQ(counts_below(on, std::as_const(sorted).data(), count, bounds), (std::vector<std::int64_t>{0, 2, count}));
    places_from(on, std::as_const(sorted).data(), count, static_cast<std::int64_t>(first), within.data());
    EXPECT_EQ(within.to_host()[1], 3u);
    fill_places(on, static_cast<std::int64_t>(first), count, sorted.data());
    EXPECT_EQ(sorted.to_host().back(), first + count - 1);
  }
};

// The last ones that have room in four bytes, and some that have not.
TEST_P(InputPlaces, AreSortedAndCounted) {
  expect_places(0);
  expect_places(0xffffffffu - 29999);
  expect_places(std::uint64_t{1} << 33);
}

INSTANTIATE_TEST_SUITE_P(Devices, InputPlaces, OnEachDevice(), device_test_name);

}  // namespace
}  // namespace pergola
