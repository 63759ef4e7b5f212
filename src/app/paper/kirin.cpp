// The experiments of kirin, section 4.1: tables 1 and 2 (Hermite runs of a Plummer sphere), 3 and 4 (one force
// evaluation); section 4.2: tables 5 and 6 (Hermite runs through the GRAPE-6 library); section 4.3: tables 7 and 8
// (leapfrog with a tree).
#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "app/g6_client.hpp"
#include "app/paper/session.hpp"
#include "base/stopwatch.hpp"
#include "models/model.hpp"
#include "time/integrator.hpp"

namespace pergola::app {

namespace {

constexpr double kirin_softening = 1.0 / 256;
constexpr double timed_from = 0.25, end_time = 0.5;
constexpr double force_operations = 38;       // Warren et al. 1997
constexpr double force_jerk_operations = 60;  // Nitadori, Makino & Hut 2006

struct HermiteRun {
  double seconds = 0;       // from t = 0.25 to 0.5
  double energy_error = 0;  // from t = 0 to 0.5
};

std::optional<HermiteRun> run_hermite(const PaperSession& session, std::int64_t n, std::uint64_t seed) {
  const auto& device = session.device();
  SolverOptions gravity;
  gravity.softening = Softening::same(kirin_softening);
  const auto particles = plummer(n, seed, device.threads());
  const auto integrator = make_integrator(TimeOptions{}, gravity, {device, session.context().communicator, nullptr});
  const auto stop = [] { return interrupted.load(); };
  integrator->start(particles, 0);
  integrator->advance(timed_from, stop);
  device.synchronize();
  const auto begin = Clock::now();
  integrator->advance(end_time, stop);
  if (interrupted) return std::nullopt;
  integrator->finish(end_time);
  device.synchronize();
  HermiteRun run;
  run.seconds = seconds_since(begin);
  run.energy_error = relative_energy_error(device, particles, integrator->state_at(end_time), gravity);
  return run;
}

void run_hermite_times(const PaperSession& session, PaperTable& table) {
  table.ours = {session.ours() + " (s)"};
  session.run_sizes(table, {0.1, 2.15}, [&](std::int64_t n) -> std::optional<std::vector<double>> {
    const auto run = run_hermite(session, n, 1);
    if (!run) return std::nullopt;
    return std::vector<double>{run->seconds};
  });
}

/// The sign is the paper's too: (E_start − E_end) / E_start = (E_end − E_start) / |E_start| for a bound system.
void run_energy_errors(const PaperSession& session, PaperTable& table) {
  const int seeds = session.options().seeds > 0 ? session.options().seeds : 5;
  table.ours = {session.ours() + " seed 1 (1e-7)", fmt::format("median size of {} seeds (1e-7)", seeds)};
  session.run_sizes(table, {0.1 * seeds, 2.15}, [&](std::int64_t n) -> std::optional<std::vector<double>> {
    std::vector<double> errors;
    for (int seed = 1; seed <= seeds; ++seed) {
      const auto run = run_hermite(session, n, static_cast<std::uint64_t>(seed));
      if (!run) return std::nullopt;
      errors.push_back(run->energy_error / 1e-7);
    }
    return std::vector<double>{errors[0], median_size(errors)};
  });
}

void run_forces(const PaperSession& session, PaperTable& table, unsigned want, Precision precision, double operations) {
  const std::string label = fmt::format("{} {}", session.ours(), precision_name(precision));
  table.ours = {label + " (s)", "Pergola (GFLOP/s)", "Pergola (pairs/s)"};
  session.run_sizes(table, {0.4, 2}, [&](std::int64_t n) -> std::optional<std::vector<double>> {
    const double seconds =
        measure_forces(session.device(), plummer(n, 1, session.device().threads()), want, precision, kirin_softening);
    const double pairs = static_cast<double>(n) * static_cast<double>(n);
    return std::vector<double>{seconds, operations * pairs / seconds * 1e-9, pairs / seconds};
  });
}

/// The particles before and after 0.25 time units through the GRAPE-6 library, and the seconds that it took.
struct LibraryRun {
  double seconds = 0;
  double energy_error = 0;
};

constexpr double library_end = 0.25;
constexpr int library_pipes = 16384;

std::optional<LibraryRun> run_library(const PaperSession& session, std::int64_t n, std::uint64_t seed, double epsilon) {
  const auto& device = session.device();
  const auto particles = plummer(n, seed, device.threads());
  SolverOptions gravity;
  gravity.softening = Softening::same(epsilon);
  const auto begin = Clock::now();
  G6Client client(device, library_pipes, epsilon, TimeOptions{}.eta);
  client.start(particles);
  if (!client.advance(library_end, [] { return interrupted.load(); })) return std::nullopt;
  LibraryRun run;
  run.seconds = seconds_since(begin);
  run.energy_error = relative_energy_error(device, particles, client.state_at(library_end), gravity);
  return run;
}

void run_library_times(const PaperSession& session, PaperTable& table) {
  table.ours = {session.ours() + ", ε = 1/256 (s)", "ε = 0 (s)"};
  session.run_sizes(table, {0.2, 2.15}, [&](std::int64_t n) -> std::optional<std::vector<double>> {
    std::vector<double> seconds;
    for (const double epsilon : {kirin_softening, 0.0}) {
      const auto run = run_library(session, n, 1, epsilon);
      if (!run) return std::nullopt;
      seconds.push_back(run->seconds);
    }
    return seconds;
  });
}

void run_library_errors(const PaperSession& session, PaperTable& table) {
  const int seeds = session.options().seeds > 0 ? session.options().seeds : 5;
  table.ours = {session.ours() + fmt::format(", ε = 1/256, median size of {} seeds (1e-7)", seeds),
                "ε = 0, the same (1e-7)"};
  session.run_sizes(table, {0.2 * seeds, 2.15}, [&](std::int64_t n) -> std::optional<std::vector<double>> {
    std::vector<double> medians;
    for (const double epsilon : {kirin_softening, 0.0}) {
      std::vector<double> errors;
      for (int seed = 1; seed <= seeds; ++seed) {
        const auto run = run_library(session, n, static_cast<std::uint64_t>(seed), epsilon);
        if (!run) return std::nullopt;
        errors.push_back(run->energy_error / 1e-7);
      }
      medians.push_back(median_size(errors));
    }
    return medians;
  });
}

constexpr double tree_end = 1, tree_step = 1.0 / 64, tree_softening = 1.0 / 64, tree_accuracy = 1e-3;

struct TreeRun {
  double seconds = 0;  // from the first force to the end
  double energy_error = 0;
};

std::optional<TreeRun> run_tree(const PaperSession& session, std::int64_t n, std::uint64_t seed, bool energies) {
  const auto& device = session.device();
  SolverOptions gravity;
  gravity.solver = "tree";
  gravity.softening = Softening::same(tree_softening);
  gravity.tree.accuracy = tree_accuracy;
  TimeOptions time;
  time.integrator = "leapfrog";
  time.step = tree_step;
  const auto particles = plummer(n, seed, device.threads());
  const auto integrator = make_integrator(time, gravity, {device, session.context().communicator, nullptr});
  const auto begin = Clock::now();
  integrator->start(particles, 0);
  integrator->advance(tree_end, [] { return interrupted.load(); });
  if (interrupted) return std::nullopt;
  integrator->finish(tree_end);
  device.synchronize();
  TreeRun run;
  run.seconds = seconds_since(begin);
  if (energies) run.energy_error = relative_energy_error(device, particles, integrator->state_at(tree_end), gravity);
  return run;
}

void run_tree_times(const PaperSession& session, PaperTable& table) {
  table.ours = {session.ours() + " (s)", "Pergola (s per step)"};
  session.run_sizes(table, {0.1, 1.1}, [&](std::int64_t n) -> std::optional<std::vector<double>> {
    const auto run = run_tree(session, n, 1, false);
    if (!run) return std::nullopt;
    return std::vector<double>{run->seconds, run->seconds * tree_step / tree_end};
  });
}

void run_tree_errors(const PaperSession& session, PaperTable& table) {
  const int seeds = session.options().seeds > 0 ? session.options().seeds : 3;
  table.ours = {session.ours() + fmt::format(", median size of {} seeds (1e-6)", seeds)};
  session.run_sizes(table, {0.1 * seeds, 1.2}, [&](std::int64_t n) -> std::optional<std::vector<double>> {
    std::vector<double> errors;
    for (int seed = 1; seed <= seeds; ++seed) {
      const auto run = run_tree(session, n, static_cast<std::uint64_t>(seed), true);
      if (!run) return std::nullopt;
      errors.push_back(run->energy_error / 1e-6);
    }
    return std::vector<double>{median_size(errors)};
  });
}

}  // namespace

PaperTable run_kirin(const PaperSession& session, const std::string& name) {
  PaperTable table = load_table("kirin", name);
  if (name == "1") run_hermite_times(session, table);
  if (name == "2") run_energy_errors(session, table);
  if (name == "3") run_forces(session, table, want_acceleration, Precision::single, force_operations);
  if (name == "4")
    run_forces(session, table, want_acceleration | want_jerk | want_potential, Precision::mixed, force_jerk_operations);
  if (name == "5") run_library_times(session, table);
  if (name == "6") run_library_errors(session, table);
  if (name == "7") run_tree_times(session, table);
  if (name == "8") run_tree_errors(session, table);
  return table;
}

}  // namespace pergola::app
