#pragma once
#include <cstdint>
#include <functional>
#include <memory>

#include "device/device.hpp"

namespace pergola {

/// What a recording is valid for: the length of a step and the memory that it works on.
struct StepKey {
  double step = 0;
  std::uint64_t layout = 0;
  bool operator==(const StepKey&) const = default;
};

/// Steps that were recorded on a device and are repeated without host work for every launch.
class RecordedSteps {
 public:
  virtual ~RecordedSteps() = default;
  /// Records what one_step() launches, for one step and for several.
  virtual void record(const std::function<void()>& one_step) = 0;
  virtual void replay(std::int64_t count) = 0;
};

// In device/step_graph_cuda.cu; present where cuda_built is true.
std::unique_ptr<RecordedSteps> make_recorded_steps_cuda(const Device& device);

/// Repeats a step that only launches work: it neither waits nor decides anything from what it computes. On a CUDA
/// device it is recorded as a CUDA graph, once for every new key.
class StepGraph {
 public:
  explicit StepGraph(const Device& device) {
    if constexpr (cuda_built)
      if (device.is_cuda()) recorded_ = make_recorded_steps_cuda(device);
  }
  /// Does one_step() `count` times. Does not wait.
  void run(std::int64_t count, const StepKey& key, const std::function<void()>& one_step) {
    if (!(key == key_)) key_ = key, seen_ = 0, ready_ = false;
    for (; count > 0 && (!recorded_ || (!ready_ && seen_ < worth_recording)); --count, ++seen_) one_step();
    if (count == 0) return;
    if (!ready_) recorded_->record(one_step);
    ready_ = true;
    recorded_->replay(count);
  }

 private:
  /// Recording takes as long as launching some tens of steps. The first steps also load the kernels, which a recording
  /// must not do.
  static constexpr std::int64_t worth_recording = 8;

  std::unique_ptr<RecordedSteps> recorded_;  // null on the CPU
  StepKey key_;
  std::int64_t seen_ = 0;  // steps with this key that were not replayed
  bool ready_ = false;
};

}  // namespace pergola
