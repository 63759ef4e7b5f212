// `pergola force FILE`: times one force evaluation on a snapshot and measures its error.
//
// Steps: (1) a configuration from --solver and --set, (2) the snapshot and the box for the solver, (3) one evaluation
// of all forces, timed, (4) a double-precision sum for a sample of particles, (5) the report, and with --dump a
// snapshot with accelerations. Rank 0 works alone. Errors are relative to the exact acceleration of each particle.
// Accelerations are in the units of the snapshot, with G of its unit system; times are seconds of wall clock.
#include <fmt/format.h>

#include <cmath>
#include <filesystem>

#include "analysis/force_audit.hpp"
#include "app/command.hpp"
#include "app/progress.hpp"
#include "app/written_files.hpp"
#include "base/error.hpp"
#include "base/text.hpp"
#include "comm/agreement.hpp"
#include "config/config.hpp"
#include "config/value.hpp"
#include "gravity/solver_entry.hpp"
#include "io/snapshot.hpp"
#include "io/snapshot_formats.hpp"
#include "sim/open_particles.hpp"

namespace pergola::app {

namespace {

struct ForceOptions {
  std::string file, solver, dump;
  std::vector<std::string> sets;
  std::int64_t sample = 1000;
};

/// What was measured, for the table and for --json.
struct ForceReport {
  std::string solver, device, precision;
  bool pairwise = false;
  std::int64_t n = 0;
  ForceAudit audit;

