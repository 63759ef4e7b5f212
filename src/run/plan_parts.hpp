#pragma once
#include <cstdint>
#include <string>

#include "base/stopwatch.hpp"
#include "run/plan.hpp"
#include "run/work_curve.hpp"
#include "sim/system.hpp"

// What the plans of all kinds of systems share: a trial measures steps and outputs, and a plan adds up what the run
// takes of each. plan_gravity.cpp and plan_plasma.cpp choose the size of the trial and scale its costs to the run.
// Always: a trial takes at most longest_trial_seconds and trial_memory of the free memory, and leaves no file behind.
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

/// The cost of what is done after its construction.
class CostClock {
 public:
  CostClock();
  Cost passed() const;

 private:
  Clock::time_point wall_;
  double processor_;
};

/// The longest trial in seconds, and the longest of its parts.
constexpr double longest_trial_seconds = 10, longest_steps_seconds = 4.5, longest_pilot_seconds = 3;
constexpr double longest_fixed_steps_seconds = 4;
/// Typical bytes of a particle in a file, and bytes of files written in a second.
constexpr double file_bytes_each = 73, file_rate = 2e8;
/// The share of the free memory that a trial may take.
constexpr double trial_memory = 0.1;

struct TrialSteps {
  StepCounts counts;
  WorkCurve curve;
  Cost cost;
  StepFit fit;            // in seconds of the processors; on a GPU of the clock
  double length = 0;      // of the time that they cover
  bool complete = false;  // up to the end of the run
};

/// Takes steps of a system for at most `seconds`, at least one.
TrialSteps try_steps(System& system, const RunConfig& config, double seconds);

/// The cost of one output of each kind.
struct TrialOutputs {
  Cost energy, radii, snapshot, checkpoint, audit, spectrum;
  /// Bytes that wait while a snapshot is written: those of the checkpoint; of both files if neither was tried.
  double waiting_bytes = 0;
  std::string not_written;  // why no file could be written; empty if files were written
};

/// Makes one output of each kind that the configuration asks for. Files go to the folder for temporary files and are
/// removed at once. If less than `seconds` would be left, no file is written and their cost is a guess.
TrialOutputs try_outputs(System& system, const RunConfig& config, double seconds);

/// The cost of each part of a run with all of its particles.
struct PartCosts {
  Cost start, steps;  // all steps together
  Cost energy, radii, snapshot, checkpoint, audit, spectrum;
};

/// Adds the start, the steps and all outputs of a run of this length to the plan, as parts and as sums.
void add_parts(RunPlan& plan, const RunConfig& config, const PartCosts& costs, double length);
/// The range: the seconds divided and multiplied by a factor.
void set_range(RunPlan& plan, double factor);

/// The plan of a run under gravity or of a plasma; plan_run() calls them.
RunPlan plan_gravity(const RunConfig& config, const PlanOptions& options);
RunPlan plan_plasma(const RunConfig& config, const PlanOptions& options);

}  // namespace pergola
