#include "time/work_places.hpp"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <numeric>
#include <vector>

#include "comm/communicator.hpp"
#include "comm/shares.hpp"
#include "gravity/source_moves.hpp"
#include "marks.hpp"

namespace pergola {
namespace {

PERGOLA_MARK(threads, "*");

constexpr int ranks = 3;
constexpr std::int64_t total = 20;

/// Works on each particle on the rank after that which has it, in the opposite order.
class NextDoor final : public AnySolver, public SourceMoves {
 public:
  NextDoor(Communicator& communicator, std::int64_t count) {
    std::vector<std::uint32_t> order(static_cast<std::size_t>(count));
    std::iota(order.rbegin(), order.rend(), 0u);
    std::vector<std::int64_t> sent(ranks);
    sent[static_cast<std::size_t>((communicator.rank() + 1) % ranks)] = count;
    way_ = Routing(communicator, 1, std::move(order), std::move(sent));
  }
  const SolverInfo& info() const override { return info_; }
  NeighbourLists neighbour_lists(const Targets&, double) override { return {}; }
  std::int64_t device_bytes(std::int64_t) const override { return 0; }
  Routing* way() override { return &way_; }
  void have_come(View<const std::uint32_t> places) override { here.assign(places.begin(), places.end()); }
  void have_left(const Routing& home, View<const std::uint32_t> places) override {
    way_ = home.reversed({places.begin(), places.end()});
  }

  std::vector<std::uint32_t> here;  // by the order of their arrival

 private:
  SolverInfo info_;
  Routing way_;
};

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

TEST(WorkPlaces, ParticlesGoToWorkAndComeHome) {
  const std::vector<Device> devices = open_devices("");
  run_on_thread_ranks(ranks, [&](Communicator& communicator) {
    const int rank = communicator.rank(), before = (rank + ranks - 1) % ranks;
    const Shares shares{total, ranks};
    ParticleStore<double> store(devices[static_cast<std::size_t>(rank)]);
    fill(store, shares.first(rank), shares.count(rank));
    const std::vector<double> own = masses(store);
    NextDoor solver(communicator, store.count());
    WorkPlaces places(store, solver, std::shared_ptr<Communicator>(&communicator, [](Communicator*) {}));
    EXPECT_FALSE(places.begin_step(WorkPlaces::fewest_steps - 1));  // too few to pay
    EXPECT_TRUE(places.begin_step(WorkPlaces::fewest_steps));
    EXPECT_THROW(places.require_home(), Error);
    // There they stand in the order of the input; the last one arrived first.
    std::vector<double> there(static_cast<std::size_t>(shares.count(before)));
    std::iota(there.begin(), there.end(), static_cast<double>(shares.first(before)));
    EXPECT_EQ(masses(store), there);
    EXPECT_EQ(std::vector<double>(places.places(), places.places() + store.count()), there);
    EXPECT_EQ(solver.here.front(), store.count() - 1);
    // Of the faults on two ranks that of the lower place is told of, by the rank that keeps it.
    std::int64_t kind = rank;
    const std::int64_t found = places.find_at_home(rank == 0 ? -1 : 1, kind);
    EXPECT_EQ(kind, 1);
    EXPECT_EQ(found, rank == 0 ? 1 : -1);
    EXPECT_EQ(masses(store), own);
    EXPECT_EQ(places.places(), nullptr);
  });
}

TEST(WorkPlaces, WhereMemoryIsRefusedToOneRankAllStayAtHome) {
  // Nine fields have their memory by then; then come that of the move, and larger memory for the fields.
  for (const char* fault : {"alloc:10", "alloc:11", "alloc:12", "alloc:19"}) {
    const std::vector<Device> devices = open_devices(fault);
    run_on_thread_ranks(ranks, [&](Communicator& communicator) {
      const Shares shares{total, ranks};
      ParticleStore<double> store(devices[static_cast<std::size_t>(communicator.rank())]);
      fill(store, shares.first(communicator.rank()), shares.count(communicator.rank()));
      const std::vector<double> own = masses(store);
      NextDoor solver(communicator, store.count());
      WorkPlaces places(store, solver, std::shared_ptr<Communicator>(&communicator, [](Communicator*) {}));
      EXPECT_FALSE(places.begin_step(100)) << fault;
      EXPECT_FALSE(places.away());
      EXPECT_EQ(masses(store), own);
      EXPECT_FALSE(places.begin_step(100));  // nor is it tried again
    });
  }
}

}  // namespace
}  // namespace pergola
