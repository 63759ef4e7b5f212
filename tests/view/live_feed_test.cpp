#include "view/live_feed.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <limits>
#include <nlohmann/json.hpp>

#include "analysis/force_audit.hpp"
#include "base/error.hpp"
#include "io/snapshot.hpp"
#include "marks.hpp"
#include "sim/system.hpp"

namespace pergola {
namespace {

PERGOLA_MARK(threads, "*");

namespace fs = std::filesystem;
using nlohmann::json;

/// Of a run that has written nothing yet.
struct NoFiles final : ViewFeed {
  std::string state() override { return R"({"kind":"state","title":"test","snapshots":[]})"; }
  std::shared_ptr<const std::string> snapshot(std::int64_t, std::int64_t) override { return nullptr; }
  std::shared_ptr<const std::string> newest(std::int64_t&, std::int64_t) override { return nullptr; }
  std::uint64_t id(std::int64_t, std::int64_t, std::int64_t, bool) override { return 99; }
  std::shared_ptr<const std::string> density(std::int64_t, const Sight&) override { return nullptr; }
  std::shared_ptr<const std::string> newest_density(std::int64_t, const Sight&) override { return nullptr; }
  std::string act(const std::string&, const std::string&) override { return {}; }
};

ViewPoints points_of(System& system, std::int64_t most) {
  const Particles sample = system.sample(most);
  ViewPoints points;
  points.time = system.time();
  points.total = system.size();
  points.kinds = {"gas", "halo"};
  points.x.assign(sample.x.begin(), sample.x.end());
  points.y.assign(sample.y.begin(), sample.y.end());
  points.z.assign(sample.z.begin(), sample.z.end());
  points.speed.assign(sample.x.size(), 1.0f);
  points.kind = sample.species;
  points.id = sample.id;
  return points;
}

ViewDensity density_of(System& system, const Sight& sight) {
  return {system.time(), "t", 0, system.size(), system.density(sight)};
}

/// Everything within `reach` of the origin, from far above.
Sight from_above(double reach, int pixels) {
  Sight sight;
  sight.right = {1 / reach, 0, 0, 0};
  sight.up = {0, 1 / reach, 0, 0};
  sight.width = sight.height = pixels;
  return sight;
}

class LiveFeeds : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::temp_directory_path() / ("pergola-live-" + std::to_string(::getpid()));
    fs::remove_all(folder_);
    fs::create_directories(folder_ / "cluster");
    config_ =
        parse_config("[run]\ndevice = \"cpu\"\nthreads = 1\nend_time = 1\n[particles]\nmodel = \"plummer\"\nn = 40\n",
                     "test", {"time.integrator=leapfrog", "time.step=0.125", "gravity.softening=0.1"});
    system_ = make_system(config_, serial_communicator());
  }
  void TearDown() override { fs::remove_all(folder_); }

  /// Points at any time, so that no test waits for a clock.
  std::unique_ptr<LiveFeed> feed(bool control, std::int64_t ranks = 1) {
    return std::make_unique<LiveFeed>(files_, config_, folder_ / "cluster",
                                      LiveOptions{.control = control,
                                                  .ranks = static_cast<int>(ranks),
                                                  .points = points_of,
                                                  .density = density_of,
                                                  .most_share = 0});
  }
  RunWishes look(LiveFeed& at) { return at.look(system_->step_time(), system_->counts().steps); }
  static json header_of(const std::string& message) {
    const auto end = message.find('}', 8);
    return json::parse(message.substr(8, end - 7));
  }
  /// What a page gets that has nothing before `after`.
  static std::shared_ptr<const std::string> newest(LiveFeed& at, std::int64_t after, std::int64_t most = 1000) {
    return at.newest(after, most);
  }
  void step() {
    const std::int64_t before = system_->counts().steps;
    system_->advance(1, [&] { return system_->counts().steps > before; });
  }

  NoFiles files_;
  fs::path folder_;
  RunConfig config_;
  std::unique_ptr<System> system_;
};

