#pragma once
#include <vector>

#include "base/host_device.hpp"

namespace pergola {

/// Work done since the start of a run, `time` after it.
struct WorkPoint {
  double time = 0;
  double steps = 0;
  double particle_steps = 0;  // per particle
  double seconds = 0;         // that it took, where they were measured
};

/// How the work of a run grows in time, from a trial.
class PERGOLA_API WorkCurve {
 public:
  /// Points come in the order of time; few enough are kept.
  void add(const WorkPoint& point);
  bool empty() const { return points_.empty(); }
  /// The time that is covered.
  double length() const { return empty() ? 0 : points_.back().time; }
  /// Between two points on the line through them; beyond the last one as in the last half of what is covered.
  WorkPoint at(double time) const;

 private:
  std::vector<WorkPoint> points_;
};

/// The seconds of a step as a part for each step and one for each particle that takes it, fitted to steps of different
/// size (least squares, both at least 0). Steps of one size do not tell the two apart: then all is for the particles.
class PERGOLA_API StepFit {
 public:
  void add(double steps, double particle_steps, double seconds);
  bool empty() const { return steps_ == 0; }
  struct Parts {
    double per_step = 0, per_particle_step = 0;
  };
  /// Such that the sum over all that was added is right.
  Parts parts() const;

 private:
  double ss_ = 0, sp_ = 0, pp_ = 0, st_ = 0, pt_ = 0;
  double steps_ = 0, particle_steps_ = 0, seconds_ = 0;
};

/// How much longer the steps up to `end` take than their numbers would have it by those of a part up to `early`: of
/// particles that cluster a step takes longer in the end. At least 1, for a trial's first steps find cold memory, and
/// at most what has been seen of a universe.
PERGOLA_API double cost_growth(const WorkCurve& pilot, const StepFit::Parts& each, double n, double early, double end);

/// Powers of the number of particles with which steps and particle steps per particle grow.
struct WorkGrowth {
  double particle_steps = 0, steps = 0;
};

/// The work of `n` particles over `time`, from a trial of theirs that reached a part of it and one of fewer particles
/// that went further: the second, scaled, times what the first measured beside it where both have been.
PERGOLA_API WorkPoint foretell_work(const WorkCurve& trial, double n, const WorkCurve& pilot, double pilot_n,
                                    const WorkGrowth& growth, double time);

}  // namespace pergola
