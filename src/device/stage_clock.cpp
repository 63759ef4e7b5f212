#include "device/stage_clock.hpp"

namespace pergola {

namespace {

/// With this many marks the oldest are read. By then that hardly waits.
constexpr std::size_t most_marks = 4096;

}  // namespace

StageClock::~StageClock() {
  for (const auto& mark : marks_) device_.memory().release(mark.event);
}

void StageClock::mark(const char* stage) {
  if (!profile_) return;
  if constexpr (cuda_built) {
    if (device_.is_cuda()) note_cuda_stage(stage);
  }
  if (marks_.size() >= most_marks && !running_) collect();
  marks_.push_back({stage, device_.memory().record_event(), profile_->waited()});
  running_ = stage != nullptr;
}

void StageClock::begin(const char* stage) { mark(stage); }

void StageClock::end() {
  if (running_) mark(nullptr);
}

void StageClock::collect() {
  end();
  for (std::size_t k = 0; k + 1 < marks_.size(); ++k)
    if (marks_[k].stage)
      profile_->add(marks_[k].stage, device_.memory().seconds_between(marks_[k].event, marks_[k + 1].event), 1,
                    marks_[k + 1].waited - marks_[k].waited);
  for (const auto& mark : marks_) device_.memory().release(mark.event);
  marks_.clear();
}

}  // namespace pergola
