#include <gtest/gtest.h>
#include <mpi.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "base/error.hpp"
#include "comm/communicator_checks.hpp"
#include "comm/lent_cores.hpp"
#include "comm/one_machine.hpp"

// Built where there is MPI. Under mpirun (tests/CMakeLists.txt) over several processes, else over one.

namespace pergola {
namespace {

// A program that uses the library may give it some of its processes only: here those with even and those with odd ranks
// work side by side.
TEST(MpiCommunicator, TakesACommunicatorThatIsHandedIn) {
  const auto world = world_communicator();
  int started = 0;
  MPI_Initialized(&started);
  if (!started) GTEST_SKIP() << "needs mpirun";
  MPI_Comm half = MPI_COMM_NULL;
  MPI_Comm_split(MPI_COMM_WORLD, world->rank() % 2, world->rank(), &half);
  const auto ranks = mpi_communicator(&half);
  MPI_Comm_free(&half);
  EXPECT_EQ(ranks->rank(), world->rank() / 2);
  EXPECT_EQ(ranks->size(), (world->size() + 1 - world->rank() % 2) / 2);
  check_all(*ranks);
}

// MPI was started for several threads: PERGOLA_MPI_THREADS in tests/CMakeLists.txt.
TEST(MpiCommunicator, TalksInTwoThreadsAtOnce) {
  const auto world = world_communicator();
  if (world->size() == 1) GTEST_SKIP() << "needs mpirun with several processes";
  check_beside(*world);
}

// What one writes all read.
TEST(MpiCommunicator, SharesMemoryOnAMachine) {
  const auto world = world_communicator();
  if (world->size() == 1) GTEST_SKIP() << "needs mpirun with several processes";
  EXPECT_FALSE(on_one_machine(*world));  // nobody has looked
  EXPECT_EQ(share_memory(*world, 8), nullptr);
  EXPECT_TRUE(find_machines(*world));
  ASSERT_TRUE(on_one_machine(*world));
  const auto memory = share_memory(*world, static_cast<std::size_t>(world->size()) * sizeof(int));
  ASSERT_NE(memory, nullptr);
  auto* const numbers = static_cast<int*>(memory.get());
  EXPECT_EQ(numbers[world->rank()], 0);
  world->barrier();
  numbers[world->rank()] = 100 + world->rank();
  world->barrier();
  for (int rank = 0; rank < world->size(); ++rank) EXPECT_EQ(numbers[rank], 100 + rank);
}

// Ranks that have nothing to do lend their cores to rank 0: each piece is done once, some by further threads, and what
// one of them throws arrives. In several rounds, so that cores are given back and lent again.
TEST(MpiCommunicator, LendsCores) {
  const auto world = world_communicator();
  if (world->size() == 1) GTEST_SKIP() << "needs mpirun with several processes";
  find_machines(*world);
  LentCores* const cores = lent_cores(*world);
  ASSERT_NE(cores, nullptr);
  const auto memory = share_memory(*world, sizeof(int));
  const std::atomic_ref begun(*static_cast<int*>(memory.get()));  // rounds of rank 0
  constexpr std::int64_t most = 40;
  const std::int64_t count = world->is_root() ? most : 0;
  for (int round = 0; round < 3; ++round) {
    std::atomic<int> done[most] = {}, by_others{0};
    const auto owner = std::this_thread::get_id();
    const auto piece = [&](std::int64_t i) {
      if (i > 0) begun = round + 1;
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
      ++done[i];
      if (std::this_thread::get_id() != owner) ++by_others;
      if (i == most - 1 && round == 1) throw Error(ErrorKind::numerics, "the last piece");
    };
    const auto call = [](const void* body, std::int64_t i) { (*static_cast<const decltype(piece)*>(body))(i); };
    while (!world->is_root() && begun <= round) std::this_thread::yield();
    if (world->is_root() && round == 1) {
      EXPECT_THROW(cores->run(count, call, &piece), Error);
    } else {
      cores->run(count, call, &piece);
    }
    for (std::int64_t i = 0; i < count; ++i) EXPECT_EQ(done[i], 1) << i;
    EXPECT_GE(by_others, world->is_root() ? 1 : 0);
    world->barrier();
  }
}

}  // namespace
}  // namespace pergola
