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
  template <class Place>
  void expect_places(Place first) const {
    constexpr std::int64_t count = 10000;
    const Device on = device(1);
    std::vector<Place> places;
    for (std::int64_t k = 0; k < count; ++k) places.push_back(first + static_cast<Place>(3 * k));
    std::vector<std::pair<double, Place>> drawn;
    for (const Place place : places) drawn.emplace_back(Philox(3, 0, place).uniform(), place);
    std::sort(drawn.begin(), drawn.end());
    std::vector<Place> mixed;
    for (const auto& [key, place] : drawn) mixed.push_back(place);

    Buffer<Place> sorted(on, mixed);
    Buffer<std::uint32_t> order(on, count), within(on, count);
    Buffer<std::byte> work(on, places_work_bytes<Place>(on, count));
    sort_places(on, count, sorted.data(), order.data(), work.data());
    EXPECT_EQ(sorted.to_host(), places);
    const auto from = order.to_host();
    for (std::size_t k = 0; k < places.size(); ++k) ASSERT_EQ(mixed[from[k]], places[k]);

    const Shares shares{static_cast<std::int64_t>(first) + 3 * count, 3};
    const auto counts = counts_by_share(on, std::as_const(sorted).data(), count, shares);
    for (int rank = 0; rank < 3; ++rank) {
      const auto is_in = [&](Place place) {
        const auto at = static_cast<std::int64_t>(place) - shares.first(rank);
        return at >= 0 && at < shares.count(rank);
      };
      EXPECT_EQ(counts[static_cast<std::size_t>(rank)], std::count_if(places.begin(), places.end(), is_in));
    }
    places_in_share(on, std::as_const(sorted).data(), count, static_cast<std::int64_t>(first), within.data());
    EXPECT_EQ(within.to_host()[1], 3u);
    fill_places(on, static_cast<std::int64_t>(first), count, sorted.data());
    EXPECT_EQ(sorted.to_host().back(), first + static_cast<Place>(count - 1));
  }
};

// The last ones that have room in four bytes, and some that have not.
TEST_P(InputPlaces, OfFourAndOfEightBytesAreSortedAndShared) {
  expect_places<std::uint32_t>(0);
  expect_places<std::uint32_t>(0xffffffffu - 29999);
  expect_places<std::uint64_t>(0);
  expect_places<std::uint64_t>(std::uint64_t{1} << 33);
}

INSTANTIATE_TEST_SUITE_P(Devices, InputPlaces, OnEachDevice(), device_test_name);

}  // namespace
}  // namespace pergola
