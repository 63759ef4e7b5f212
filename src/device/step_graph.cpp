#include "device/step_graph.hpp"

namespace pergola {

namespace {

/// Recording takes as long as launching some tens of steps. The first steps also load the kernels, which a recording
/// must not do.
constexpr std::int64_t worth_recording = 8;

}  // namespace

StepGraph::StepGraph(const Device& device) {
  if constexpr (cuda_built)
    if (device.is_cuda()) recorded_ = make_recorded_steps_cuda(device);
}

void StepGraph::run(std::int64_t count, const StepKey& key, const std::function<void()>& one_step) {
  if (!(key == key_)) key_ = key, seen_ = 0, ready_ = false;
  for (; count > 0 && (!recorded_ || (!ready_ && seen_ < worth_recording)); --count, ++seen_) one_step();
  if (count == 0) return;
  if (!ready_) recorded_->record(one_step);
  ready_ = true;
  recorded_->replay(count);
}

}  // namespace pergola