TEST_F(LiveFeeds, MakePointsWhenAPageAsksAndOnlyThen) {
  const auto live = feed(false);
  EXPECT_FALSE(look(*live).show);
  live->show(*system_);  // at the start
  const auto first = newest(*live, 0);
  ASSERT_TRUE(first);
  EXPECT_EQ(header_of(*first).at("number"), 0);
  EXPECT_EQ(header_of(*first).at("count"), 40);
  EXPECT_FALSE(look(*live).show);
  EXPECT_FALSE(newest(*live, 1));
  EXPECT_FALSE(look(*live).show);  // nothing has moved
  step();
  EXPECT_TRUE(look(*live).show);
  EXPECT_TRUE(look(*live).show);  // until it is done
  live->show(*system_);
  EXPECT_FALSE(look(*live).show);
  const auto second = newest(*live, 1);
  ASSERT_TRUE(second);
  EXPECT_EQ(header_of(*second).at("number"), 1);
  EXPECT_EQ(header_of(*second).at("time"), 0.125);
  const json steps = json::parse(live->state()).at("curves").at(0);
  EXPECT_EQ(steps, (json{{"title", "particles by step"}, {"look", "bars"}, {"x", {0.125}}, {"y", {40}}}));
  step();
  EXPECT_FALSE(look(*live).show);  // the page has not asked for more
}

TEST_F(LiveFeeds, SendAsManyPointsAsAPageWants) {
  const auto live = feed(false);
  live->show(*system_);
  EXPECT_EQ(header_of(*newest(*live, 0, 7)).at("count"), 7);
  EXPECT_EQ(header_of(*newest(*live, 0, 7)).at("total"), 40);
  EXPECT_EQ(header_of(*newest(*live, 0, 200000)).at("count"), 40);
}

TEST_F(LiveFeeds, KnowTheIdOfAPoint) {
  const auto live = feed(false);
  EXPECT_EQ(live->id(0, 7, 1, true), 0u);  // there are none yet
  live->show(*system_);
  EXPECT_EQ(live->id(0, 200000, 4, true), 5u);  // ids of a model are 1, 2, …
  // Of 40 points seven are evenly spaced.
  const auto places = sample_places(40, 7);
  EXPECT_EQ(live->id(0, 7, 3, true), static_cast<std::uint64_t>(places[3] + 1));
  EXPECT_EQ(live->id(0, 7, 7, true), 0u);
  EXPECT_EQ(live->id(0, 7, 3, false), 99u);
}

