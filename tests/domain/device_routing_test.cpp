#include "domain/device_routing.hpp"

#include <algorithm>
#include <cstdlib>
#include <numeric>
#include <vector>

#include "base/philox.hpp"
#include "comm/communicator.hpp"
#include "comm/counted_communicator.hpp"
#include "marks.hpp"
#include "test_devices.hpp"

namespace pergola {
namespace {

PERGOLA_MARK(threads, "*");

class DeviceRoutingTest : public DeviceTest {};

std::shared_ptr<Communicator> shared(Communicator& communicator) {
  return {&communicator, [](Communicator*) {}};
}

/// A rank's particles: 1000 on rank 1, on the others 300, none on the last of several.
[[maybe_unused]] std::int64_t count_of(int rank, int ranks) {
  return ranks > 1 && rank == ranks - 1 ? 0 : rank == 1 ? 1000 : 300;
}
/// Where particle i of a rank goes: rank 0 gets most, the last but one none.
[[maybe_unused]] int goal_of(int rank, std::int64_t i, int ranks) {
  const int goal = static_cast<int>(
      Philox(5, static_cast<std::uint32_t>(rank), static_cast<std::uint64_t>(i)).uniform() * 2 * ranks);
  return goal >= ranks || (ranks > 2 && goal == ranks - 2) ? 0 : goal;
}
[[maybe_unused]] double value_of(int rank, std::int64_t i) { return 1e6 * rank + static_cast<double>(i); }

/// Lists particles from the last to the first. Routing is DeviceRouting, which a build without CUDA does not have.
template <class Routing>
void plan(const Device& device, const std::shared_ptr<Communicator>& ranks, Routing& routing) {
  const std::int64_t count = count_of(ranks->rank(), ranks->size());
  Buffer<std::byte> work(device, std::max<std::int64_t>(1, routing.work_bytes(count)));
  std::vector<std::uint32_t> rank, particle;
  for (std::int64_t i = count - 1; i >= 0; --i) {
    rank.push_back(static_cast<std::uint32_t>(goal_of(ranks->rank(), i, ranks->size())));
    particle.push_back(static_cast<std::uint32_t>(i));
  }
  const auto listing = routing.listing(count, work.data());
  device.memory().from_host(listing.rank, rank.data(), rank.size() * sizeof(std::uint32_t));
  device.memory().from_host(listing.particle, particle.data(), particle.size() * sizeof(std::uint32_t));
  routing.plan(count, work.data());
}

template <class V, class Routing>
void expect_there_and_back(const Device& device, Routing& routing, const Communicator& ranks) {
  const std::int64_t count = count_of(ranks.rank(), ranks.size());
  std::vector<V> kept, negative, expected;
  for (std::int64_t i = 0; i < count; ++i) {
    kept.push_back(static_cast<V>(value_of(ranks.rank(), i)));
    negative.push_back(static_cast<V>(-value_of(ranks.rank(), i)));
  }
  for (int from = 0; from < ranks.size(); ++from)
    for (std::int64_t i = count_of(from, ranks.size()) - 1; i >= 0; --i)
      if (goal_of(from, i, ranks.size()) == ranks.rank()) expected.push_back(static_cast<V>(value_of(from, i)));
  ASSERT_EQ(routing.arriving(), std::ssize(expected));
  const Buffer<V> here(device, kept), minus(device, negative);
  Buffer<V> arrived(device, routing.arriving()), arrived_minus(device, routing.arriving());
  routing.template there<V, 2>({here.data(), minus.data()}, {arrived.data(), arrived_minus.data()});
  EXPECT_EQ(arrived.to_host(), expected);
  Buffer<V> back(device, count), back_minus(device, count);
  routing.template back<V, 2>({arrived.data(), arrived_minus.data()}, {back.data(), back_minus.data()});
  EXPECT_EQ(back.to_host(), kept);
  EXPECT_EQ(back_minus.to_host(), negative);
}

template <class Routing>
void expect_routing(const Device& device, const std::shared_ptr<Communicator>& ranks, Routing routing) {
  plan(device, ranks, routing);
  expect_there_and_back<double>(device, routing, *ranks);
  expect_there_and_back<float>(device, routing, *ranks);
  expect_there_and_back<std::uint8_t>(device, routing, *ranks);
  ranks->barrier();  // all have taken what was in the last one's rooms
}

/// With rooms of its own, and with those of others that hold some particles at a time.
template <class Routing, class Messages>
void expect_routings(const Device& device, const std::shared_ptr<Communicator>& ranks) {
  expect_routing(device, ranks, Routing(device, ranks));
  expect_routing(device, ranks, Routing(std::make_shared<Messages>(device, ranks, Messages::Rooms::two, 1000)));
}

// From device to device, and through the host.
TEST_P(DeviceRoutingTest, BringsValuesThereInTheOrderOfTheListAndBackToTheirPlaces) {
  for (const bool through_host : {false, true}) {
    if (through_host) setenv("PERGOLA_DEVICE_MESSAGES", "host", 1);
    for (const int ranks : {1, 2, 3, 7})
      run_on_thread_ranks(ranks, [&](Communicator& communicator) {
        if constexpr (cuda_built) expect_routings<DeviceRouting, DeviceMessages>(device(1), shared(communicator));
      });
  }
  unsetenv("PERGOLA_DEVICE_MESSAGES");
}

/// Without a list, and with a list in memory that is lent.
template <class Routing>
void expect_other_ways(const Device& device, const std::shared_ptr<Communicator>& ranks) {
  const int own = ranks->rank(), size = ranks->size();
  const auto count = std::int64_t{100} * (own + 1);
  const auto numbers = [](std::int64_t first, std::int64_t n) {
    std::vector<std::uint32_t> all(static_cast<std::size_t>(n));
    std::iota(all.begin(), all.end(), static_cast<std::uint32_t>(first));
    return all;
  };
  const auto received = [&](Routing& routing, const std::vector<std::uint32_t>& kept) {
    const Buffer<std::uint32_t> from(device, kept);
    Buffer<std::uint32_t> to(device, routing.arriving());
    routing.template there<std::uint32_t, 1>({from.data()}, {to.data()});
    return to.to_host();
  };
  // All to the next rank, as they stand.
  Routing way(device, ranks);
  std::vector<std::int64_t> sent(static_cast<std::size_t>(size));
  sent[static_cast<std::size_t>((own + 1) % size)] = count;
  way.plan_in_order(sent);
  const int before = (own + size - 1) % size;
  EXPECT_EQ(received(way, numbers(1000 * own, count)), numbers(1000 * before, way.arriving()));
  Buffer<std::byte> work(device, way.work_bytes(count));
  Buffer<std::uint32_t> borrowed(device, count);
  const auto listing = way.listing(count, work.data());
  const std::vector<std::uint32_t> goal(static_cast<std::size_t>(count), static_cast<std::uint32_t>((own + 1) % size));
  device.memory().from_host(listing.rank, goal.data(), goal.size() * sizeof goal[0]);
  device.memory().from_host(listing.particle, numbers(0, count).data(), goal.size() * sizeof goal[0]);
  way.plan(count, work.data(), borrowed.data());
  EXPECT_EQ(borrowed.to_host(), numbers(0, count));
  EXPECT_EQ(received(way, numbers(1000 * own, count)), numbers(1000 * before, way.arriving()));
  ranks->barrier();
}

TEST_P(DeviceRoutingTest, ParticlesGoAsTheyStandAndByALentList) {
  for (const int ranks : {1, 3})
    run_on_thread_ranks(ranks, [&](Communicator& communicator) {
      if constexpr (cuda_built) expect_other_ways<DeviceRouting>(device(1), shared(communicator));
    });
}

template <class Routing>
void expect_only_leavers_sent(const Device& device, const std::shared_ptr<CountedCommunicator>& ranks) {
  Routing routing(device, ranks);
  plan(device, ranks, routing);
  const std::int64_t count = count_of(ranks->rank(), ranks->size()), before = ranks->traffic().bytes;
  std::int64_t leavers = 0;
  for (std::int64_t i = 0; i < count; ++i) leavers += goal_of(ranks->rank(), i, ranks->size()) != ranks->rank();
  const Buffer<float> kept(device, std::vector<float>(static_cast<std::size_t>(count)));
  Buffer<float> arrived(device, routing.arriving());
  routing.template there<float, 1>({kept.data()}, {arrived.data()});
  const std::int64_t sent = ranks->traffic().bytes - before,
                     exported = 256 * ranks->size();  // what ranks tell each other
  EXPECT_GE(sent, leavers * std::int64_t{sizeof(float)});
  EXPECT_LE(sent, leavers * std::int64_t{sizeof(float)} + exported);
}

TEST_P(DeviceRoutingTest, WhatStaysIsNotSent) {
  run_on_thread_ranks(3, [&](Communicator& communicator) {
    const auto counted = std::make_shared<CountedCommunicator>(shared(communicator));
    if constexpr (cuda_built) expect_only_leavers_sent<DeviceRouting>(device(1), counted);
  });
}

INSTANTIATE_TEST_SUITE_P(Devices, DeviceRoutingTest, ::testing::Values(std::string("cuda")), device_test_name);

}  // namespace
}  // namespace pergola
