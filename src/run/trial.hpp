#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "base/stopwatch.hpp"
#include "run/work_curve.hpp"
#include "sim/system.hpp"

namespace pergola {

/// Seconds on the clock, and of all processors together.
struct Cost {
  double wall = 0, processor = 0;
  Cost& operator+=(const Cost& other) {
    wall += other.wall, processor += other.processor;
    return *this;
  }
  friend Cost operator*(double factor, const Cost& cost) { return {factor * cost.wall, factor * cost.processor}; }
};

/// The cost of what is done from its making on.
class CostClock {
 public:
  CostClock();
  Cost passed() const;

 private:
  Clock::time_point wall_;
  double processor_;
};

/// One of each thing that a run leaves behind.
struct TrialOutputs {
  Cost energy, radii, snapshot, checkpoint, audit, spectrum;
  double snapshot_bytes = 0;
  /// Waits to be written while a snapshot is: the checkpoint; both of them where neither was tried.
  double waiting_bytes = 0;
  std::string not_written;  // why no file could be written; empty where they were
};

struct TrialSteps {
  StepCounts counts;
  WorkCurve curve;
  Cost cost;
  StepFit fit;            // in seconds of the processors; on a GPU of the clock
  double length = 0;      // of the time that they cover
  bool complete = false;  // up to the end of the run
  std::vector<Profile::Stage> stages;
};

/// Takes steps of a system for at most `seconds`, at least one.
TrialSteps try_steps(System& system, const RunConfig& config, double seconds);
/// Makes one output of each kind that the configuration asks for; files go to the folder for temporary ones and are
/// removed at once. Where less than `seconds` would be left none is written, and their cost is a guess.
TrialOutputs try_outputs(System& system, const RunConfig& config, double seconds);

}  // namespace pergola
