#include "view/live_feed.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <nlohmann/json.hpp>
#include <sstream>
#include <utility>

#include "analysis/force_audit.hpp"
#include "base/error.hpp"
#include "view/messages.hpp"
#include "view/requests.hpp"

// The mutex guards what both threads use. Encoding happens outside it, on the server's thread, and the result is kept
// for the next page with the same wish.
namespace pergola {

using nlohmann::json;

namespace {

constexpr double shortest_between_points = 1.0 / 60;
constexpr std::size_t most_sights = 4;  // requests beyond this number replace the oldest

/// The few sizes of samples; each sample is chosen once.
std::int64_t sample_size(std::int64_t most) {
  for (const std::int64_t size : {std::int64_t{10'000}, std::int64_t{100'000}})
    if (most <= size) return size;
  return most_view_points;
}

/// At most `most` points, evenly spaced.
ViewPoints thinned(const ViewPoints& points, std::int64_t most) {
  ViewPoints some = points;
  const auto places = sample_places(std::ssize(points.x), most);
  const auto keep = [&](auto& list) {
    for (std::size_t k = 0; k < places.size(); ++k) list[k] = list[static_cast<std::size_t>(places[k])];
    list.resize(places.size());
  };
  keep(some.x), keep(some.y), keep(some.z), keep(some.speed), keep(some.kind);
  if (!some.id.empty()) keep(some.id);
  return some;
}

std::vector<std::string> words_of(const std::string& text) {
  std::istringstream stream(text);
  std::vector<std::string> words;
  for (std::string word; stream >> word;) words.push_back(word);
  return words;
}

}  // namespace

LiveFeed::LiveFeed(ViewFeed& files, const RunConfig& config, std::filesystem::path directory, LiveOptions options)
    : files_(files), config_(config), directory_(std::move(directory)), options_(std::move(options)) {}

std::string LiveFeed::state() {
  json state = json::parse(files_.state());
  const std::lock_guard lock(mutex_);
  if (over_) ++states_after_end_;
  state["live"] = !over_;
  state["control"] = options_.control && !over_;
  state["paused"] = held_ && !over_;
  state["status"] = status_;
  state["said"] = said_;
  state["end_time"] = config_.run.end_time;
  state["curves"] = json::array();
  for (const StateCurve& curve : curves_) state["curves"].push_back(curve_json(curve));
  if (!over_ && status_ != "starting") add_progress(state);
  return state.dump(-1, ' ', false, json::error_handler_t::replace);
}

/// The progress after the first step, or just before it.
void LiveFeed::add_progress(json& state) const {
  state["time"] = time_;
  state["totals"] = {
      {"steps", steps_}, {"particle_steps", progress_.counts.particle_steps}, {"wall_seconds", progress_.wall_seconds}};
  state["energy_error"] = progress_.energy_error ? json(*progress_.energy_error) : json();
  if (progress_.wall_seconds == 0) return;  // none yet
  state["start_time"] = progress_.start_time;
  state["seconds_left"] = std::isfinite(progress_.seconds_left) ? json(progress_.seconds_left) : json();
  state["rate"] = fmt::format("{:.3g} particle steps/s", progress_.particle_steps_per_second);
}

std::shared_ptr<const std::string> LiveFeed::snapshot(std::int64_t number, std::int64_t most) {
  return files_.snapshot(number, most);
}

bool LiveFeed::has(std::int64_t most) const {
  return points_ && (sampled_ >= most || std::ssize(points_->x) == points_->total);
}

std::shared_ptr<const std::string> LiveFeed::newest(std::int64_t& serial, std::int64_t most) {
  std::shared_ptr<const ViewPoints> points;
  {
    const std::lock_guard lock(mutex_);
    const bool none = !points_ || points_->number < serial;
    if (none || !(has(most) || over_)) wanted_ = std::max(wanted_, most);
    if (none) return nullptr;
    points = points_;
  }
  serial = points->number;
  if (sent_.number != points->number || sent_.most != most) {
    const bool all = std::ssize(points->x) <= most;
    sent_ = {points->number, most,
             std::make_shared<const std::string>(all ? encode_points(*points) : encode_points(thinned(*points, most)))};
  }
  return sent_.bytes;
}

/// All moments with one size of the sample have the same points, so that the newest will do.
std::uint64_t LiveFeed::id(std::int64_t number, std::int64_t most, std::int64_t point, bool of_run) {
  if (!of_run) return files_.id(number, most, point, false);
  std::shared_ptr<const ViewPoints> points;
  {
    const std::lock_guard lock(mutex_);
    points = points_;
  }
  if (!points) return 0;
  return point_id(std::ssize(points->x) <= most ? *points : thinned(*points, most), point);
}

std::shared_ptr<const std::string> LiveFeed::density(std::int64_t number, const Sight& sight) {
  return files_.density(number, sight);
}

std::shared_ptr<const std::string> LiveFeed::newest_density(std::int64_t serial, const Sight& sight) {
  std::shared_ptr<const ViewDensity> found;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [camera, density] : pictures_)
      if (camera == sight && density->number >= serial) found = density;
    if (!found) {
      std::erase(sights_wanted_, sight);
      sights_wanted_.push_back(sight);
      if (sights_wanted_.size() > most_sights) sights_wanted_.erase(sights_wanted_.begin());
      return nullptr;
    }
  }
  if (sent_picture_.density != found)
    sent_picture_ = {found, std::make_shared<const std::string>(encode_density(*found))};
  return sent_picture_.bytes;
}

