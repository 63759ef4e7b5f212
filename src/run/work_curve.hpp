#pragma once
#include <vector>

#include "base/host_device.hpp"
#include "time/integrator_entry.hpp"

// How the work of a run grows: fits to what a trial measured, from which `plan` takes the steps and seconds of the
// whole run, and a run its time left. Plain numbers in and out; nothing here takes a step.
namespace pergola {

/// The work that a run has done at `time` after its start.
struct WorkPoint {
  double time = 0;
  double steps = 0;
  double particle_steps = 0;  // per particle
  double seconds = 0;         // 0: not measured
};

/// How the work of a run grows in time, from a trial.
class PERGOLA_API WorkCurve {
 public:
  /// In the order of time. At most a few thousand points are kept.
  void add(const WorkPoint& point);
  bool empty() const { return points_.empty(); }
  /// The time of the last point.
  double length() const { return empty() ? 0 : points_.back().time; }
  /// On the line between two points; after the last point the work grows as in the last half of the time before.
  WorkPoint at(double time) const;

 private:
  std::vector<WorkPoint> points_;
};

/// The seconds of a step, as a part for each step and one for each particle that takes it: a least-squares fit to steps
/// of different size, both parts at least 0. If all steps have one size, all seconds are for the particles.
class PERGOLA_API StepFit {
 public:
  void add(double steps, double particle_steps, double seconds);
  bool empty() const { return steps_ == 0; }
  struct Parts {
    double per_step = 0, per_particle_step = 0;
  };
  /// The sum over all added steps is exact.
  Parts parts() const;

 private:
  double ss_ = 0, sp_ = 0, pp_ = 0, st_ = 0, pt_ = 0;
  double steps_ = 0, particle_steps_ = 0, seconds_ = 0;
};

/// How much longer the steps up to `end` take than the steps up to `early` suggest: when particles cluster, a step of
/// the same size takes longer. At least 1, because the first steps of a trial find cold memory; at most 3, the largest
/// growth measured in a universe.
PERGOLA_API double cost_growth(const WorkCurve& pilot, const StepFit::Parts& each, double n, double early, double end);

/// The work of `n` particles over `time`. The trial has the same particles and covers a part of the time; the pilot has
/// fewer and went further. The pilot's work is scaled by `growth` and corrected by what the trial measured over the
/// time that both cover. The last two are factors of the pilot's work after that time.
PERGOLA_API WorkPoint foretell_work(const WorkCurve& trial, double n, const WorkCurve& pilot, double pilot_n,
                                    const StepGrowth& growth, double time, double later_particle_steps = 1,
                                    double later_steps = 1);

}  // namespace pergola
