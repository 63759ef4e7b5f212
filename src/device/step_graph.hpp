#pragma once
#include <cstdint>
#include <functional>
#include <memory>

#include "device/device.hpp"

namespace pergola {

/// What a recording holds for: the length of a step and the memory that it works on.
struct StepKey {
  double step = 0;
  std::uint64_t layout = 0;
  bool operator==(const StepKey&) const = default;
};

/// Steps that were recorded on a device and can be repeated without the host's work for every launch.
class RecordedSteps {
 public:
  virtual ~RecordedSteps() = default;
  /// Records what one_step() launches, for one step and for several.
  virtual void record(const std::function<void()>& one_step) = 0;
  virtual void replay(std::int64_t count) = 0;
};

/// Repeats a step that only launches work: it neither waits nor decides anything from what it computes. On a CUDA
/// device it is recorded once (CUDA graphs), which is done anew when the key changes.
class StepGraph {
 public:
  explicit StepGraph(const Device& device);
  /// Does one_step() `count` times. Does not wait.
  void run(std::int64_t count, const StepKey& key, const std::function<void()>& one_step);

 private:
  std::unique_ptr<RecordedSteps> recorded_;  // null on the CPU
  StepKey key_;
  std::int64_t seen_ = 0;  // steps with this key that were not replayed
  bool ready_ = false;
};

// device/step_graph_cuda.cu; present where cuda_built is true.
std::unique_ptr<RecordedSteps> make_recorded_steps_cuda(const Device& device);

}  // namespace pergola
