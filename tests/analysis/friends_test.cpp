#include "analysis/friends.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/error.hpp"
#include "base/philox.hpp"
#include "marks.hpp"
#include "particles/box.hpp"
#include "test_devices.hpp"

namespace pergola {
namespace {

PERGOLA_MARK(threads, "*");

Particles points(std::int64_t n, double side) {
  Particles p;
  p.resize(n);
  for (std::size_t i = 0; i < p.id.size(); ++i) {
    Philox random(8, 0, i), clump(8, 1, i / 25);
    const auto place = [&] {
      const double own = random.uniform(), center = clump.uniform();
      return i % 3 == 0 ? side * own : std::fmod(side * (center + 0.05 * own), side);
    };
    p.x[i] = place(), p.y[i] = place(), p.z[i] = place();
    p.mass[i] = 1;
    p.id[i] = (i * 7919) % 10007 + 1;
  }
  return p;
}

class FriendsOfFriends : public DeviceTest {};
INSTANTIATE_TEST_SUITE_P(Devices, FriendsOfFriends, OnEachDevice(), device_test_name);

/// Ids of each group by comparing all pairs and spreading the lowest label until nothing changes.
std::vector<std::vector<std::uint64_t>> by_brute_force(const Particles& p, const Box& box, double length,
                                                       std::size_t least) {
  const std::size_t n = p.id.size();
  std::vector<std::size_t> label(n);
  std::iota(label.begin(), label.end(), std::size_t{0});
  for (bool changed = true; changed;) {
    changed = false;
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t j = 0; j < n; ++j) {
        double d2 = 0;
        for (const auto* x : {&p.x, &p.y, &p.z}) {
          double d = std::abs((*x)[i] - (*x)[j]);
          if (box.periodic()) d = std::min(d, box.side.x - d);
          d2 += d * d;
        }
        if (d2 <= length * length && label[j] > label[i]) label[j] = label[i], changed = true;
      }
  }
  std::vector<std::vector<std::uint64_t>> groups(n);
  for (std::size_t i = 0; i < n; ++i) groups[label[i]].push_back(p.id[i]);
  std::erase_if(groups, [least](const auto& group) { return group.size() < least; });
  for (auto& group : groups) std::sort(group.begin(), group.end());
  std::sort(groups.begin(), groups.end(),
            [](const auto& a, const auto& b) { return a.size() != b.size() ? a.size() > b.size() : a[0] < b[0]; });
  return groups;
}

std::vector<std::vector<std::uint64_t>> ids_of(const Particles& p, const FriendGroups& found) {
  std::vector<std::vector<std::uint64_t>> ids;
  for (const auto& group : found.groups) {
    ids.emplace_back();
    for (const std::size_t i : group) ids.back().push_back(p.id[i]);
  }
  return ids;
}

// Reference: all pairs, compared one by one. Lengths from one that joins few to one that joins nearly all.
TEST_P(FriendsOfFriends, AreThoseOfAllPairs) {
  const Particles p = points(400, 10);
  for (const bool periodic : {false, true})
    for (const double length : {0.05, 0.3, 0.8, 2.4}) {
      const Box box{{0, 0, 0}, {10, 10, 10}, periodic ? Boundary::periodic : Boundary::isolated};
      const auto found = ids_of(p, friends_of_friends(p, box, length, 2, device(2)));
      EXPECT_EQ(found, by_brute_force(p, box, length, 2)) << periodic << " " << length;
    }
}

// Reference: the same particles in another order, and other numbers of threads.
TEST_P(FriendsOfFriends, AreTheSameInAnyOrderOnAnyNumberOfThreadsAndDevice) {
  const Particles p = points(600, 5);
  Particles turned = p;
  for (auto* list : {&turned.x, &turned.y, &turned.z, &turned.mass}) std::reverse(list->begin(), list->end());
  std::reverse(turned.id.begin(), turned.id.end());
  const Box box{{0, 0, 0}, {5, 5, 5}, Boundary::periodic};
  const auto first = ids_of(p, friends_of_friends(p, box, 0.2, 3, Device::open("cpu", 1)));
  EXPECT_FALSE(first.empty());
  EXPECT_EQ(first, ids_of(turned, friends_of_friends(turned, box, 0.2, 3, device(1))));
  EXPECT_EQ(first, ids_of(p, friends_of_friends(p, box, 0.2, 3, device(4))));
}

// Reference: all pairs. Two pairs of friends so far apart that the cells between them have no number of 64 bits.
TEST_P(FriendsOfFriends, MayBeVeryFarFromOthers) {
  Particles p = points(4, 1);
  p.x = {-1e9, -1e9 + 1e-3, 2e9, 2e9}, p.y = {1, 1, -3e9, -3e9 - 1e-3}, p.z = {5e8, 5e8, -4, -4};
  const auto found = ids_of(p, friends_of_friends(p, {}, 2e-3, 2, device(2)));
  EXPECT_EQ(found, by_brute_force(p, {}, 2e-3, 2));
  EXPECT_EQ(found.size(), 2u);
}

// Reference: one chain of friends through the whole box, along each axis and around its edges, met in any order.
TEST_P(FriendsOfFriends, OfAChainAreOneGroup) {
  Particles p = points(3000, 1);
  for (std::size_t i = 0; i < p.id.size(); ++i) {
    const double along = static_cast<double>((i * 1597) % 1000) / 1000;
    p.x[i] = i < 1000 ? along : 0, p.y[i] = i >= 1000 && i < 2000 ? along : 0, p.z[i] = i >= 2000 ? along : 0;
    p.id[i] = i + 1;
  }
  const Box box{{0, 0, 0}, {1, 1, 1}, Boundary::periodic};
  const auto found = friends_of_friends(p, box, 0.00101, 2, device(4));
  ASSERT_EQ(found.groups.size(), 1u);
  EXPECT_EQ(found.groups[0].size(), 3000u);
  EXPECT_TRUE(friends_of_friends(p, box, 0.00099, 4, device(4)).groups.empty());
}

TEST(Friends, AtALengthThatCannotBeAreRefused) {
  const Particles p = points(10, 1);
  const Box box{{0, 0, 0}, {1, 1, 1}, Boundary::periodic};
  const Device cpu = Device::open("cpu", 1);
  EXPECT_THROW(friends_of_friends(p, box, 0, 2, cpu), Error);
  EXPECT_THROW(friends_of_friends(p, box, 0.3, 2, cpu), Error);
  EXPECT_TRUE(friends_of_friends(Particles{}, {}, 0.3, 2, cpu).groups.empty());
}

}  // namespace
}  // namespace pergola
