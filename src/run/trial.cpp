#include "run/trial.hpp"

#include <fmt/core.h>
#include <stdlib.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <system_error>

#include "base/error.hpp"
#include "io/checkpoint_writer.hpp"
#include "io/write_queue.hpp"
#include "outputs/output.hpp"
#include "sim/system_entry.hpp"

namespace pergola {

namespace fs = std::filesystem;

namespace {

double processor_seconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

constexpr int fewest_looks = 4;

/// Bytes of a particle in a file, and of files a second.
constexpr double typical_bytes = 73, typical_rate = 2e8;

/// A folder that is gone when the trial is over.
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

/// Does something once; an ill fate of the file system is told, not fatal.
template <class Write>
Cost try_files(double& bytes, std::string& not_written, const Write& write) {
  const CostClock clock;
  try {
    TrialFolder folder;
    WriteQueue queue(std::int64_t{1} << 30);
    write(folder.path(), queue);
    queue.drain();
    const Cost cost = clock.passed();
    bytes = folder.bytes();
    return cost;
  } catch (const fs::filesystem_error& error) {
    not_written = error.what();
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::system) throw;
    not_written = error.what();
  }
  return {};
}

/// What an audit takes at first is known from two samples; the rest grows with the sample.
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
  const std::vector<Profile::Stage> stages_before = system.profile().stages();
  const double start = system.start_time(), n = static_cast<double>(system.size());
  const CostClock clock;
  StepCounts last = before;
  Cost last_cost;
  StepFit first;  // the first step finds cold memory: it counts where it is the only one
  int looks = 0;
  const auto over = [&](double wall) { return wall > seconds && (looks >= fewest_looks || wall > 2 * seconds); };
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
  steps.stages = system.profile().stages();  // new ones come last
  for (std::size_t k = 0; k < stages_before.size(); ++k) steps.stages[k].seconds -= stages_before[k].seconds;
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
    const double written = typical_bytes * static_cast<double>(system.size()) / typical_rate;
    outputs.checkpoint = {written, written};
    outputs.snapshot = outputs.energy;
    outputs.snapshot += outputs.checkpoint;
    outputs.waiting_bytes = 2 * typical_bytes * static_cast<double>(system.size());
    outputs.not_written = "the start took too long for one within the time of a trial";
    return outputs;
  }
  outputs.snapshot =
      try_files(outputs.snapshot_bytes, outputs.not_written, [&](const fs::path& folder, WriteQueue& queue) {
        system.write_snapshot(folder / snapshot_name(config, 0), &queue, [] {});
      });
  outputs.checkpoint =
      try_files(outputs.waiting_bytes, outputs.not_written, [&](const fs::path& folder, WriteQueue& queue) {
        StateSource state;
        system.save(state);
        queue_checkpoint(queue, folder, "", state);
      });
  return outputs;
}

}  // namespace pergola