TEST_F(LiveFeeds, SendACoarserSampleAtOnceAndAFinerOneWhenItIsMade) {
  std::vector<std::int64_t> asked;  // sizes of the samples that were made
  LiveFeed live(files_, config_, folder_ / "cluster",
                {.points =
                     [&](System& system, std::int64_t most) {
                       asked.push_back(most);
                       ViewPoints points = points_of(system, asked.size() == 1 ? 5 : 40);
                       points.total = 1'000'000;
                       return points;
                     },
                 .most_share = 0});
  EXPECT_FALSE(newest(live, 0, 100'000));  // the page is there before the first step
  live.show(*system_);
  const auto coarse = newest(live, 0, 100'000);
  ASSERT_TRUE(coarse);
  EXPECT_EQ(header_of(*coarse).at("count"), 5);
  EXPECT_FALSE(newest(live, 1, 100'000));
  EXPECT_TRUE(look(live).show);  // of the same moment
  live.show(*system_);
  EXPECT_EQ(asked, (std::vector<std::int64_t>{10'000, 100'000}));
  EXPECT_EQ(header_of(*newest(live, 1, 100'000)).at("count"), 40);
  EXPECT_FALSE(look(live).show);
}

TEST_F(LiveFeeds, ShowAHeldRunAtOnce) {
  LiveFeed live(files_, config_, folder_ / "cluster",
                {.control = true, .points = points_of, .density = density_of, .most_share = 1e-12});
  live.show(*system_);  // a sample is chosen, which counts as no work
  step();
  EXPECT_FALSE(newest(live, 1));
  EXPECT_TRUE(look(live).show);
  live.show(*system_);  // next time after centuries
  step();
  EXPECT_FALSE(newest(live, 2));
  EXPECT_FALSE(look(live).show);
  live.act("pause", "");
  EXPECT_TRUE(look(live).show);
  live.show(*system_);
  EXPECT_EQ(header_of(*newest(live, 2)).at("time"), 0.25);
  EXPECT_FALSE(look(live).show);  // once
  EXPECT_FALSE(live.newest_density(0, from_above(1, 8)));
  EXPECT_TRUE(look(live).show);
}

TEST_F(LiveFeeds, MakeAPictureForEachCameraOfThisMomentOnly) {
  const auto live = feed(false);
  live->show(*system_);  // at the start: nobody has a camera yet
  const Sight wide = from_above(1e6, 4), near = from_above(1, 8);
  EXPECT_FALSE(live->newest_density(0, wide));
  EXPECT_FALSE(live->newest_density(0, near));
  EXPECT_TRUE(look(*live).show);
  live->show(*system_);
  EXPECT_FALSE(look(*live).show);
  const auto first = live->newest_density(0, wide);
  ASSERT_TRUE(first);
  EXPECT_EQ(first->substr(0, 4), "PGD1");
  const json header = header_of(*first);
  EXPECT_EQ((std::array<int, 2>{header.at("width"), header.at("height")}), (std::array{4, 4}));
  EXPECT_EQ(header.at("total"), 40);
  EXPECT_EQ(header.at("number"), 1);
  EXPECT_EQ(header_of(*live->newest_density(0, near)).at("width"), 8);
  EXPECT_FALSE(live->newest_density(2, wide));
  EXPECT_FALSE(look(*live).show);  // nothing has moved
  const Sight other = from_above(2, 8);
  EXPECT_FALSE(live->newest_density(0, other));
  EXPECT_TRUE(look(*live).show);  // but for a camera
  live->show(*system_);
  step();
  EXPECT_FALSE(look(*live).show);  // nobody waits
  EXPECT_FALSE(live->newest_density(3, other));
  EXPECT_TRUE(look(*live).show);
  live->show(*system_);
  EXPECT_EQ(header_of(*live->newest_density(3, other)).at("time"), 0.125);
  EXPECT_EQ(header_of(*newest(*live, 0)).at("number"), 0);  // no page has asked for points
  step();
  live->show(*system_);  // the end shows what the pages had
  EXPECT_EQ(header_of(*live->newest_density(4, other)).at("time"), 0.25);
  EXPECT_EQ(header_of(*newest(*live, 4)).at("time"), 0.25);
}

TEST_F(LiveFeeds, MakePicturesForFewCamerasOnly) {
  const auto live = feed(false);
  for (int k = 1; k <= 100; ++k) EXPECT_FALSE(live->newest_density(0, from_above(k, 8)));
  live->show(*system_);
  EXPECT_FALSE(live->newest_density(0, from_above(1, 8)));
  EXPECT_TRUE(live->newest_density(0, from_above(100, 8)));
}

TEST_F(LiveFeeds, ThatCannotMakePointsSaySoAndLetTheRunGoOn) {
  LiveFeed live(files_, config_, folder_ / "cluster",
                {.points = [](System&, std::int64_t) -> ViewPoints { throw Error(ErrorKind::device, "no memory"); }});
  live.show(*system_);
  EXPECT_FALSE(newest(live, 0));
  EXPECT_EQ(json::parse(live.state()).at("said"), "no memory");
}

TEST_F(LiveFeeds, HoldTheRunAndLetItTakeSingleSteps) {
  const auto live = feed(true);
  EXPECT_EQ(live->look(0, 5).pace, Pace::on);
  live->act("pause", "");
  EXPECT_EQ(json::parse(live->state()).at("paused"), false);  // not yet: the step goes on
  auto wishes = live->look(0, 6);
  EXPECT_EQ(wishes.pace, Pace::held);
  EXPECT_EQ(wishes.commands, std::vector<std::string>{"pause"});
  EXPECT_EQ(json::parse(live->state()).at("paused"), true);
  EXPECT_TRUE(live->look(0, 6).commands.empty());
  live->act("step", "");
  EXPECT_EQ(live->look(0, 6).pace, Pace::one_step);
  EXPECT_EQ(live->look(0, 6).pace, Pace::one_step);  // an output came before the step
  EXPECT_EQ(live->look(0, 7).pace, Pace::held);
  live->act("go", "");
  EXPECT_EQ(live->look(0, 7).pace, Pace::on);
  live->act("pause", "");
  EXPECT_EQ(live->look(0, 8).pace, Pace::held);
}

TEST_F(LiveFeeds, AskForACheckpointOnce) {
  const auto live = feed(true);
  live->act("checkpoint", "");
  EXPECT_TRUE(look(*live).checkpoint);
  EXPECT_FALSE(look(*live).checkpoint);
}

TEST_F(LiveFeeds, OnlyLookOnUnlessTheyMaySteer) {
  const auto live = feed(false);
  for (const char* action : {"pause", "step", "go", "checkpoint", "fork"})
    EXPECT_THROW(live->act(action, ""), Error) << action;
  EXPECT_EQ(json::parse(live->state()).at("control"), false);
  EXPECT_TRUE(look(*live).commands.empty());
  const auto steering = feed(true);
  EXPECT_THROW(steering->act("stop", ""), Error);
  steering->end("finished");
  EXPECT_THROW(steering->act("pause", ""), Error);
}

TEST_F(LiveFeeds, ForkTheRunFromWhereItIs) {
  const auto live = feed(true);
  step();
  EXPECT_NE(live->act("fork", "gravity.softening=0.2  run.end_time=3").find("cluster-fork-001/run.toml"),
            std::string::npos);
  const auto wishes = look(*live);
  EXPECT_TRUE(wishes.show);
  EXPECT_EQ(wishes.commands, std::vector<std::string>{"fork gravity.softening=0.2  run.end_time=3"});
  EXPECT_THROW(live->act("fork", ""), Error);  // one at a time
  live->show(*system_);
  const fs::path made = folder_ / "cluster-fork-001";
  const RunConfig forked = read_config(made / "run.toml");
  EXPECT_EQ(forked.run.end_time, 3);
  EXPECT_EQ(forked.time.step, 0.125);
  const auto start = read_snapshot(made / "start.hdf5");
  EXPECT_EQ(start.header.time, 0.125);
  EXPECT_EQ(start.particles.x, system_->sample(40).x);
  EXPECT_TRUE(fs::equivalent(forked.particles.file, made / "start.hdf5"));
  const auto other = make_system(forked, serial_communicator());
  EXPECT_EQ(other->start_time(), 0.125);
  EXPECT_EQ(other->size(), 40);
  EXPECT_NE(json::parse(live->state()).at("said").get<std::string>().find("is written"), std::string::npos);
  live->act("fork", "");
  live->show(*system_);
  EXPECT_TRUE(fs::exists(folder_ / "cluster-fork-002" / "run.toml"));
}

TEST_F(LiveFeeds, RefuseAForkThatCannotBe) {
  const auto live = feed(true);
  for (const char* keys : {"gravity.softning=1", "time.eta=-1", "nonsense", "particles.file=5"})
    EXPECT_THROW(live->act("fork", keys), Error) << keys;
  EXPECT_THROW(feed(true, 2)->act("fork", ""), Error);
  EXPECT_FALSE(fs::exists(folder_ / "cluster-fork-001"));
  live->act("fork", "");
  EXPECT_TRUE(fs::exists(folder_ / "cluster-fork-001"));
  live->end("finished");  // before it was written
  EXPECT_FALSE(fs::exists(folder_ / "cluster-fork-001"));
}

TEST_F(LiveFeeds, TellHowFarTheRunIs) {
  const auto live = feed(true);
  EXPECT_EQ(json::parse(live->state()).at("status"), "starting");
  live->show(*system_);
  RunProgress progress;
  progress.end_time = 1;
  progress.energy_error = 1e-5;
  progress.wall_seconds = 2;
  progress.seconds_left = std::numeric_limits<double>::infinity();
  live->progress(progress);
  step();
  look(*live);
  const json state = json::parse(live->state());
  EXPECT_EQ(state.at("status"), "running");
  EXPECT_EQ(state.at("live"), true);
  EXPECT_EQ(state.at("time"), 0.125);
  EXPECT_EQ(state.at("totals").at("steps"), 1);
  EXPECT_EQ(state.at("energy_error"), 1e-5);
  EXPECT_TRUE(state.at("seconds_left").is_null());
  EXPECT_EQ(live->states_after_end(), 0);
  live->end("finished");
  EXPECT_EQ(json::parse(live->state()).at("status"), "finished");
  EXPECT_EQ(json::parse(live->state()).at("live"), false);
  EXPECT_EQ(live->states_after_end(), 2);
}

}  // namespace
}  // namespace pergola
