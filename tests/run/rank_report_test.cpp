#include "run/rank_report.hpp"
#include "comm/communicator.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace pergola {
namespace {

constexpr GpuIdentity first_gpu{'a'}, second_gpu{'b'}, none{};

TEST(SharedGpus, AreSaidWhereProcessesTakeTurnsThere) {
  const auto said = shared_gpus_remark({{first_gpu, 10, 1}, {first_gpu, 11, 1}, {second_gpu, 12, 1}});
  EXPECT_TRUE(said.starts_with("2 ranks share 1 GPU and take turns there")) << said;
  EXPECT_NE(said.find("docs/cluster.md"), std::string::npos) << said;
  const auto two = shared_gpus_remark({{first_gpu, 1, 1}, {second_gpu, 2, 1}, {first_gpu, 3, 1}, {second_gpu, 4, 1}});
  EXPECT_TRUE(two.starts_with("4 ranks share 2 GPUs")) << two;
}

TEST(SharedGpus, AreNotSaidOfOneProcessPerGpuOfThreadsOfMpsAndOfCpus) {
  EXPECT_EQ(shared_gpus_remark({{first_gpu, 10, 1}, {second_gpu, 11, 1}}), "");
  EXPECT_EQ(shared_gpus_remark({{first_gpu, 10, 1}, {first_gpu, 10, 1}}), "");
  EXPECT_EQ(shared_gpus_remark({{first_gpu, 10, 0}, {first_gpu, 11, 0}}), "");
  EXPECT_EQ(shared_gpus_remark({{none, 10, 1}, {none, 11, 1}}), "");
  run_on_thread_ranks(3, [](Communicator& ranks) { EXPECT_EQ(find_shared_gpus(Device::open("cpu", 1), ranks), ""); });
}

TEST(SharedGpus, MpsIsWhereItsControlIs) {
  const auto folder = std::filesystem::temp_directory_path() / ("pergola-mps-" + std::to_string(::getpid()));
  EXPECT_FALSE(mps_is_in(folder));
  std::filesystem::create_directories(folder);
  EXPECT_FALSE(mps_is_in(folder));
  std::ofstream(folder / "control") << "";
  EXPECT_TRUE(mps_is_in(folder));
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace pergola
