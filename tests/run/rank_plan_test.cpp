#include "run/rank_plan.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "comm/communicator.hpp"
#include "comm/counted_communicator.hpp"
#include "config/config.hpp"
#include "run/plan.hpp"
#include "run/side_by_side.hpp"
#include "sim/system.hpp"

namespace pergola {
namespace {

TEST(TrafficRule, FindsVolumeAndSurfaceOfTwoShares) {
  const TrafficRule made{40, 700};
  const TrafficRule found = fit_traffic(8000, 40 * 8000.0 + 700 * 400, 1000, 40 * 1000.0 + 700 * 100);
  EXPECT_NEAR(found.volume, made.volume, 1e-9);
  EXPECT_NEAR(found.surface, made.surface, 1e-7);
  EXPECT_NEAR(found.at(64000), 40 * 64000.0 + 700 * 1600, 1e-5);
}

TEST(TrafficRule, HasNoNegativePartAndGoesThroughTheLargerShare) {
  // More bytes of each particle in the larger share: all is volume. Eight times fewer bytes per particle in eight
  // times as many, as of a constant: all is surface.
  const TrafficRule growing = fit_traffic(8000, 80000, 1000, 5000), constant = fit_traffic(8000, 500, 1000, 500);
  EXPECT_EQ(growing.surface, 0);
  EXPECT_NEAR(growing.at(16000), 160000, 1e-6);
  EXPECT_EQ(constant.volume, 0);
  EXPECT_NEAR(constant.at(8000), 500, 1e-9);
  EXPECT_NEAR(constant.at(64000), 2000, 1e-9);
}

TEST(TrafficRule, MessagesGrowWithThePartners) {
  EXPECT_EQ(scaled_messages(630, 64, 64), 630);
  EXPECT_EQ(scaled_messages(630, 64, 127), 1260);
}

TEST(RankPlan, AddedWorkFallsAsASurface) {
  EXPECT_NEAR(scaled_added_work(0.4, 8), 0.2, 1e-12);
  DryRun tried{.ranks = 4, .seconds_mean = 0.3};
  set_added_work(tried, {.ranks = 1, .seconds_mean = 1});
  EXPECT_NEAR(tried.added_work, 0.2, 1e-12);
}

TEST(RankPlan, StepIsWorkOfTheBusiestAndTheNetwork) {
  RankPlan plan{.ranks = 128, .network = {.bytes_per_second = 1e6, .latency = 1e-3}};
  plan.one_rank_seconds = 128;
  plan.counted = {{.ranks = 64,
                   .n = 64 * 8000,
                   .steps = 2,
                   .bytes_mean = 600000,
                   .bytes_most = 1200000,
                   .messages_most = 63,
                   .imbalance = 1.25,
                   .added_work = 0.5},
                  {.ranks = 64, .n = 64 * 1000, .steps = 2, .bytes_mean = 110000, .bytes_most = 110000}};
  foretell_ranks(plan, {.n = 128 * 64000.0});             // 40 m + 700 m^(2/3), as above, and twice that
  EXPECT_NEAR(plan.compute_seconds, 1.25 * 1.25, 1e-12);  // added work: 0.5 of 8000, 0.25 of 64,000
  EXPECT_NEAR(plan.bytes, 2 * (40 * 64000.0 + 700 * 1600), 1e-3);
  EXPECT_NEAR(plan.messages, 127, 1e-9);
  EXPECT_NEAR(plan.communication_seconds, plan.bytes / 1e6 + 0.127, 1e-9);
  EXPECT_NEAR(plan.efficiency, 1 / (1.25 * 1.25 + plan.communication_seconds), 1e-12);
  RankPlan pairs = plan;
  foretell_ranks(pairs, {.n = 128 * 64000.0, .sources_come_by = true});  // as on 64 ranks
  EXPECT_NEAR(pairs.bytes, 2 * (40 * 128000.0 + 700 * std::pow(128000, 2.0 / 3)), 1e-3);
  EXPECT_EQ(pairs.compute_seconds, plan.compute_seconds);
}

TEST(SideBySide, MessagesOfOneHideTheWorkOfTheOther) {
  const auto compute = [](double seconds) { return PieceOfStep{false, seconds}; };
  const auto send = [](double seconds) { return PieceOfStep{true, seconds}; };
  EXPECT_EQ(seconds_side_by_side({}, {compute(2), send(3)}), 5);
  EXPECT_EQ(seconds_side_by_side({send(3), compute(1)}, {}), 4);
  EXPECT_EQ(seconds_side_by_side({send(3)}, {compute(2)}), 3);
  EXPECT_EQ(seconds_side_by_side({send(3)}, {compute(5)}), 5);
  EXPECT_EQ(seconds_side_by_side({compute(2)}, {compute(3)}), 5);
  EXPECT_EQ(seconds_side_by_side({send(2)}, {send(3)}), 5);
  // The urgent one is through after 6, the other waits for it twice, computes a second meanwhile and two after it.
  EXPECT_EQ(seconds_side_by_side({compute(2), send(1), compute(3)}, {compute(3)}), 8);
  // Both send until 4, the urgent one alone until 5; the other computes from 4 on, and waits while the urgent one does.
  EXPECT_EQ(seconds_side_by_side({send(3), compute(1)}, {send(2), compute(2)}), 7);
}

/// Trees of 2 s with 1 s of messages; the mesh has 5 s of messages and computes for 1 before they are walked, with 1 s
/// and for 2 s beside the walk: while it sends trees are built, and walked.
TEST(RankPlan, TreesAreBuiltAndWalkedBesideTheMesh) {
  RankPlan plan{.ranks = 8, .network = {.bytes_per_second = 1, .latency = 0}};
  plan.one_rank_seconds = 8 * 10;
  RunShape run{.n = 8};
  run.stages = {{"tree", 2}, {"histogram", 1}, {"velocity x y z", 2}, {"walk", 5}};
  run.by_rule = {{"particles to slabs", 2}, {"transposes", 3}, {"planes around slabs", 1}, {"guests of trees", 1}};
  foretell_ranks(plan, run);
  EXPECT_EQ(plan.hidden_seconds, 0);
  EXPECT_NEAR(plan.efficiency, 10.0 / 17, 1e-12);
  run.trees_beside_mesh = true, plan.work.clear();
  foretell_ranks(plan, run);
  // Nothing shares the network with particles on their way to slabs. Guests come while the mesh computes for a second,
  // and trees are built beside the transposes. Beside the walk all messages are hidden.
  EXPECT_NEAR(plan.hidden_seconds, 3 + 1, 1e-12);
  EXPECT_NEAR(plan.efficiency, 10.0 / 13, 1e-12);
  plan.network.staging_bytes_per_second = 1e9, plan.work.clear(), plan.hidden_seconds = 0;
  foretell_ranks(plan, run);
  EXPECT_EQ(plan.hidden_seconds, 0);
}

TEST(ByteRate, IsANumberWithOrWithoutAUnit) {
  EXPECT_EQ(parse_byte_rate("12.5GB/s"), 12.5e9);
  EXPECT_EQ(parse_byte_rate("800 MB/s"), 8e8);
  EXPECT_EQ(parse_byte_rate("5B/s"), 5);
  EXPECT_EQ(parse_byte_rate("1e9"), 1e9);
  for (const char* bad : {"", "fast", "0", "-1GB/s", "12.5Gbit/s", "GB/s", "inf", "nan", "1e308TB/s"})
    EXPECT_FALSE(parse_byte_rate(bad)) << bad;
}

/// What three ranks send in two steps after the first one of a run, counted without the planner, with a sixteenth each
/// of what it takes to begin and to end steps that follow one another.
double sent_in_two_steps(const RunConfig& config) {
  double sent = 0;
  run_on_thread_ranks(3, [&](Communicator& communicator) {
    const auto counted =
        std::make_shared<CountedCommunicator>(std::shared_ptr<Communicator>(&communicator, [](Communicator*) {}));
    const auto system = make_system(config, counted);
    std::vector<double> after{static_cast<double>(counted->traffic().bytes)};
    const auto note = [&] {
      after.push_back(static_cast<double>(counted->traffic().bytes));
      return system->counts().steps >= 3;
    };
    system->advance(config.run.end_time, note);
    note();
    const double two = after[3] - after[1], all = after[4] - after[0];
    double bytes = two + 2 * (all - 1.5 * two) / 16;
    communicator.all_reduce(&bytes, 1, Reduction::sum);
    if (communicator.is_root()) sent = bytes;
  });
  return sent;
}

TEST(RankPlan, CountsWhatTheRunWillSend) {
  for (const char* solver : {"direct", "tree", "treepm", "mesh"}) {
    const std::int64_t n = solver == std::string("direct") ? 8000 : 1000;  // its sources lie in spans of 1024
    const RunConfig config = parse_config(std::string(R"(
[run]
end_time = 0.5
device = "cpu"
threads = 1
[output]
energy_every = 0.25
snapshots_every = 0
[particles]
model = "cube"
[gravity]
softening = 0.005
solver = ")") + solver + "\"\n" + (solver == std::string("mesh") ? "[gravity.mesh]\ncells = 16\nbox = 1\n" : "") +
                                              "[time]\nintegrator = \"leapfrog\"\nstep = 0.015625\n",
                                          "test", {"particles.n=" + std::to_string(n)});
    const RunPlan plan = plan_run(config, {.ranks = {3}});
    ASSERT_EQ(plan.ranks.size(), 1u);
    const RankPlan& ranks = plan.ranks.front();
    ASSERT_EQ(ranks.counted.size(), 1u) << solver;
    const DryRun& dry = ranks.counted.front();
    EXPECT_EQ(dry.steps, 2);
    EXPECT_DOUBLE_EQ(dry.sent_per_particle * 2 * static_cast<double>(n), sent_in_two_steps(config)) << solver;
    EXPECT_GT(dry.sent_per_particle, 8) << solver;
    EXPECT_LT(ranks.device_bytes, plan.device_bytes) << solver;
  }
}

}  // namespace
}  // namespace pergola