std::string LiveFeed::act(const std::string& action, const std::string& argument) {
  if (!options_.control)
    throw Error(ErrorKind::input, "this page looks on; a run that was started with --control is steered from it");
  if (action == "fork") return fork(argument);
  const std::lock_guard lock(mutex_);
  if (over_) throw Error(ErrorKind::input, "the run has ended");
  const auto take = [&](const char* answer) {
    commands_.push_back(action);
    return std::string(answer);
  };
  if (action == "pause") {
    if (!pausing_) hold_at_ = 0;
    pausing_ = true;
    return take("pauses after this step");
  }
  if (action == "step") {
    pausing_ = true;
    hold_at_ = steps_ + 1;
    return take("one step");
  }
  if (action == "go") {
    pausing_ = false;
    return take("goes on");
  }
  if (action == "checkpoint") {
    checkpoint_ = true;
    return take("writes a checkpoint after this step");
  }
  throw Error(ErrorKind::input, fmt::format("do: expected pause, step, go, checkpoint or fork, found \"{}\"", action));
}

std::string LiveFeed::fork(const std::string& keys) {
  if (options_.ranks > 1)
    throw Error(ErrorKind::input, fmt::format("fork: expected a run of one process, found {}", options_.ranks));
  {
    const std::lock_guard lock(mutex_);
    if (over_) throw Error(ErrorKind::input, "the run has ended");
    if (fork_) throw Error(ErrorKind::input, "fork: the one before is not written yet");
  }
  auto made = std::make_shared<const RunFork>(config_, directory_, words_of(keys));
  const std::lock_guard lock(mutex_);
  commands_.push_back(keys.empty() ? "fork" : fmt::format("fork {}", keys));
  fork_ = std::move(made);
  return fmt::format("writes {} after this step; then: {}", fork_->directory().filename().string(), fork_->command());
}

bool LiveFeed::points_wanted() const {
  const bool points = wanted_ > 0 && (!points_ || steps_ != points_steps_ || !has(wanted_));
  return (points || picture_wanted()) && (held_ || Clock::now() >= next_points_);
}

bool LiveFeed::picture_wanted() const {
  if (sights_wanted_.empty() || !options_.density) return false;
  if (steps_ != pictures_steps_) return true;
  return std::any_of(sights_wanted_.begin(), sights_wanted_.end(), [&](const Sight& sight) {
    return std::none_of(pictures_.begin(), pictures_.end(), [&](const auto& one) { return one.first == sight; });
  });
}

