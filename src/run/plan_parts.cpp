#include "run/plan_parts.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <string>

#include "config/kind.hpp"
#include "outputs/output.hpp"

namespace pergola {

namespace {

/// The first, the last and those between, of which there is at most one for a step.
double outputs_in(double length, double every, double steps) {
  const double between = every > 0 ? std::max(0.0, std::ceil(length / every * (1 - 1e-12)) - 1) : 0;
  return 2 + std::min(between, steps);
}

double outputs_by_steps(std::int64_t every, double steps) {
  return every > 0 ? 1 + std::floor(steps / static_cast<double>(every)) : 0;
}

/// Those of output.redshifts between the start of a run of this length and its end.
double listed_snapshots(const RunConfig& config, double length) {
  const double end = config.run.end_time;
  return static_cast<double>(
      std::count_if(config.output.redshifts.begin(), config.output.redshifts.end(), [&](double redshift) {
        const double before = config.length_between(1 / (1 + redshift), end);
        return before > 0 && before < length;
      }));
}

}  // namespace

void add_parts(RunPlan& plan, const RunConfig& config, const PartCosts& costs, double length) {
  const auto& output = config.output;
  const auto add = [&](const char* name, double count, const Cost& each) {
    plan.parts.push_back({name, count, count * each.wall, count * each.processor});
    plan.seconds += count * each.wall;
    plan.processor_seconds += count * each.processor;
  };
  add("start", 1, costs.start);
  add("steps", plan.steps, (1 / std::max(plan.steps, 1.0)) * costs.steps);
  add("energies", outputs_in(length, output.energy_every, plan.steps), costs.energy);
  if (costs.radii.wall > 0)
    add("radii", outputs_in(length, radii_interval(config).value_or(0), plan.steps), costs.radii);
  add("snapshots", outputs_in(length, output.snapshots_every, plan.steps) + listed_snapshots(config, length),
      costs.snapshot);
  if (costs.audit.wall > 0) add("audits", outputs_by_steps(output.force_audit_every, plan.steps), costs.audit);
  if (costs.spectrum.wall > 0) add("spectra", outputs_by_steps(output.spectrum_every, plan.steps), costs.spectrum);
  const double minutes = output.checkpoint_every_minutes;
  add("checkpoints", 1 + (minutes > 0 ? std::floor(plan.seconds / (60 * minutes)) : 0), costs.checkpoint);
}

void set_range(RunPlan& plan, double factor) {
  plan.seconds_low = plan.seconds / factor;
  plan.seconds_high = plan.seconds * factor;
}

double step_seconds(const RunPlan& plan) {
  for (const auto& part : plan.parts)
    if (part.name == "steps") return part.seconds / std::max(plan.steps, 1.0);
  return 0;
}

double steps_together(const RunPlan& plan) {
  double looks = 1;
  for (const auto& part : plan.parts)
    if (part.name != "start" && part.name != "steps") looks = std::max(looks, part.count - 1);  // one at the start
  return std::max(1.0, plan.steps / looks);
}

std::vector<StageSeconds> stages_of(const TrialSteps& steps) {
  std::vector<StageSeconds> stages;
  for (const Profile::Stage& stage : steps.stages)
    if (stage.seconds > 0) stages.push_back({stage.name, stage.seconds});
  return stages;
}

RunPlan plan_run(const RunConfig& config, const PlanOptions& options) {
  static const std::map<std::string, RunPlan (*)(const RunConfig&, const PlanOptions&)> by_kind{
      {"gravity", plan_gravity}, {"plasma", plan_plasma}};
  return by_kind.at(kind_of(config).name)(config, options);
}

}  // namespace pergola
