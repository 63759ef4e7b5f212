#pragma once
#include <string>
#include <vector>

#include "base/profile.hpp"
#include "device/device.hpp"

namespace pergola {

/// Times the stages of a step in the order in which their work is queued, without waiting: on a GPU by events that are
/// read later. A clock without a profile does nothing.
class PERGOLA_API StageClock {
 public:
  StageClock() = default;
  StageClock(const Device& device, Profile* profile) : device_(device), profile_(profile) {}
  StageClock(StageClock&&) noexcept = default;
  StageClock& operator=(StageClock&&) noexcept = default;
  ~StageClock();

  /// Ends the current stage, if any, and begins this one.
  void begin(const char* stage);
  void end();
  /// Adds all ended stages to the profile. Waits for the device if there are any.
  void collect();

 private:
  struct Mark {
    const char* stage;  // null: the stage before ends
    Event event;
    double waited;  // seconds for other ranks, until then
  };
  void mark(const char* stage);

  Device device_;
  Profile* profile_ = nullptr;
  bool running_ = false;
  std::vector<Mark> marks_;
};

}  // namespace pergola