/// At the start and at the end of a run pages get points and pictures without asking: those of their last requests. The
/// first sample is a small one, so that something is seen at once.
LiveFeed::Wanted LiveFeed::wanted_now() const {
  Wanted wanted;
  const bool asked = wanted_ > 0 || !sights_wanted_.empty();
  if (wanted_ > 0 || !asked) wanted.most = sample_size(points_ ? std::max(wanted_, sampled_) : 0);
  wanted.new_sample = wanted.most > sampled_;
  if (!options_.density) return wanted;
  wanted.sights = sights_wanted_;
  if (!asked)
    for (const auto& [sight, density] : pictures_) wanted.sights.push_back(sight);
  return wanted;
}

RunWishes LiveFeed::look(double time, std::int64_t steps) {
  const std::lock_guard lock(mutex_);
  time_ = time;
  steps_ = steps;
  RunWishes wishes;
  if (pausing_) wishes.pace = steps < hold_at_ ? Pace::one_step : Pace::held;
  held_ = wishes.pace == Pace::held;
  wishes.show = fork_ || points_wanted();
  wishes.checkpoint = std::exchange(checkpoint_, false);
  wishes.commands = std::exchange(commands_, {});
  return wishes;
}

void LiveFeed::show(System& system) {
  Wanted wanted;
  std::shared_ptr<const RunFork> fork;
  {
    const std::lock_guard lock(mutex_);
    if (status_ == "starting") status_ = "running";
    time_ = system.time();
    steps_ = system.counts().steps;
    wanted = wanted_now();
    fork = std::exchange(fork_, nullptr);
  }
  show_points(system, wanted);
  if (fork) make_fork(system, *fork);
}

/// An error here must not end the run; the page shows it.
void LiveFeed::show_points(System& system, const Wanted& wanted) {
  const auto begin = Clock::now();
  std::shared_ptr<ViewPoints> points;
  decltype(pictures_) pictures;
  std::vector<StateCurve> curves;
  try {
    for (const Sight& sight : wanted.sights) {
      const auto density = std::make_shared<ViewDensity>(options_.density(system, sight));
      density->number = moments_;
      pictures.emplace_back(sight, density);
    }
    if (wanted.most > 0) points = std::make_shared<ViewPoints>(options_.points(system, wanted.most));
    if (points) points->number = moments_;
    curves = system.curves();
  } catch (const std::exception& error) {
    pictures.clear();
    points = nullptr;
    say(error.what());
  }
  const double cost = seconds_since(begin);
  const bool waits = options_.most_share > 0 && !wanted.new_sample;  // to choose a sample takes long, but only once
  const double wait = waits ? std::max(shortest_between_points, cost / options_.most_share) : 0;
  const std::lock_guard lock(mutex_);
  next_points_ = Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(wait));
  const std::int64_t asked = std::exchange(wanted_, wanted.most > 0 ? 0 : wanted_);
  if (wanted.most > 0) points_steps_ = steps_;
  sights_wanted_.clear();
  if (!wanted.sights.empty()) pictures_steps_ = steps_;
  if (!points && pictures.empty()) return;
  curves_ = std::move(curves);
  ++moments_;
  if (points) {
    sampled_ = wanted.most;
    points_ = std::move(points);
    if (!has(asked)) wanted_ = asked;  // of the first sample: what was asked for comes next
  }
  if (!pictures.empty()) pictures_ = std::move(pictures);
}

void LiveFeed::make_fork(System& system, const RunFork& fork) {
  try {
    fork.write(system);
    say(fmt::format("{} is written; start it with: {}", fork.directory().filename().string(), fork.command()));
  } catch (const std::exception& error) {
    say(error.what());
  }
}

void LiveFeed::say(const std::string& text) {
  const std::lock_guard lock(mutex_);
  said_ = text;
}

void LiveFeed::progress(const RunProgress& progress) {
  const std::lock_guard lock(mutex_);
  progress_ = progress;
}

void LiveFeed::end(const std::string& status) {
  const std::lock_guard lock(mutex_);
  over_ = true;
  status_ = status;
  fork_ = nullptr;
}

}  // namespace pergola
