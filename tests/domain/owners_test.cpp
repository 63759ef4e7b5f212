#include "domain/owners.hpp"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <numeric>
#include <vector>

#include "comm/communicator.hpp"
#include "comm/shares.hpp"
#include "domain/routing.hpp"
#include "marks.hpp"

namespace pergola {
namespace {

PERGOLA_MARK(threads, "*");

constexpr int ranks = 3;
constexpr std::int64_t total = 20;

/// Gives each particle to the rank after that which has it, in the opposite order.
Routing next_door(Communicator& communicator, std::int64_t count) {
  std::vector<std::uint32_t> order(static_cast<std::size_t>(count));
  std::iota(order.rbegin(), order.rend(), 0u);
  std::vector<std::int64_t> sent(ranks);
  sent[static_cast<std::size_t>((communicator.rank() + 1) % ranks)] = count;
  return Routing(communicator, 1, std::move(order), std::move(sent));
}

/// Rank 0's device has a fault. It has the smallest share, and gets more.
std::vector<Device> open_devices(const char* fault) {
  std::vector<Device> devices;
  for (int rank = 0; rank < ranks; ++rank) {
    if (rank == 0) setenv("PERGOLA_DEVICE_FAULT", fault, 1);
    devices.push_back(Device::open("cpu", 1));
    unsetenv("PERGOLA_DEVICE_FAULT");
  }
  return devices;
}

/// The particles of a rank; the masses are their places in the input.
void fill(ParticleStore<double>& store, std::int64_t first, std::int64_t count) {
  store.resize(count);
  std::iota(store.mass.data(), store.mass.data() + count, static_cast<double>(first));
}
std::vector<double> masses(const ParticleStore<double>& store) {
  return {store.mass.data(), store.mass.data() + store.count()};
}
std::vector<double> numbers(std::int64_t first, std::int64_t count) {
  std::vector<double> all(static_cast<std::size_t>(count));
  std::iota(all.begin(), all.end(), static_cast<double>(first));
  return all;
}

TEST(Owners, ParticlesGoToTheirOwnersAndComeHome) {
  const std::vector<Device> devices = open_devices("");
  run_on_thread_ranks(ranks, [&](Communicator& communicator) {
    const int rank = communicator.rank(), before = (rank + ranks - 1) % ranks;
    const Shares shares{total, ranks};
    ParticleStore<double> store(devices[static_cast<std::size_t>(rank)]);
    fill(store, shares.first(rank), shares.count(rank));
    const std::vector<double> own = masses(store);
    Owners owners(store, std::shared_ptr<Communicator>(&communicator, [](Communicator*) {}), true);
    EXPECT_FALSE(owners.settle({}));
    Routing way = next_door(communicator, store.count());
    EXPECT_TRUE(owners.settle({&way}));
    EXPECT_THROW(owners.require_home(), Error);
    // There they stand in the order of the input; the last one arrived first.
    const std::vector<double> there = numbers(shares.first(before), shares.count(before));
    EXPECT_EQ(masses(store), there);
    EXPECT_EQ(std::vector<double>(owners.places(), owners.places() + store.count()), there);
    std::vector<double> answers(own.size());
    owners.carry_back(reinterpret_cast<const std::byte*>(store.mass.data()),
                      reinterpret_cast<std::byte*>(answers.data()), sizeof(double));
    EXPECT_EQ(answers, own);
    // One door on, from there.
    Routing on = next_door(communicator, store.count());
    EXPECT_TRUE(owners.settle({&on}));
    EXPECT_EQ(masses(store), numbers(shares.first((rank + 1) % ranks), shares.count((rank + 1) % ranks)));
    // Of the faults on two ranks that of the lower place is told of, by the rank that was given it.
    std::int64_t kind = rank;
    const std::int64_t found = owners.find_at_home(rank == 2 ? -1 : 1, kind);
    EXPECT_EQ(kind, 0);  // rank 0 has those of rank 1
    EXPECT_EQ(found, rank == 1 ? 1 : -1);
    EXPECT_EQ(masses(store), own);
    EXPECT_EQ(owners.places(), nullptr);
  });
}

TEST(Owners, WhereMemoryIsRefusedToOneRankNothingMoves) {
  // Nine fields have their memory by then; then come that of the move, and larger memory for the fields.
  for (const char* fault : {"alloc:10", "alloc:11", "alloc:12", "alloc:19"}) {
    const std::vector<Device> devices = open_devices(fault);
    run_on_thread_ranks(ranks, [&](Communicator& communicator) {
      const Shares shares{total, ranks};
      ParticleStore<double> store(devices[static_cast<std::size_t>(communicator.rank())]);
      fill(store, shares.first(communicator.rank()), shares.count(communicator.rank()));
      const std::vector<double> own = masses(store);
      Owners owners(store, std::shared_ptr<Communicator>(&communicator, [](Communicator*) {}));
      Routing way = next_door(communicator, store.count());
      EXPECT_THROW(owners.settle({&way}), Error) << fault;
      EXPECT_FALSE(owners.away());
      EXPECT_EQ(masses(store), own);
    });
  }
}

}  // namespace
}  // namespace pergola
