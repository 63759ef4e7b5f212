#pragma once
#include <atomic>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <utility>
#include <vector>

#include "base/stopwatch.hpp"
#include "config/config.hpp"
#include "run/fork.hpp"
#include "run/run.hpp"
#include "sim/state_map.hpp"
#include "view/density.hpp"
#include "view/points.hpp"
#include "view/server.hpp"

namespace pergola {

struct LiveOptions {
  bool control = false;  // a page may hold the run, ask for checkpoints and fork it
  int ranks = 1;
  /// The state of a system as a page draws it, at most so many points.
  std::function<ViewPoints(System&, std::int64_t most)> points;
  /// All of it as a camera sees it, made by the run's own device.
  std::function<ViewDensity(System&, const Sight&)> density{};
  /// Of the run's time that may go into points and pictures: after some are made, none are made for so long.
  double most_share = 0.01;
};

/// What a page is shown of a run as it goes on. The server's thread asks, the thread that takes the steps answers when
/// it comes by: points and pictures are made when a page has asked for them, the newest ones only, so that a slow or
/// vanished page costs nothing.
class PERGOLA_API LiveFeed final : public ViewFeed, public RunWatcher {
 public:
  /// `files` shows what of the run is on disk already: snapshots, logs and record. It outlives this feed.
  LiveFeed(ViewFeed& files, const RunConfig& config, std::filesystem::path directory, LiveOptions options);

  // For the server's thread.
  std::string state() override;
  std::shared_ptr<const std::string> snapshot(std::int64_t number, std::int64_t most) override;
  std::shared_ptr<const std::string> newest(std::int64_t& serial, std::int64_t most) override;
  std::shared_ptr<const std::string> density(std::int64_t number, const Sight& sight) override;
  std::shared_ptr<const std::string> newest_density(std::int64_t serial, const Sight& sight) override;
  /// pause, step, go, checkpoint, fork (with keys as for --set, blanks between them).
  std::string act(const std::string& action, const std::string& argument) override;

  // For the thread that takes the steps.
  RunWishes look(double time, std::int64_t steps) override;
  void show(System& system) override;
  void progress(const RunProgress& progress);
  /// The run has ended so: "finished".
  void end(const std::string& status);

  /// How often a page has asked for the state since the end.
  int states_after_end() const { return states_after_end_; }

 private:
  void add_progress(nlohmann::json& state) const;
  std::string fork(const std::string& keys);
  /// What is made for pages at one moment.
  struct Wanted {
    std::int64_t most = 0;  // points; 0: none
    std::vector<Sight> sights;
  };
  Wanted wanted_now() const;
  void show_points(System& system, const Wanted& wanted);
  void make_fork(System& system, const RunFork& fork);
  void say(const std::string& text);
  /// Whether a page waits for points that there are not yet.
  bool points_wanted() const;
  bool has(std::int64_t most) const;
  bool picture_wanted() const;

  ViewFeed& files_;
  const RunConfig config_;
  const std::filesystem::path directory_;
  const LiveOptions options_;

  mutable std::mutex mutex_;  // for all that follows, but for what the server's thread has for itself
  std::shared_ptr<const ViewPoints> points_;
  std::vector<StateCurve> curves_;    // of the same moment
  std::int64_t wanted_ = 0;           // points that a page waits for; 0: none does
  std::int64_t sampled_ = 0;          // the most that points_ could have been
  std::int64_t points_steps_ = 0;     // when they were made
  std::int64_t moments_ = 0;          // that were shown so far: their numbers. Of the thread that takes the steps
  std::vector<Sight> sights_wanted_;  // the cameras of pages that wait, the latest last
  std::vector<std::pair<Sight, std::shared_ptr<const ViewDensity>>> pictures_;  // of the newest moment that has any
  std::int64_t pictures_steps_ = 0;
  Clock::time_point next_points_ = Clock::now();
  std::string status_ = "starting", said_;
  double time_ = 0;
  std::int64_t steps_ = 0;
  RunProgress progress_;
  bool pausing_ = false, held_ = false, checkpoint_ = false, over_ = false;
  std::int64_t hold_at_ = 0;  // steps after which a run that is pausing is held
  std::vector<std::string> commands_;
  std::shared_ptr<const RunFork> fork_;

  std::atomic<int> states_after_end_ = 0;
  /// Of the server's thread: the points that went out last, as they went.
  struct {
    std::int64_t number = -1, most = 0;
    std::shared_ptr<const std::string> bytes;
  } sent_;
  struct {
    std::shared_ptr<const ViewDensity> density;
    std::shared_ptr<const std::string> bytes;
  } sent_picture_;
};

}  // namespace pergola
