// The experiments of aubert, section IV: the times of the stages of a particle-mesh step (table I), of whole steps
// (fig. 6) and the energy error, for random particles, a Plummer sphere and an exponential disc on as many cells as
// there are particles. Nearest grid point, a fixed step, a periodic box, single precision, as there. The leapfrog is
// kick-drift-kick: the paper's staggered one has the same trajectory but for rounding.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "app/paper/session.hpp"
#include "base/profile.hpp"
#include "base/stopwatch.hpp"
#include "models/model.hpp"
#include "time/integrator.hpp"

namespace pergola::app {

namespace {

constexpr double box_side = 8, time_step = 0.01;
constexpr const char* scenes[] = {"random", "sphere", "disc"};

Particles make_scene(const std::string& scene, std::int64_t n, int threads) {
  ModelOptions options;
  options.n = n;
  if (scene == "sphere") {
    options.values["cutoff"] = 6.0;
    return make_model("plummer", options, threads);
  }
  if (scene == "disc") {
    options.values["scale_length"] = 0.7;
    options.values["scale_height"] = 0.07;
    options.values["toomre_q"] = 1.0;
    return make_model("exponential-disc", options, threads);
  }
  options.values["side"] = box_side;
  options.values["speed"] = 0.5;
  return make_model("cube", options, threads);
}

SolverOptions gravity_of(const std::string& scene, std::int64_t n, Poisson poisson) {
  const int cells = static_cast<int>(std::lround(std::cbrt(static_cast<double>(n))));
  SolverOptions gravity;
  gravity.solver = "mesh";
  gravity.precision = Precision::single;
  gravity.mesh.cells = {cells, cells, cells};
  gravity.mesh.assignment = Assignment::ngp;
  gravity.mesh.poisson = poisson;
  gravity.mesh.density = DensityRoute::sorted;
  gravity.mesh.multigrid = {MultigridOptions::Cycle::v, 0, 3, 5, 5, 5};  // section IV A
  const double corner = scene == "random" ? 0 : -box_side / 2;
  gravity.mesh.box = {{corner, corner, corner}, {box_side, box_side, box_side}, Boundary::periodic};
  return gravity;
}

TimeOptions paper_time() {
  TimeOptions time;
  time.integrator = "leapfrog";
  time.step = time_step;
  return time;
}

/// Seconds per step: of the whole step and of its stages, by their names in a run's profile.
struct StepTimes {
  double whole = unknown;
  std::map<std::string, double> stages;
  /// Not a number for a stage that is not there.
  double of(const std::string& stage) const {
    const auto found = stages.find(stage);
    return found != stages.end() ? found->second : unknown;
  }
};

std::map<std::string, double> totals(const Profile& profile) {
  std::map<std::string, double> seconds;
  for (const auto& stage : profile.stages()) seconds[stage.name] = stage.seconds;
  return seconds;
}

/// A few steps to settle, then as many as fit into a second or so; nothing when interrupted.
std::optional<StepTimes> time_steps(const Device& device, const Particles& particles, const SolverOptions& gravity,
                                    const PaperSession& session) {
  const bool gpu = device.is_cuda();
  Profile profile;
  const auto integrator = make_integrator(paper_time(), gravity, {device, session.context().communicator, &profile});
  integrator->start(particles, 0);
  integrator->advance((gpu ? 20.5 : 1.5) * time_step, nullptr);
  const auto before = totals(profile);
  const auto first = integrator->counts().steps;
  const auto begin = Clock::now();
  integrator->advance(1e9, [&] { return interrupted || seconds_since(begin) > 0.5; });
  const double seconds = seconds_since(begin);
  if (interrupted) return std::nullopt;
  const auto steps = static_cast<double>(integrator->counts().steps - first);
  StepTimes times{seconds / steps, {}};
  for (const auto& [stage, total] : totals(profile)) {
    const auto earlier = before.find(stage);
    times.stages[stage] = (total - (earlier != before.end() ? earlier->second : 0)) / steps;
  }
  return times;
}

/// A stage of table I and where ours is found.
struct Row {
  const char* name;
  const char* stage;
  Poisson poisson = Poisson::fft;
};
constexpr Row stage_rows[] = {{"Cell Assign.", "cell assignment"},
                              {"Histo", "histogram"},
                              {"Density", "density"},
                              {"Poiss. FFT", "Poisson"},
                              {"Poiss.MG", "Poisson", Poisson::multigrid},
                              {"Potential", "potential"},
                              {"forceX", "force x y z"},
                              {"updateVelX", "velocity x y z"},
                              {"forceY", "force x y z"},
                              {"updateVelY", "velocity x y z"},
                              {"forceZ", "force x y z"},
                              {"updateVelZ", "velocity x y z"},
                              {"updatePos", "position"}};

/// Sorting the particles, every so many steps, is part of the histogram.
double stage_seconds(const StepTimes& times, const Row& row) {
  const double seconds = times.of(row.stage), sort = times.of("sort");
  return std::string_view(row.stage) == "histogram" && std::isfinite(sort) ? seconds + sort : seconds;
}

/// The two runs whose stages make up a column of table I.
using Runs = std::map<Poisson, StepTimes>;
std::optional<Runs> time_runs(const PaperSession& session, const Device& device, const std::string& scene,
                              std::int64_t n, const Particles& particles) {
  Runs runs;
  for (const Poisson poisson : {Poisson::fft, Poisson::multigrid}) {
    const auto times = time_steps(device, particles, gravity_of(scene, n, poisson), session);
    if (!times) return std::nullopt;
    runs[poisson] = *times;
  }
  return runs;
}

void note_missing_gpu(const PaperSession& session, PaperTable& table) {
  if (!session.device().is_cuda())
    table.notes.push_back("Missing: the GPU's times and the speed-ups; this is " + session.device().spec() +
                          ". One CPU thread only.");
}

void run_stages(const PaperSession& session, PaperTable& table, const std::string& scene) {
  const bool gpu = session.device().is_cuda();
  const Device cpu = Device::open("cpu", 1);
  for (const char* what : {"(×)", "GPU (ms)", "CPU (ms)"})
    for (const Row& row : stage_rows)
      if (gpu || std::string_view(what).starts_with("CPU")) table.ours.push_back(fmt::format("{} {}", row.name, what));
  table.notes.push_back(
      "Ours takes the three axes of force and velocity in one stage each: its time stands in three "
      "rows. The potential's factor is part of Poisson. Histo: with the sorting of the particles.");
  note_missing_gpu(session, table);
  session.run_sizes(table, {3, 1}, [&](std::int64_t n) -> std::optional<std::vector<double>> {
    const auto particles = make_scene(scene, n, session.device().threads());
    const auto on_cpu = time_runs(session, cpu, scene, n, particles);
    if (!on_cpu) return std::nullopt;
    std::vector<double> ratios, gpu_times, cpu_times;
    for (const Row& row : stage_rows) cpu_times.push_back(1e3 * stage_seconds(on_cpu->at(row.poisson), row));
    if (!gpu) return cpu_times;
    const auto on_gpu = time_runs(session, session.device(), scene, n, particles);
    if (!on_gpu) return std::nullopt;
    for (std::size_t k = 0; k < std::size(stage_rows); ++k) {
      gpu_times.push_back(1e3 * stage_seconds(on_gpu->at(stage_rows[k].poisson), stage_rows[k]));
      ratios.push_back(cpu_times[k] / gpu_times[k]);
    }
    ratios.insert(ratios.end(), gpu_times.begin(), gpu_times.end());
    ratios.insert(ratios.end(), cpu_times.begin(), cpu_times.end());
    return ratios;
  });
}

void run_steps(const PaperSession& session, PaperTable& table, Poisson poisson) {
  const bool gpu = session.device().is_cuda();
  const Device cpu = Device::open("cpu", 1);
  if (gpu)
    for (const char* scene : scenes) table.ours.push_back(fmt::format("full GPU {} (×)", scene));
  for (const char* scene : scenes) table.ours.push_back(fmt::format("CPU {} (ms)", scene));
  note_missing_gpu(session, table);
  session.run_sizes(table, {3, 1}, [&](std::int64_t n) -> std::optional<std::vector<double>> {
    std::vector<double> full, alone;
    for (const char* scene : scenes) {
      const auto particles = make_scene(scene, n, session.device().threads());
      const auto time = [&](const Device& device) {
        return time_steps(device, particles, gravity_of(scene, n, poisson), session);
      };
      const auto one = time(cpu);
      if (!one) return std::nullopt;
      alone.push_back(1e3 * one->whole);
      if (!gpu) continue;
      const auto other = time(session.device());
      if (!other) return std::nullopt;
      full.push_back(one->whole / other->whole);
    }
    full.insert(full.end(), alone.begin(), alone.end());
    return full;
  });
}

/// Over one time unit, by the mesh's own energy.
std::optional<double> energy_error(const PaperSession& session, const Particles& particles,
                                   const SolverOptions& gravity) {
  const auto& device = session.device();
  const auto integrator = make_integrator(paper_time(), gravity, {device, session.context().communicator, nullptr});
  integrator->start(particles, 0);
  const Particles start = integrator->state_at(0);  // in the box
  integrator->advance(1, [] { return interrupted.load(); });
  if (interrupted) return std::nullopt;
  integrator->finish(1);
  return relative_energy_error(device, start, integrator->state_at(1), gravity);
}

void run_energies(const PaperSession& session, PaperTable& table) {
  for (const Poisson poisson : {Poisson::fft, Poisson::multigrid})
    for (const char* scene : scenes)
      table.ours.push_back(fmt::format("{} {} (1e-3)", poisson_names[static_cast<std::size_t>(poisson)], scene));
  session.run_sizes(table, {1, 1}, [&](std::int64_t n) -> std::optional<std::vector<double>> {
    std::vector<double> errors;
    for (const Poisson poisson : {Poisson::fft, Poisson::multigrid})
      for (const char* scene : scenes) {
        const auto error =
            energy_error(session, make_scene(scene, n, session.device().threads()), gravity_of(scene, n, poisson));
        if (!error) return std::nullopt;
        errors.push_back(*error / 1e-3);
      }
    return errors;
  });
}

}  // namespace

PaperTable run_aubert(const PaperSession& session, const std::string& name) {
  PaperTable table = load_table("aubert", name);
  if (name == "energy") run_energies(session, table);
  if (name == "6-fft") run_steps(session, table, Poisson::fft);
  if (name == "6-multigrid") run_steps(session, table, Poisson::multigrid);
  if (name.starts_with("1-")) run_stages(session, table, name.substr(2));
  return table;
}

}  // namespace pergola::app
