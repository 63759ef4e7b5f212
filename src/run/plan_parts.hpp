#pragma once
#include <map>

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

/// Bytes of integrator and solver for so many particles, of one of so many ranks; and of particles on the host, each
/// with id, species and eight reals: a piece on its way to the device and what waits to be written, and all of them
/// where a box is found from the whole, or the model knows no pieces and is not made on the device.
double device_bytes_of(const RunConfig& config, const Device& device, std::int64_t n, int ranks = 1);
double host_bytes_of(const RunConfig& config, const Device& device, std::int64_t n, int ranks = 1);
/// RankPlan::constant_bytes of ranks that have `share` of what one process takes.
double bytes_beyond_share(const RankPlan& rank, const RunPlan& one, double share);
/// Of several ranks: what rank 0 has beside that, of files that wait to be written.
double waiting_bytes_of(const RunConfig& config, std::int64_t n, int ranks);

/// The same run on several ranks: the traffic is counted with a sample. `of_one_rank`: samples that one rank has been
/// tried with, by their number of particles, for the next number of ranks.
RankPlan plan_gravity_ranks(const RunConfig& config, const RunPlan& plan, const PlanOptions& options, int ranks,
                            std::map<std::int64_t, DryRun>& of_one_rank);
/// Bytes a second through which messages between GPUs have to go beside the network (domain/device_messages.hpp); 0 on
/// one machine.
double staging_of(const PlanOptions& options, const Device& device, int ranks);
/// Seconds in which a GPU has nothing to do where the host waits for a number of it and goes on.
double host_wait_of(const Device& device);
/// The stages of a trial's steps, for ranks.
std::vector<StageSeconds> stages_of(const TrialSteps& steps);
/// Seconds of a step, all outputs left out.
double step_seconds(const RunPlan& plan);
/// About how many steps follow one another before the particles are looked at for an output.
double steps_together(const RunPlan& plan);

/// A run under gravity without a trial: the steps of its integrator where they are fixed, else those of a Plummer model
/// in N-body units, at typical rates.
void guess_gravity(RunPlan& plan, const RunConfig& config, const Device& device, double length);

}  // namespace pergola
