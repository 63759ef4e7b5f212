#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/stopwatch.hpp"

namespace pergola {

/// Stage timers: how often a stage ran and how long it took, in order of first use.
class Profile {
 public:
  struct Stage {
    std::string name;
    std::int64_t calls = 0;
    double seconds = 0;
    double waiting = 0;  // of these, for other ranks
  };

  /// `waiting` tells how many seconds were spent waiting for other ranks so far.
  void set_waiting(std::function<double()> waiting) { waiting_ = std::move(waiting); }
  double waited() const { return waiting_ ? waiting_() : 0; }

  void add(std::string_view name, double seconds, std::int64_t calls = 1, double waiting = 0) {
    for (auto& stage : stages_)
      if (stage.name == name) {
        stage.calls += calls;
        stage.seconds += seconds;
        stage.waiting += waiting;
        return;
      }
    stages_.push_back({std::string(name), calls, seconds, waiting});
  }
  const std::vector<Stage>& stages() const { return stages_; }

  /// Adds the time until its end to a stage. A null profile costs nothing.
  class Scope {
   public:
    Scope(Profile* profile, const char* name)
        : profile_(profile), name_(name), begin_(Clock::now()), waited_(profile ? profile->waited() : 0) {}
    ~Scope() {
      if (profile_) profile_->add(name_, seconds_since(begin_), 1, profile_->waited() - waited_);
    }
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    Profile* profile_;
    const char* name_;
    Clock::time_point begin_;
    double waited_;
  };

 private:
  std::vector<Stage> stages_;
  std::function<double()> waiting_;
};

}  // namespace pergola
