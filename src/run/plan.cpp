#include "run/plan.hpp"
#include "base/error.hpp"
#include "config/kind.hpp"
#include "io/checkpoint_writer.hpp"
#include "io/write_queue.hpp"
#include "outputs/output.hpp"
#include "run/plan_parts.hpp"
#include "sim/system_entry.hpp"

#include <fmt/core.h>
#include <stdlib.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <map>
#include <system_error>

namespace pergola {

namespace fs = std::filesystem;

namespace {

/// Of all threads of this process, since it began.
double processor_seconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

/// A trial takes at least this number of steps, unless they last twice the seconds allowed.
constexpr int fewest_looks = 4;

/// A folder for temporary files, removed at the end.
class TrialFolder {
 public:
  TrialFolder() {
    std::string name = (fs::temp_directory_path() / "pergola-plan-XXXXXX").string();
    if (!mkdtemp(name.data()))
      throw Error(ErrorKind::system, fmt::format("{}: cannot be made: {}", name, std::strerror(errno)));
    path_ = name;
  }
  ~TrialFolder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  TrialFolder(const TrialFolder&) = delete;
  TrialFolder& operator=(const TrialFolder&) = delete;
  const fs::path& path() const { return path_; }
  double bytes() const {
    double sum = 0;
    for (const auto& entry : fs::recursive_directory_iterator(path_))
      if (entry.is_regular_file()) sum += static_cast<double>(entry.file_size());
    return sum;
  }

 private:
  fs::path path_;
};

/// The cost of write(folder, queue); if the file system refuses, the reason goes to `not_written`. `bytes`: those of
/// the files, if asked for.
template <class Write>
Cost try_files(double* bytes, std::string& not_written, const Write& write) {
  const CostClock clock;
  try {
    TrialFolder folder;
    WriteQueue queue(std::int64_t{1} << 30);
    write(folder.path(), queue);
    queue.drain();
    const Cost cost = clock.passed();
    if (bytes) *bytes = folder.bytes();
    return cost;
  } catch (const fs::filesystem_error& error) {
    not_written = error.what();
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::system) throw;
    not_written = error.what();
  }
  return {};
}

/// The cost of an audit: two samples give what it takes at first, and what grows with the sample.
Cost try_audit(System& system, std::int64_t sample) {
  constexpr std::int64_t fewest = 8, more = 4;
  constexpr double enough_seconds = 0.5;
  const auto audit = [&](std::int64_t n) {
    const CostClock clock;
    system.audit(n);
    return clock.passed();
  };
  std::int64_t before = std::min(sample, fewest), tried = before;
  Cost last = audit(before), cost = last;
  while (tried < sample && (tried == before || cost.wall < enough_seconds)) {
    before = tried, last = cost;
    cost = audit(tried = std::min(more * tried, sample));
  }
  const double rest = tried < sample ? static_cast<double>(sample - tried) / static_cast<double>(tried - before) : 0;
  const auto in_all = [rest](double now, double then) { return now + rest * std::max(0.0, now - then); };
  return {in_all(cost.wall, last.wall), in_all(cost.processor, last.processor)};
}

}  // namespace

CostClock::CostClock() : wall_(Clock::now()), processor_(processor_seconds()) {}

Cost CostClock::passed() const { return {seconds_since(wall_), processor_seconds() - processor_}; }

