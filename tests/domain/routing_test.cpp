#include "domain/routing.hpp"

#include <gtest/gtest.h>

#include "comm/communicator.hpp"
#include "comm/counted_communicator.hpp"
#include "marks.hpp"

namespace pergola {
namespace {

PERGOLA_MARK(threads, "*");

/// Particle i of rank r is 100 r + i. Of ten, each rank sends run 2, 3 to its neighbour, 7 and 5 to rank 0, and keeps
/// the others, 8 and 9 as a run.
TEST(Routing, BringsRunsAndListedParticlesThereAndBack) {
  constexpr int size = 3;
  run_on_thread_ranks(size, [&](Communicator& communicator) {
    const int rank = communicator.rank(), next = (rank + 1) % size;
    std::vector<std::uint32_t> order;
    std::vector<std::int64_t> sent(size);
    std::vector<PlaceRun> runs(size);
    runs[static_cast<std::size_t>(next)] = {2, 2}, runs[static_cast<std::size_t>(rank)] = {8, 2};
    for (int to = 0; to < size; ++to) {
      std::vector<std::uint32_t> listed;
      if (to == 0) listed = {7, 5};
      if (to == rank) listed.insert(listed.end(), {0, 1, 4, 6});
      order.insert(order.end(), listed.begin(), listed.end());
      sent[static_cast<std::size_t>(to)] = std::ssize(listed);
    }
    order.resize(order.size() + 3);  // more than there are
    std::vector<double> kept(10), back(10, -1);
    for (std::size_t i = 0; i < kept.size(); ++i) kept[i] = 100 * rank + static_cast<double>(i);
    Routing routing;
    routing.plan(communicator, 1, order, sent, runs);
    std::vector<double> expected;
    for (int from = 0; from < size; ++from) {
      const double first = 100 * from;
      if ((from + 1) % size == rank) expected.insert(expected.end(), {first + 2, first + 3});
      if (from == rank) expected.insert(expected.end(), {first + 8, first + 9});
      if (rank == 0) expected.insert(expected.end(), {first + 7, first + 5});
      if (from == rank) expected.insert(expected.end(), {first, first + 1, first + 4, first + 6});
    }
    auto arrived = routing.there(kept.data());
    EXPECT_EQ(arrived, expected) << rank;
    for (double& value : arrived) value += 0.5;
    routing.back(arrived.data(), back.data());
    for (std::size_t i = 0; i < kept.size(); ++i) EXPECT_EQ(back[i], kept[i] + 0.5) << rank << " " << i;
  });
}

TEST(Routing, WhatStaysIsNotSent) {
  run_on_thread_ranks(2, [](Communicator& communicator) {
    CountedCommunicator counted(std::shared_ptr<Communicator>(&communicator, [](Communicator*) {}));
    std::vector<std::int64_t> sent(2);
    sent[static_cast<std::size_t>(communicator.rank())] = 3;
    const Routing routing(counted, 1, {2, 0, 1}, sent);
    const std::int64_t before = counted.traffic().bytes;
    const std::vector<float> kept{1, 2, 3};
    EXPECT_EQ(routing.there(kept.data()), std::vector<float>({3, 1, 2}));
    EXPECT_EQ(counted.traffic().bytes, before);
  });
}

}  // namespace
}  // namespace pergola
