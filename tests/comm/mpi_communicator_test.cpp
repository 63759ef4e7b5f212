#include <gtest/gtest.h>
#include <mpi.h>

#include "comm/communicator_checks.hpp"
#include "marks.hpp"

// Built where there is MPI. Under mpirun (tests/CMakeLists.txt) over several processes, else over one.

namespace pergola {
namespace {

PERGOLA_MARK(threads, "*");

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

}  // namespace
}  // namespace pergola