  double seconds() const { return audit.forces.prepare_seconds + audit.forces.evaluate_seconds; }
  double particles_per_second() const { return static_cast<double>(n) / seconds(); }
  /// Not a number for a solver that does not sum over pairs.
  double interactions_per_second() const {
    return pairwise ? static_cast<double>(n) * static_cast<double>(n) / seconds() : std::nan("");
  }
};

nlohmann::json force_json(const ForceReport& report) {
  const auto& error = report.audit.errors;
  nlohmann::json value{{"solver", report.solver},
                       {"device", report.device},
                       {"precision", report.precision},
                       {"n", report.n},
                       {"seconds",
                        {{"prepare", json_number(report.audit.forces.prepare_seconds)},
                         {"evaluate", json_number(report.audit.forces.evaluate_seconds)},
                         {"total", json_number(report.seconds())}}},
                       {"particles_per_second", json_number(report.particles_per_second())},
                       {"interactions_per_second", json_number(report.interactions_per_second())},
                       {"error",
                        {{"median", json_number(error.median)},
                         {"rms", json_number(error.rms)},
                         {"p99", json_number(error.p99)},
                         {"max", json_number(error.max)},
                         {"sample", error.sample}}}};
  if (!report.audit.choices.empty()) value["chosen"] = report.audit.choices;
  if (!report.audit.remark.empty()) value["remark"] = report.audit.remark;
  return value;
}

std::string to_table(const ForceReport& report) {
  const auto& error = report.audit.errors;
  std::string text = fmt::format(
      "{} on {}, {} precision, {} particles\n"
      "  time     {:.4g} s (prepare {:.4g}, evaluate {:.4g})\n"
      "  rate     {:.4g} particles/s{}\n"
      "  error    median {:.2e}  rms {:.2e}  p99 {:.2e}  max {:.2e}  ({} particles against a double-precision sum)\n",
      report.solver, report.device, report.precision, report.n, report.seconds(), report.audit.forces.prepare_seconds,
      report.audit.forces.evaluate_seconds, report.particles_per_second(),
      report.pairwise ? fmt::format(", {:.4g} interactions/s", report.interactions_per_second()) : "", error.median,
      error.rms, error.p99, error.max, error.sample);
  for (const std::string& choice : report.audit.choices) text += fmt::format("  chosen   {}\n", choice);
  if (!report.audit.remark.empty()) text += fmt::format("  warning  {}\n", report.audit.remark);
  return text;
}

RunConfig configuration(const ForceOptions& options) {
  // The file comes first: numbers with a unit are counted in its units.
  std::vector<std::string> sets{"particles.file=" + toml_string(options.file)};
  sets.insert(sets.end(), options.sets.begin(), options.sets.end());
  if (!options.solver.empty()) sets.push_back("gravity.solver=" + options.solver);
  return parse_force_config(sets);
}

/// Only HDF5 snapshots have room for accelerations.
void check_dump(const std::string& dump, const std::string& file) {
  refuse_input_as_output("--dump", dump, {file});
  if (!dump.empty() && !snapshot_format(format_from_name(dump)).can.accelerations)
    throw Error(ErrorKind::input, fmt::format("--dump: expected a name that ends in .hdf5 or .h5, found \"{}\"", dump));
}

/// Turns the solver's error about two places in memory into one that names the ids of the particles.
ForceAudit audit(const ForceOptions& options, const SolverOptions& solver, const Device& device,
                 const Particles& particles) {
  try {
    return audit_forces(solver, device, particles, options.sample);
  } catch (const CoincidentParticles& error) {
    const auto id = [&](std::int64_t place) { return particles.id[static_cast<std::size_t>(place)]; };
    throw Error(error.kind(), fmt::format("{}: particles with id {} and {} are in one place, or too close for the "
                                          "precision; expected a distance or gravity.softening above 0",
                                          options.file, id(error.first()), id(error.second())));
  }
}

/// --device and --threads have priority over run.device and run.threads of the configuration.
void run_force(const ForceOptions& options, const Context& context) {
  auto config = configuration(options);
  check_dump(options.dump, options.file);
  const auto device = Device::open(context.device_given ? context.device : config.run.device,
                                   context.threads_given ? context.threads : config.run.threads);
  WaitLine wait(context, "force");
  auto snapshot = read_snapshot(options.file);
  if (snapshot.particles.size() == 0)
    throw Error(ErrorKind::input, fmt::format("{}: holds no particles, expected at least 1", options.file));
  take_file_units(config, options.file, snapshot.header.units);
  auto solver = config.solver_options();
  const SolverEntry& entry = solver_entry(solver.solver);
  set_box(solver, find_solver_box(config, snapshot.particles, snapshot.header.box_size));
  if (!box_of(solver).periodic() && snapshot.header.box_size > 0)
    context.remark(fmt::format("{}: BoxSize is {}; the {} solver takes the particles as isolated", options.file,
                               to_text(snapshot.header.box_size), entry.name));

  ForceReport report{solver.solver,
                     device.spec(),
                     std::string(precision_name(solver.precision)),
                     entry.can.pairwise,
                     snapshot.particles.size(),
                     {}};
  report.audit = audit(options, solver, device, snapshot.particles);
  wait.end();
  WrittenFiles files({options.dump});
  if (!options.dump.empty()) {
    WriteOptions write;
    const auto& forces = report.audit.forces;
    write.acceleration = {forces.ax, forces.ay, forces.az};
    write_snapshot(options.dump, snapshot, write);
  }
  files.print_and_keep(context, to_table(report), force_json(report));
}

}  // namespace

void add_force(Command program, Context& context) {
  auto command = program.add_subcommand("force", "Time one force evaluation on a snapshot and measure its error");
  auto options = std::make_shared<ForceOptions>();
  command->add_option("FILE", options->file, "Snapshot: HDF5, GADGET binary or CSV")->required();
  command->add_option("--solver", options->solver,
                      fmt::format("Name of the solver: {}", fmt::join(solver_names(), ", ")));
  command->add_option("--set", options->sets, "Configuration key=value, any number of times")
      ->allow_extra_args(false)
      ->take_all();
  command->add_option("--sample", options->sample, "Particles compared with a double-precision direct sum")
      ->between(std::int64_t{1}, std::int64_t{1} << 40)
      ->capture_default_str();
  command->add_option("--dump", options->dump, "Write the snapshot with an Acceleration dataset to this HDF5 file");
  command->footer("Example:\n  pergola force cluster.hdf5 --solver direct --set run.precision=single --json");
  command->callback([options, &context] { on_root(*context.communicator, [&] { run_force(*options, context); }); });
}

}  // namespace pergola::app
