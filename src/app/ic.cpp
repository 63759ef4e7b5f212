// `pergola ic MODEL`: makes initial conditions and writes them as a snapshot.
//
// Steps: (1) options of the model from the command line, checked by the model's own entry, (2) particles: on a device,
// by all ranks, or by rank 0, as the model allows, (3) the header with box, cosmology and units, (4) the file or files.
// Models are entries (models/model.hpp); each becomes a subcommand and none is known by name except for its example.
// The same seed makes the same particles for any number of threads and ranks. Numbers are in --units (G follows).
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>

#include "app/command.hpp"
#include "app/progress.hpp"
#include "app/written_files.hpp"
#include "base/error.hpp"
#include "base/text.hpp"
#include "base/units.hpp"
#include "comm/agreement.hpp"
#include "comm/shares.hpp"
#include "config/config.hpp"
#include "config/quantities.hpp"
#include "domain/share_source.hpp"
#include "io/snapshot_formats.hpp"
#include "io/snapshot_writer.hpp"
#include "io/spread_snapshot.hpp"
#include "models/model_source.hpp"

namespace pergola::app {

namespace {

/// What the user typed. One request serves all models, as only one subcommand runs.
struct IcRequest {
  std::int64_t n = 0;
  std::uint64_t seed = 1;
  std::string units, output;  // units: empty: the model's own
  bool overwrite = false, full = false;
  int files = 1;
  std::vector<std::string> sets;
  std::map<std::string, std::string> options;  // of the model, by option name, as typed
};

/// Options are spelled with dashes on the command line and with underscores in configurations.
std::string dashed(std::string name) {
  std::replace(name.begin(), name.end(), '_', '-');
  return name;
}

std::string value_text(const ModelValue& value) {
  if (const auto* flag = std::get_if<bool>(&value)) return *flag ? "true" : "false";
  if (const auto* number = std::get_if<double>(&value)) return to_text(*number);
  return std::get<std::string>(value);
}

/// The text as the type of the option's value; other text stays a word, which the model's check refuses.
ModelValue typed_value(const ModelInfo& model, const std::string& name, const std::string& text,
                       const QuantityUnits& units, const std::string& typed_as) {
  for (const auto& option : model.options) {
    if (option.name != name) continue;
    if (std::holds_alternative<bool>(option.default_value) && (text == "true" || text == "false"))
      return text == "true";
    if (!std::holds_alternative<double>(option.default_value)) continue;
    if (const auto number = parse_real(text)) return *number;
    if (const auto number = plain_number(text, option.dimension, units, typed_as)) return *number;
  }
  return text;
}

/// Sets an option after the model's check. Throws Error(input) that begins with the option as the user typed it.
void take_option(const ModelInfo& model, const std::string& typed_as, const std::string& name, const std::string& text,
                 const QuantityUnits& units, ModelOptions& options) {
  const ModelValue value = typed_value(model, name, text, units, typed_as);
  const std::string problem = option_problem(model, name, value);
  if (!problem.empty()) throw Error(ErrorKind::input, fmt::format("{}: {}", typed_as, problem));
  options.values[name] = value;
}

/// --set gravity.external=[...], as for `pergola run`: the potentials in which a disc is set up.
std::vector<ExternalPotential> external_potentials(const ModelInfo& model, const std::string& set,
                                                   const std::string& units) {
  if (!model.uses_external)
    throw Error(ErrorKind::input,
                fmt::format("--set: gravity.external: expected an option of {}, which is set up without external "
                            "potentials",
                            model.name));
  return parse_force_config({"units.system=" + units, set}).gravity.external;
}

/// check_units has checked the name; a model's units are valid.
const UnitSystem& unit_system(const std::string& name) { return *find_unit_system(name); }

const std::string& units_of(const ModelInfo& model, const IcRequest& request) {
  return request.units.empty() ? model.units : request.units;
}

/// All options of the model. Throws Error(input) for units, counts, names and values that the model refuses.
ModelOptions model_options(const ModelInfo& model, const IcRequest& request) {
  if (model.own_units && units_of(model, request) != model.units)
    throw Error(ErrorKind::input, fmt::format("--units: expected {}, in which {} is made, found {}", model.units,
                                              model.name, request.units));
  ModelOptions options;
  options.n = request.n;
  const std::string problem = count_problem(model, options.n);
  if (!problem.empty()) throw Error(ErrorKind::input, "--n: " + problem);
  options.seed = request.seed;
  options.units = unit_system(units_of(model, request));
  options.gravitational_constant = options.units.gravitational_constant;
  QuantityUnits units{
      .system = std::nullopt, .universe = model.own_units, .unstated = "--units stellar, for example, states some"};
  if (options.units.name != nbody_units().name) units.system = options.units;
  for (const auto& [name, text] : request.options) take_option(model, "--" + dashed(name), name, text, units, options);
  for (const auto& set : request.sets) {
    const auto equals = set.find('=');
    if (equals == std::string::npos || equals == 0)
      throw Error(ErrorKind::input, fmt::format("--set: expected name=value, found {}", set));
    const std::string name = set.substr(0, equals);
    if (name == "gravity.external")
      options.external = external_potentials(model, set, units_of(model, request));
    else
      take_option(model, "--set: " + name, name, set.substr(equals + 1), units, options);
  }
  if (const auto conflict = options_conflict(model, options))
    throw Error(ErrorKind::input, fmt::format("--{}: {}", dashed(conflict->key), conflict->why));
  return options;
}

/// The record of --json: every option of the model, given or default, so that the file can be made again.
nlohmann::json ic_summary(const ModelInfo& model, const ModelOptions& options, const IcRequest& request,
                          std::int64_t count, double mass, const std::vector<std::string>& lost) {
  nlohmann::json values = nlohmann::json::object();
  for (const auto& option : model.options) {
    const auto given = options.values.find(option.name);
    std::visit([&](const auto& value) { values[option.name] = value; },
               given == options.values.end() ? option_default(model, option, options.units) : given->second);
  }
  nlohmann::json softening = nlohmann::json::object();
  const auto epsilon = model_softening(model.name, options);
  for (std::size_t k = 0; k < epsilon.size(); ++k)
    if (epsilon[k] > 0) softening[std::string(species_names[k])] = epsilon[k];
  return {{"model", model.name},
          {"n", count},
          {"seed", options.seed},
          {"softening", softening},
          {"units", units_of(model, request)},
          {"mass", mass},
          {"options", values},
          {"not_carried", lost},
          {"file", request.output}};
}

/// halo = 0.1, disc = 0.05: softening lengths by species as in the configuration; empty for none.
std::string softening_text(const std::array<double, species_count>& epsilon) {
  std::vector<std::string> parts;
  for (std::size_t k = 0; k < epsilon.size(); ++k)
    if (epsilon[k] > 0) parts.push_back(fmt::format("{} = {:.2g}", species_names[k], epsilon[k]));
  return fmt::format("{}", fmt::join(parts, ", "));
}

/// Box, time and cosmology come from the model; N-body units are not stated in the file.
SnapshotHeader header_of(const ModelInfo& model, const ModelOptions& options, const IcRequest& request) {
  SnapshotHeader header;
  header.box_size = model_box_side(model.name, options);
  if (const auto start = model_cosmology(model.name, options)) {
    header.time = start->scale_factor;
    header.redshift = 1 / start->scale_factor - 1;
    header.omega0 = start->universe.omega_matter;
    header.omega_lambda = start->universe.omega_lambda;
    header.omega_baryon = start->universe.omega_baryon;
    header.hubble_param = start->universe.h;
  }
  if (units_of(model, request) != "nbody") {
    const UnitSystem units = unit_system(units_of(model, request));
    header.units = FileUnits{units.length_cm, units.mass_g, units.velocity_cm_per_s};
  }
  return header;
}

/// The particles of a model that this rank has made.
struct MadeParticles {
  std::unique_ptr<ParticleSource> made;
  std::int64_t first = 0, count = 0, total = 0;  // of this rank; of all
  bool on_device = false;
  ShareSource own() const { return {*made, first, count}; }
};

/// Each rank makes its range, if the model can be made so, else rank 0 makes all.
MadeParticles make_particles(const ModelInfo& model, const ModelOptions& options, const IcRequest& request,
                             const std::optional<Device>& device, const Context& context) {
  Communicator& ranks = *context.communicator;
  MadeParticles particles;
  on_root(ranks, [&] {
    if (device) particles.made = make_model_on(*device, model.name, options);
  });
  particles.on_device = share_value(ranks, particles.made != nullptr);
  if (auto shared = ranks.size() > 1 && !particles.on_device ? make_shared_model(model.name, options, context.threads)
                                                             : nullptr) {
    shared->make_shares(context.communicator);
    const Shares shares{shared->count(), ranks.size()};
    return {std::move(shared), shares.first(ranks.rank()), shares.count(ranks.rank()), shares.total};
  }
  on_root(ranks, [&] {
    if (!particles.made)
      particles.made =
          std::make_unique<KeptParticles>(make_model(model.name, options, context.threads), request.output);
    particles.count = particles.made->count();
  });
  particles.total = share_value(ranks, particles.count);
  if (!particles.made) particles.made = std::make_unique<KeptParticles>(Particles{}, request.output);
  return particles;
}

/// On rank 0. The ranks add up their particles one after the other, in the order of one process.
double mass_of_all(const MadeParticles& particles, Communicator& ranks) {
  if (ranks.size() == 1 || particles.on_device) return ranks.is_root() ? total_mass(*particles.made) : 0;
  constexpr std::int64_t piece_particles = std::int64_t{1} << 18;
  ShareSource own = particles.own();
  Particles piece;
  double mass = 0;
  for (int rank = 0; rank < ranks.size(); ++rank) {
    for (std::int64_t first = 0; rank == ranks.rank() && first < own.count(); first += piece_particles) {
      own.read(first, std::min(piece_particles, own.count() - first), piece);
      for (const double one : piece.mass) mass += one;
    }
    ranks.broadcast(&mass, sizeof mass, rank);
  }
  return mass;
}

/// Collective. Output files are checked on all ranks before particles are made, since that may take long.
void make_initial_conditions(const ModelInfo& model, const IcRequest& request, const Context& context) {
  const ModelOptions options = model_options(model, request);
  const std::vector<std::filesystem::path> outputs = files_of_snapshot(request.output, request.files);
  for (const auto& output : outputs) check_output_file(output.string(), request.overwrite);
  WriteOptions write;
  write.format = format_from_name(request.output);
  write.files = request.files;
  const SnapshotFormatEntry& format = snapshot_format(write.format);
  if (request.files > 1 && !format.can.sets)
    throw Error(ErrorKind::input, fmt::format("--files: {} is one file, found {}", format.name, request.files));
  write.single_precision = format.single_precision.value_or(false) && !request.full;
  write.threads = context.threads;
  std::optional<Device> device;
  if (context.device_given) device = context.open_device();
  Communicator& ranks = *context.communicator;
  WaitLine wait(context, "ic");
  wait.begins(fmt::format("making {} particles", options.n));
  ranks.barrier();  // no rank may look for the file after another has written it
  const MadeParticles particles = make_particles(model, options, request, device, context);
  const SnapshotHeader header = header_of(model, options, request);
  const std::vector<std::string> lost = not_carried(header, false, format);
  wait.begins("writing " + request.output);
  WrittenFiles files(outputs);  // on all ranks: a signal may end one while another gives them their names
  if (ShareSource own = particles.own(); ranks.size() > 1)
    write_distributed_snapshot(ranks, request.output, header, own, write);
  else
    write_snapshot(request.output, header, *particles.made, write);
  wait.end();
  context.remark(fmt::format("{}: {}, {} particles, seed {}{}", request.output, model.name, particles.total,
                             options.seed, particles.on_device ? ", made on " + device->spec() : ""));
  note_lost(context, lost, header);
  const auto start = model_cosmology(model.name, options);
  for (const std::string& remark : {model_remark(model.name, options), default_mass_remark(model.name, options),
                                    start ? curvature_remark(start->universe) : std::string()})
    if (!remark.empty()) context.remark(remark);
  const std::string softening = softening_text(model_softening(model.name, options));
  if (!softening.empty()) context.remark(fmt::format("softening that suits it: {{ {} }}", softening));
  const double mass = context.json ? mass_of_all(particles, ranks) : 0;
  on_root(ranks, [&] {
    files.print_and_keep(
        context, "",
        context.json ? ic_summary(model, options, request, particles.total, mass, lost) : nlohmann::json());
  });
  files.keep();
}

std::string check_seed(const std::string& text) {
  return parse_unsigned(text) ? "" : fmt::format("expected an integer from 0 to 18446744073709551615, found {}", text);
}

/// What is wrong with the name of a unit system, or nothing.
std::string check_units(const std::string& text) {
  if (find_unit_system(text)) return "";
  std::vector<std::string> names;
  for (const auto& system : unit_systems()) names.push_back(system.name);
  return fmt::format("expected {}, found {}", fmt::join(names, ", "), text);
}

/// Options of all models belong to `ic` itself, so they may stand before or after the model's name.
void add_common_options(Command command, IcRequest& request) {
  command.add_option("-n,--n", request.n, "Number of particles; 1e6 and 64^3 are numbers too")
      ->transform(integer_in(Range::at_least(1)))
      ->type_name("N");
  command.add_option("--seed", request.seed, "Seed of the random numbers (1)")->check(check_seed)->type_name("S");
  command
      .add_option(
          "--units", request.units,
          "nbody (G = 1), gadget (kpc, 1e10 solar masses, km/s), solar (AU, solar masses, years), stellar (pc, "
          "solar masses, km/s), galactic (kpc, solar masses, km/s), cosmology (Mpc/h, 1e10 solar masses/h, km/s) or si "
          "(nbody; cluster: stellar; m81: gadget; cosmology: cosmology)")
      ->check(check_units)
      ->type_name("SYSTEM");
  command.add_option("--set", request.sets, "An option of the model; may be repeated")
      ->take_all()
      ->expected(1)
      ->type_name("NAME=VALUE");
  command.add_option("-o,--output", request.output, "File to write; .hdf5 and .csv, .g2 for GADGET format 2, else 1")
      ->required()
      ->type_name("FILE");
  command
      .add_option("--files", request.files,
                  "Write a set of so many files, FILE.0.hdf5 and so on, by several ranks at once (1)")
      ->transform(integer_in(Range::between(1, 4096)))
      ->type_name("N");
  command.add_flag("--overwrite", request.overwrite, "Replace an existing file");
  command.add_flag("--double", request.full, "Write a GADGET binary file in double precision (other files are)");
}

/// Options are spelled with dashes; underscores, as in a configuration, are accepted too.
void add_model_option(Command command, const ModelOption& option, const std::shared_ptr<IcRequest>& request) {
  const std::string dash = "--" + dashed(option.name), underscore = "--" + option.name;
  const std::string help = fmt::format("{} ({})", option.help, value_text(option.default_value));
  const bool is_flag = std::holds_alternative<bool>(option.default_value);
  const auto add = [&](const std::string& flag) -> Option {
    const auto take = [request, name = option.name](const std::string& text) { request->options[name] = text; };
    const bool is_number = std::holds_alternative<double>(option.default_value);
    if (!is_flag) return command.add_option_function(flag, take, help)->type_name(is_number ? "NUMBER" : "WORD");
    return command.add_flag_function(
        flag, [take](std::int64_t count) { take(count > 0 ? "true" : "false"); }, help);
  };
  add(dash);
  if (dash != underscore) add(underscore)->group("");  // accepted, not shown
}

/// The example in the help of each model shows an option that matters for it.
const char* example_options(const std::string& model) {
  if (model == "plummer") return "--n 1000 --seed 1 --exact-energy ";
  if (model == "hernquist") return "--n 1e5 --virial-radius 2 ";
  if (model == "nfw") return "--n 1e5 --concentration 15 ";
  if (model == "king") return "--n 1e4 --w0 7 ";
  if (model == "sphere") return "--n 1e5 --virial-ratio 0.1 ";
  if (model == "cube") return "--n 32768 --side 2 ";
  if (model == "cosmology") return "--n 64^3 --box 100 --redshift 49 --seed 1 ";
  if (model == "exponential-disc") return "--n 1e5 --toomre-q 1.5 ";
  if (model == "galaxy") return "--n 1e5 --bulge-mass 0.3 ";
  if (model == "m81") return "--n 17.5e6 ";
  if (model == "cluster") return "--n 1e4 --half-mass-radius '2 pc' --binary-fraction 0.3 ";
  if (model == "kepler") return "--eccentricity 0.9 ";
  return model == "six-body" ? "--seed 7 " : "";
}

}  // namespace

void add_ic(Command program, Context& context) {
  auto ic = program.add_subcommand("ic", "Make initial conditions");
  const auto request = std::make_shared<IcRequest>();
  add_common_options(ic, *request);
  ic->require_subcommand(1);
  ic->footer(
      "Example:\n  pergola ic plummer --n 1000 --seed 1 -o cluster.hdf5\n\n"
      "`pergola ic MODEL --help` shows the options of a model.");
  for (const auto& model : models()) {
    auto command = ic->add_subcommand(model.name, model.summary);
    for (const auto& option : model.options) add_model_option(command, option, request);
    const char* external = model.uses_external
                               ? "The external potentials of the run that it is made for are stated as there:\n"
                                 "  --set 'gravity.external=[{ kind = \"logarithmic\", speed = 1, radius = 0.5 }]'\n\n"
                               : "";
    command->footer(
        fmt::format("Also --n, --seed, --units, --set, -o, --files, --overwrite, --double: see pergola ic "
                    "--help.\n\n{}Example:\n  pergola ic {} {}-o "
                    "{}.hdf5",
                    external, model.name, example_options(model.name), model.name));
    command->callback([&model, request, &context] { make_initial_conditions(model, *request, context); });
  }
}

}  // namespace pergola::app
