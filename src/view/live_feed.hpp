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
#include "view/messages.hpp"
#include "view/server.hpp"

// The feed of a running simulation. Two threads use it: the server's thread asks for pages, the run's thread answers
// between steps. Points and pictures are made only after a page has asked, and only the newest are kept, so that a slow
// page costs nothing. A limit on their share of the run time (`most_share`) bounds the cost of all pages. A page gets
// what there is at once, be it a coarser sample, and what it asked for when that is made.
// What always holds: a slow page never delays the run. Actions of pages (pause, step, checkpoint, fork) take
// effect between steps and are listed in run.json.
namespace pergola {

struct LiveOptions {
  bool control = false;  // a page may hold the run, ask for checkpoints and fork it
  int ranks = 1;
  /// The state of a system as points, at most `most`.
  std::function<ViewPoints(System&, std::int64_t most)> points;
  /// All particles as a camera sees them, counted on the run's device.
  std::function<ViewDensity(System&, const Sight&)> density{};
  /// The largest part of the run's time for points and pictures: after some are made, there is a pause. A held run has
  /// time for all.
  double most_share = 0.04;
};

/// What pages show of a run: its files, its progress, and the newest points and pictures.
class PERGOLA_API LiveFeed final : public ViewFeed, public RunWatcher {
 public:
  /// `files`: the feed of the run's directory; must outlive this object.
  LiveFeed(ViewFeed& files, const RunConfig& config, std::filesystem::path directory, LiveOptions options);

  // Called by the server's thread.
  std::string state() override;
  std::shared_ptr<const std::string> snapshot(std::int64_t number, std::int64_t most) override;
  std::shared_ptr<const std::string> newest(std::int64_t& serial, std::int64_t most) override;
  std::shared_ptr<const std::string> density(std::int64_t number, const Sight& sight) override;
  std::shared_ptr<const std::string> newest_density(std::int64_t serial, const Sight& sight) override;
  std::uint64_t id(std::int64_t number, std::int64_t most, std::int64_t point, bool of_run) override;
  /// Actions: pause, step, go, checkpoint, fork (its argument: keys as for --set, separated by blanks).
  std::string act(const std::string& action, const std::string& argument) override;

  // Called by the thread of the run.
  RunWishes look(double time, std::int64_t steps) override;
  void show(System& system) override;
  void progress(const RunProgress& progress);
  /// `status`: how the run has ended, such as "finished".
  void end(const std::string& status);

  /// The number of requests for the state since the end.
  int states_after_end() const { return states_after_end_; }

 private:
  void add_progress(nlohmann::json& state) const;
  std::string fork(const std::string& keys);
  /// What pages have asked for.
  struct Wanted {
    std::int64_t most = 0;    // points; 0: none
    bool new_sample = false;  // larger than all before
    std::vector<Sight> sights;
  };
  Wanted wanted_now() const;
  void show_points(System& system, const Wanted& wanted);
  void make_fork(System& system, const RunFork& fork);
  void say(const std::string& text);
  /// Whether a page waits for points that do not exist yet.
  bool points_wanted() const;
  bool has(std::int64_t most) const;
  bool picture_wanted() const;

  ViewFeed& files_;
  const RunConfig config_;
  const std::filesystem::path directory_;
  const LiveOptions options_;

  mutable std::mutex mutex_;  // guards all that follows except sent_ and sent_picture_
  std::shared_ptr<const ViewPoints> points_;
  std::vector<StateCurve> curves_;    // of the same moment
  std::int64_t wanted_ = 0;           // points that a page waits for; 0: none
  std::int64_t sampled_ = 0;          // the limit with which points_ were made
  std::int64_t points_steps_ = 0;     // when they were made
  std::int64_t moments_ = 0;          // their number so far; used by the run's thread only
  std::vector<Sight> sights_wanted_;  // cameras that pages wait for, the latest last
  std::vector<std::pair<Sight, std::shared_ptr<const ViewDensity>>> pictures_;  // of the newest moment with pictures
  std::int64_t pictures_steps_ = 0;
  Clock::time_point next_points_ = Clock::now();
  std::string status_ = "starting", said_;
  double time_ = 0;
  std::int64_t steps_ = 0;
  RunProgress progress_;
  bool pausing_ = false, held_ = false, checkpoint_ = false, over_ = false;
  std::int64_t hold_at_ = 0;  // a pausing run is held after this number of steps
  std::vector<std::string> commands_;
  std::shared_ptr<const RunFork> fork_;

  std::atomic<int> states_after_end_ = 0;
  /// Of the server's thread: the last message with points.
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
