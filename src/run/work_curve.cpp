#include "run/work_curve.hpp"

#include <algorithm>
#include <cmath>

namespace pergola {

namespace {

/// With more points every other one is dropped.
constexpr std::size_t most_points = 4096;
/// With at least this number of steps of a particle the step count of a trial is taken unchanged.
constexpr double steps_to_trust = 4;

/// Linear between a and b, and beyond b on the same line.
WorkPoint between(const WorkPoint& a, const WorkPoint& b, double time) {
  const double f = b.time > a.time ? (time - a.time) / (b.time - a.time) : 1;
  return {time, a.steps + f * (b.steps - a.steps), a.particle_steps + f * (b.particle_steps - a.particle_steps),
          a.seconds + f * (b.seconds - a.seconds)};
}

/// Measured over foretold steps, weakened if fewer steps of a particle were seen than can be trusted.
double correction(double measured, double foretold, double seen) {
  if (!(measured > 0) || !(foretold > 0)) return 1;
  return std::pow(measured / foretold, std::min(1.0, seen / steps_to_trust));
}

}  // namespace

void WorkCurve::add(const WorkPoint& point) {
  if (points_.size() >= most_points) {  // every other one
    for (std::size_t k = 0; k < points_.size() / 2; ++k) points_[k] = points_[2 * k + 1];
    points_.resize(points_.size() / 2);
  }
  points_.push_back(point);
}

WorkPoint WorkCurve::at(double time) const {
  if (empty() || time <= 0) return {time};
  const WorkPoint& last = points_.back();
  if (time > last.time) return between(at(0.5 * last.time), last, time);
  const auto next = std::find_if(points_.begin(), points_.end(), [&](const WorkPoint& p) { return p.time >= time; });
  return between(next == points_.begin() ? WorkPoint{} : *(next - 1), *next, time);
}

void StepFit::add(double steps, double particle_steps, double seconds) {
  ss_ += steps * steps, sp_ += steps * particle_steps, pp_ += particle_steps * particle_steps;
  st_ += steps * seconds, pt_ += particle_steps * seconds;
  steps_ += steps, particle_steps_ += particle_steps, seconds_ += seconds;
}

StepFit::Parts StepFit::parts() const {
  if (!(particle_steps_ > 0)) return {};
  // The normal equations of least squares. Nearly equal steps leave them singular: then the particles get all seconds.
  const double determinant = ss_ * pp_ - sp_ * sp_;
  Parts parts{0, 1};
  if (determinant > 1e-3 * ss_ * pp_)
    parts = {std::max(0.0, (st_ * pp_ - pt_ * sp_) / determinant),
             std::max(0.0, (pt_ * ss_ - st_ * sp_) / determinant)};
  // Both parts are scaled by one factor, so that they give exactly the seconds that were measured.
  double sum = parts.per_step * steps_ + parts.per_particle_step * particle_steps_;
  if (!(sum > 0)) parts = {0, 1}, sum = particle_steps_;
  return {parts.per_step * seconds_ / sum, parts.per_particle_step * seconds_ / sum};
}

/// Seconds per expected second, up to the end over up to `early`. Trials too short to measure give 1.
double cost_growth(const WorkCurve& pilot, const StepFit::Parts& each, double n, double early, double end) {
  constexpr double most = 3, least_seconds = 0.02;
  const WorkPoint first = pilot.at(early), all = pilot.at(end);
  const auto expected = [&](const WorkPoint& of) {
    return each.per_step * of.steps + each.per_particle_step * of.particle_steps * n;
  };
  if (!(first.seconds > least_seconds) || !(expected(first) > 0) || !(all.seconds > first.seconds)) return 1;
  return std::clamp(all.seconds / expected(all) / (first.seconds / expected(first)), 1.0, most);
}

WorkPoint foretell_work(const WorkCurve& trial, double n, const WorkCurve& pilot, double pilot_n,
                        const StepGrowth& growth, double time, double later_particle_steps, double later_steps) {
  const double both = std::min(trial.length(), time);
  if (pilot.length() <= both || both <= 0) return trial.at(time);
  const double factor = n / pilot_n, steps = std::pow(factor, growth.steps),
               particle_steps = std::pow(factor, growth.particle_steps);
  const WorkPoint measured = trial.at(both), there = pilot.at(both), end = pilot.at(time);
  const double seen = std::min(there.particle_steps, measured.particle_steps);
  WorkPoint found{time};
  found.steps = (there.steps + (end.steps - there.steps) * later_steps) * steps *
                correction(measured.steps, there.steps * steps, seen);
  found.particle_steps = (there.particle_steps + (end.particle_steps - there.particle_steps) * later_particle_steps) *
                         particle_steps *
                         correction(measured.particle_steps, there.particle_steps * particle_steps, seen);
  return found;
}

}  // namespace pergola