TrialSteps try_steps(System& system, const RunConfig& config, double seconds) {
  TrialSteps steps;
  const StepCounts before = system.counts();
  const double start = system.start_time(), n = static_cast<double>(system.size());
  const CostClock clock;
  StepCounts last = before;
  Cost last_cost;
  StepFit first;  // the first step finds cold memory: it counts only if there is no other
  int looks = 0;
  const auto over = [&](double wall) { return wall > seconds && (looks >= fewest_looks || wall > 2 * seconds); };
  // On a GPU the fits use seconds of the clock, because the processor waits for it; on a CPU those of all threads.
  steps.complete = system.advance(config.run.end_time, [&] {
    const StepCounts now = system.counts();
    const Cost cost = clock.passed();
    if (now.steps == last.steps) return over(cost.wall);
    StepFit& fit = ++looks == 1 ? first : steps.fit;
    fit.add(static_cast<double>(now.steps - last.steps), static_cast<double>(now.particle_steps - last.particle_steps),
            system.device().is_cuda() ? cost.wall - last_cost.wall : cost.processor - last_cost.processor);
    steps.curve.add({config.length_between(start, system.step_time()), static_cast<double>(now.steps - before.steps),
                     static_cast<double>(now.particle_steps - before.particle_steps) / n,
                     system.device().is_cuda() ? cost.wall : cost.processor});
    last = now, last_cost = cost;
    return over(cost.wall);
  });
  if (steps.fit.empty()) steps.fit = first;
  steps.cost = clock.passed();
  const StepCounts after = system.counts();
  steps.counts = {after.steps - before.steps, after.particle_steps - before.particle_steps,
                  after.interactions - before.interactions};
  if (steps.fit.empty())
    steps.fit.add(static_cast<double>(steps.counts.steps), static_cast<double>(steps.counts.particle_steps),
                  system.device().is_cuda() ? steps.cost.wall : steps.cost.processor);
  steps.length = config.length_between(start, steps.complete ? config.run.end_time : system.step_time());
  return steps;
}

TrialOutputs try_outputs(System& system, const RunConfig& config, double seconds) {
  TrialOutputs outputs;
  const auto measured = [](const auto& act) {
    const CostClock clock;
    act();
    return clock.passed();
  };
  outputs.energy = measured([&] { system.measure(); });
  if (radii_interval(config) && system.has_center()) outputs.radii = measured([&] { radii_line(system); });
  if (config.output.force_audit_every > 0 && system.can_audit())
    outputs.audit = try_audit(system, config.output.force_audit_sample);
  if (config.output.spectrum_every > 0) outputs.spectrum = measured([&] { system.record(); });
  // A snapshot holds potentials, which take as long as an energy line.
  if (2 * outputs.energy.wall > seconds) {
    const double written = file_bytes_each * static_cast<double>(system.size()) / file_rate;
    outputs.checkpoint = {written, written};
    outputs.snapshot = outputs.energy;
    outputs.snapshot += outputs.checkpoint;
    outputs.waiting_bytes = 2 * file_bytes_each * static_cast<double>(system.size());
    outputs.not_written = "the start took too long for one within the time of a trial";
    return outputs;
  }
  outputs.snapshot = try_files(nullptr, outputs.not_written, [&](const fs::path& folder, WriteQueue& queue) {
    system.write_snapshot(folder / snapshot_name(config, 0), &queue, [] {});
  });
  outputs.checkpoint =
      try_files(&outputs.waiting_bytes, outputs.not_written, [&](const fs::path& folder, WriteQueue& queue) {
        StateSource state;
        system.save(state);
        queue_checkpoint(queue, folder, "", state);
      });
  return outputs;
}

namespace {

/// Outputs of a run: the first, the last and those between, at most one for each step.
double outputs_in(double length, double every, double steps) {
  const double between = every > 0 ? std::max(0.0, std::ceil(length / every * (1 - 1e-12)) - 1) : 0;
  return 2 + std::min(between, steps);
}

/// Outputs after multiples of a number of steps, with the one at the start.
double outputs_by_steps(std::int64_t every, double steps) {
  return every > 0 ? 1 + std::floor(steps / static_cast<double>(every)) : 0;
}

/// Snapshots at output.redshifts, between the start of a run of this length and its end.
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
  // Checkpoints come last, because their number depends on the seconds of all other parts.
  const double minutes = output.checkpoint_every_minutes;
  add("checkpoints", 1 + (minutes > 0 ? std::floor(plan.seconds / (60 * minutes)) : 0), costs.checkpoint);
}

void set_range(RunPlan& plan, double factor) {
  plan.seconds_low = plan.seconds / factor;
  plan.seconds_high = plan.seconds * factor;
}

/// By the kind of system.
RunPlan plan_run(const RunConfig& config, const PlanOptions& options) {
  static const std::map<std::string, RunPlan (*)(const RunConfig&, const PlanOptions&)> by_kind{
      {"gravity", plan_gravity}, {"plasma", plan_plasma}};
  return by_kind.at(kind_of(config).name)(config, options);
}

}  // namespace pergola
