#pragma once
#include "run/plan.hpp"
#include "run/trial.hpp"

namespace pergola {

/// The whole of a trial in seconds, and when the last part of it must be over.
constexpr double longest_trial_seconds = 10, longest_steps_seconds = 4.5, longest_pilot_seconds = 3;
constexpr double longest_fixed_steps_seconds = 4;
/// Of the free memory, for a trial.
constexpr double trial_memory = 0.1;

/// One of each part of a run, for all of its particles.
struct PartCosts {
  Cost start, steps;  // all steps together
  Cost energy, radii, snapshot, checkpoint, audit, spectrum;
};

/// Adds the start, the steps and all outputs of a run of this length to the plan, as parts and as sums.
void add_parts(RunPlan& plan, const RunConfig& config, const PartCosts& costs, double length);
/// The range: the seconds divided and multiplied by a factor.
void set_range(RunPlan& plan, double factor);

/// The plan of a run under gravity or of a plasma; plan_run calls them.
RunPlan plan_gravity(const RunConfig& config, const PlanOptions& options);
RunPlan plan_plasma(const RunConfig& config, const PlanOptions& options);

/// Bytes of integrator and solver for n particles; and of particles on the host, each with id, species and eight
/// reals: a piece on its way to the device and what waits to be written, and all of them where a box is found from the
/// whole, or the model knows no pieces and is not made on the device.
double device_bytes_of(const RunConfig& config, const Device& device, std::int64_t n);
double host_bytes_of(const RunConfig& config, const Device& device, std::int64_t n);

/// A run under gravity without a trial: the steps of its integrator where they are fixed, else those of a Plummer model
/// in N-body units, at typical rates.
void guess_gravity(RunPlan& plan, const RunConfig& config, const Device& device, double length);

}  // namespace pergola
