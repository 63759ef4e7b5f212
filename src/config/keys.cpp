#include "config/keys.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "base/error.hpp"
#include "base/text.hpp"
#include "config/key_kinds.hpp"
#include "config/registered_keys.hpp"
#include "gravity/pair_laws.hpp"

namespace pergola {

namespace {

ConfigKey device_key() {
  return {"run.device", "auto | cpu | cuda | cuda:K",
          [](RunConfig& config, const ConfigValue& value) {
            const auto* word = value.get_if<std::string>();
            const bool named = word && (*word == "auto" || *word == "cpu" || *word == "cuda");
            const bool numbered = word && word->starts_with("cuda:") && parse_unsigned(word->substr(5)).has_value();
            if (!named && !numbered) refuse(value, "run.device", "auto, cpu, cuda or cuda:K");
            config.run.device = *word;
          },
          [](const RunConfig& config) { return toml_string(config.run.device); }};
}

void read_softening(RunConfig& config, const ConfigValue& value) {
  const std::string path = "gravity.softening";
  const auto* table = value.get_if<ConfigValue::Table>();
  if (!table) {
    if (!value.get_if<double>() && !value.get_if<std::int64_t>())
      refuse(value, path, "a number >= 0 or a table by species such as { halo = 0.1, disc = 0.05 }");
    config.gravity.softening.epsilon.fill(read_real(value, path, Range::at_least(0)));
    return;
  }
  for (const auto& [name, entry] : *table) {
    const auto species = std::find(species_names.begin(), species_names.end(), name);
    const std::string entry_path = path + "." + name;
    if (species == species_names.end()) {
      const std::vector<std::string> names(species_names.begin(), species_names.end());
      const std::string near = nearest_name(name, names);
      throw Error(ErrorKind::input, fmt::format("{}: {}: unknown species, expected {}{}", entry.where(), entry_path,
                                                fmt::join(names, ", "), did_you_mean(near)));
    }
    config.gravity.softening.epsilon[static_cast<std::size_t>(species - species_names.begin())] =
        read_real(entry, entry_path, Range::at_least(0));
  }
}

std::string softening_text(const RunConfig& config) {
  const Softening& softening = config.gravity.softening;
  if (softening.uniform()) return to_text(softening.epsilon[0]);
  std::vector<std::string> parts;
  for (std::size_t k = 0; k < species_names.size(); ++k)
    parts.push_back(fmt::format("{} = {}", species_names[k], to_text(softening.epsilon[k])));
  return fmt::format("{{ {} }}", fmt::join(parts, ", "));
}

ConfigKey softening_kernel_key() {
  const std::string path = "gravity.softening_kernel";
  std::vector<std::string> words, listed;
  for (const PairLawEntry& law : pair_laws()) {
    words.push_back(law.name);
    listed.push_back(law.remark.empty() ? law.name : fmt::format("{} ({})", law.name, law.remark));
  }
  return {path, fmt::format("{}", fmt::join(listed, " | ")),
          [=](RunConfig& config, const ConfigValue& value) {
            const auto* word = value.get_if<std::string>();
            const std::string expected = fmt::format("{}", fmt::join(words, ", "));
            if (!word) refuse(value, path, expected);
            const auto found = std::find(words.begin(), words.end(), *word);
            if (found == words.end()) refuse(value, path, expected, did_you_mean(nearest_name(*word, words)));
            config.gravity.softening.kernel = static_cast<SofteningKernel>(found - words.begin());
          },
          [](const RunConfig& config) { return toml_string(pair_law(config.gravity.softening.kernel).name); }};
}

ConfigKey step_max_key() {
  const std::string path = "time.step_max";
  return {path, "longest block step, and longest adaptive step of the leapfrog; a power of two",
          [=](RunConfig& config, const ConfigValue& value) {
            const double step = read_real(value, path, Range::above(0));
            int exponent = 0;
            if (std::frexp(step, &exponent) != 0.5) refuse(value, path, "a power of two such as 0.125");
            config.time.step_max = step;
          },
          [](const RunConfig& config) { return to_text(config.time.step_max); }};
}

std::vector<ConfigKey> run_keys() {
  return {integer_key(
              "version", "of this format", Range::between(1, 1), [](auto& c) -> auto& { return c.version; }),
          real_key(
              "run.end_time", "the time at which the run ends", Range::above(0),
              [](auto& c) -> auto& { return c.run.end_time; }),
          device_key(),
          word_key(
              "run.precision", "auto | single | mixed | double", {"auto", "single", "mixed", "double"},
              [](auto& c) -> auto& { return c.run.precision; }),
          integer_key(
              "run.threads", "CPU threads; 0: all cores", Range::between(0, 65536),
              [](auto& c) -> auto& { return c.run.threads; })};
}

std::vector<ConfigKey> gravity_keys() {
  return {word_key("gravity.solver", "direct | tree | mesh", {"direct", "tree", "mesh"},
                   [](auto& c) -> auto& { return c.gravity.solver; }, {"treepm"}),
          {"gravity.softening", "Plummer-equivalent length; by species: { halo = 0.1, disc = 0.05 }", read_softening,
           softening_text},
          softening_kernel_key(),
          external_key()};
}

/// One number for all axes, or [x, y, z].
std::array<double, 3> read_triple(const ConfigValue& value, const std::string& path, const Range& range,
                                  const std::string& expected) {
  const auto* array = value.get_if<ConfigValue::Array>();
  if (!array) {
    if (!value.get_if<double>() && !value.get_if<std::int64_t>()) refuse(value, path, expected);
    const double number = read_real(value, path, range);
    return {number, number, number};
  }
  if (array->size() != 3) refuse(value, path, expected);
  return {read_real((*array)[0], path, range), read_real((*array)[1], path, range),
          read_real((*array)[2], path, range)};
}

std::string triple_text(double x, double y, double z) {
  return x == y && y == z ? to_text(x) : fmt::format("[{}, {}, {}]", to_text(x), to_text(y), to_text(z));
}

bool is_auto(const ConfigValue& value) {
  const auto* word = value.get_if<std::string>();
  return word && *word == "auto";
}

ConfigKey cells_key() {
  const std::string path = "gravity.mesh.cells";
  return {path, "per side, or [x, y, z]; even numbers with small prime factors",
          [=](RunConfig& config, const ConfigValue& value) {
            const auto cells =
                read_triple(value, path, Range::between(1, 1 << 20), "an even number such as 128, or [128, 128, 64]");
            for (std::size_t k = 0; k < 3; ++k) {
              if (std::floor(cells[k]) != cells[k]) refuse(value, path, "whole numbers");
              config.gravity.mesh.cells[k] = static_cast<int>(cells[k]);
            }
          },
          [](const RunConfig& config) {
            const auto& n = config.gravity.mesh.cells;
            return triple_text(n[0], n[1], n[2]);
          }};
}

ConfigKey box_key() {
  const std::string path = "gravity.mesh.box";
  return {path, "side, or [x, y, z]; auto: BoxSize (periodic), or the smallest cube that holds all (isolated)",
          [=](RunConfig& config, const ConfigValue& value) {
            auto& side = config.gravity.mesh.box.side;
            side = {0, 0, 0};
            if (is_auto(value)) return;
            const auto sides = read_triple(value, path, Range::above(0), "\"auto\", a number > 0 or [x, y, z]");
            side = {sides[0], sides[1], sides[2]};
          },
          [](const RunConfig& config) {
            const auto& side = config.gravity.mesh.box.side;
            return config.gravity.mesh.box.given() ? triple_text(side.x, side.y, side.z) : toml_string("auto");
          }};
}

ConfigKey box_corner_key() {
  const std::string path = "gravity.mesh.box_corner";
  return {path, "lowest corner [x, y, z]; auto: 0 (periodic), centred on 0 (isolated)",
          [=](RunConfig& config, const ConfigValue& value) {
            config.gravity.box_corner.reset();
            if (is_auto(value)) return;
            const auto corner = read_triple(value, path, Range{}, "\"auto\", a number or [x, y, z]");
            config.gravity.box_corner = Vec3<double>{corner[0], corner[1], corner[2]};
          },
          [](const RunConfig& config) {
            const auto& corner = config.gravity.box_corner;
            return corner ? triple_text(corner->x, corner->y, corner->z) : toml_string("auto");
          }};
}

ConfigKey multigrid_key() {
  const std::string path = "gravity.mesh.multigrid";
  return {path, "full (full multigrid first) | v (V-cycles) | paper (Aubert et al.: 3 V-cycles, 5 levels, 5 sweeps)",
          [=](RunConfig& config, const ConfigValue& value) {
            const auto* word = value.get_if<std::string>();
            if (!word || (*word != "full" && *word != "v" && *word != "paper")) refuse(value, path, "full, v, paper");
            config.gravity.multigrid = *word;
            config.gravity.mesh.multigrid.cycle =
                *word == "full" ? MultigridOptions::Cycle::full : MultigridOptions::Cycle::v;
          },
          [](const RunConfig& config) { return toml_string(config.gravity.multigrid); }};
}

std::vector<ConfigKey> mesh_keys() {
  constexpr std::array<std::string_view, 2> boundaries{"isolated", "periodic"};
  return {cells_key(),
          choice_key<Assignment>(
              "gravity.mesh.assignment", "ngp | cic | tsc, for density and force", assignment_names,
              [](auto& c) -> auto& { return c.gravity.mesh.assignment; }, 1),
          choice_key<Poisson>(
              "gravity.mesh.poisson", "fft | multigrid", poisson_names,
              [](auto& c) -> auto& { return c.gravity.mesh.poisson; }),
          choice_key<Boundary>(
              "gravity.mesh.boundary", "periodic | isolated", boundaries,
              [](auto& c) -> auto& { return c.gravity.mesh.box.boundary; }),
          choice_key<Gradient>(
              "gravity.mesh.gradient", "two-point | four-point | spectral", gradient_names,
              [](auto& c) -> auto& { return c.gravity.mesh.gradient; }),
          choice_key<Laplacian>(
              "gravity.mesh.laplacian", "discrete (seven-point) | spectral (k^2); periodic fft", laplacian_names,
              [](auto& c) -> auto& { return c.gravity.mesh.laplacian; }),
          flag_key(
              "gravity.mesh.deconvolve", "periodic fft: divide by the window of the assignment",
              [](auto& c) -> auto& { return c.gravity.mesh.deconvolve; }),
          choice_key<DensityRoute>(
              "gravity.mesh.density", "auto | atomic | sorted | host: how a GPU adds up the density",
              density_route_names, [](auto& c) -> auto& { return c.gravity.mesh.density; }),
          box_key(),
          box_corner_key(),
          multigrid_key(),
          real_key(
              "gravity.mesh.tolerance", "multigrid: stop at |r| <= tolerance (|f| + |A| |phi|); 0: after all cycles",
              Range::at_least(0), [](auto& c) -> auto& { return c.gravity.mesh.multigrid.tolerance; }),
          integer_key(
              "gravity.mesh.cycles", "multigrid: most V-cycles", Range::between(1, 1000),
              [](auto& c) -> auto& { return c.gravity.mesh.multigrid.cycles; }),
          integer_key(
              "gravity.mesh.smoothing_before", "multigrid: sweeps before the coarser grid", Range::between(0, 100),
              [](auto& c) -> auto& { return c.gravity.mesh.multigrid.smoothing_before; }),
          integer_key(
              "gravity.mesh.smoothing_after", "multigrid: sweeps after it", Range::between(0, 100),
              [](auto& c) -> auto& { return c.gravity.mesh.multigrid.smoothing_after; }),
          integer_key(
              "gravity.mesh.levels", "multigrid: grids; 0: as many as the cells allow", Range::between(0, 32),
              [](auto& c) -> auto& { return c.gravity.mesh.multigrid.levels; })};
}

/// A number that also chooses the criterion it belongs to; gravity.tree.opening, read later, may choose the other one.
template <class Get>
ConfigKey opening_key(const std::string& path, const std::string& comment, const Range& range,
                      TreeOptions::Opening opening, Get get) {
  ConfigKey key = real_key(path, comment, range, get);
  key.read = [read = key.read, opening](RunConfig& config, const ConfigValue& value) {
    read(config, value);
    config.gravity.tree.opening = opening;
  };
  return key;
}

ConfigKey tree_order_key() {
  const std::string path = "gravity.tree.order";
  return {path, "of the expansions, 2 to 5; 0: chosen by the accuracy",
          [=](RunConfig& config, const ConfigValue& value) {
            const auto order = static_cast<int>(read_integer(value, path, Range::between(0, 5)));
            if (order == 1) refuse(value, path, "0 or a number from 2 to 5");
            config.gravity.tree.order = order;
          },
          [](const RunConfig& config) { return std::to_string(config.gravity.tree.order); }};
}

std::vector<ConfigKey> tree_keys() {
  return {opening_key(
              "gravity.tree.accuracy", "median relative force error; 99 % have at most six times that",
              Range::between(1e-5, 1e-2), TreeOptions::Opening::relative,
              [](auto& c) -> auto& { return c.gravity.tree.accuracy; }),
          opening_key(
              "gravity.tree.opening_angle", "radii of two cells over their distance", Range::between(0.05, 1),
              TreeOptions::Opening::geometric, [](auto& c) -> auto& { return c.gravity.tree.opening_angle; }),
          choice_key<TreeOptions::Opening>(
              "gravity.tree.opening", "relative (accuracy) | geometric (opening_angle)", tree_opening_names,
              [](auto& c) -> auto& { return c.gravity.tree.opening; }),
          tree_order_key()};
}

std::vector<ConfigKey> time_keys() {
  return {word_key(
              "time.integrator", "hermite | leapfrog", {"hermite", "leapfrog"},
              [](auto& c) -> auto& { return c.time.integrator; }),
          real_key(
              "time.eta", "accuracy of adaptive and block steps", Range::above(0),
              [](auto& c) -> auto& { return c.time.eta; }),
          real_key(
              "time.eta_start", "hermite: the same for the first step", Range::above(0),
              [](auto& c) -> auto& { return c.time.eta_start; }),
          real_key(
              "time.step", "leapfrog: the fixed step", Range::above(0), [](auto& c) -> auto& { return c.time.step; }),
          word_key(
              "time.leapfrog", "kick-drift-kick | staggered (fixed step only)", {"kick-drift-kick", "staggered"},
              [](auto& c) -> auto& { return c.time.leapfrog; }),
          real_key(
              "time.courant", "adaptive or block on a mesh: cells that a particle may cross in a step", Range::above(0),
              [](auto& c) -> auto& { return c.time.courant; }),
          word_key(
              "time.steps", "leapfrog: shared | block (one for each particle: sqrt(2 eta softening / |a|))",
              {"shared", "block"}, [](auto& c) -> auto& { return c.time.steps; }),
          flag_key(
              "time.adaptive", "leapfrog: a shared step chosen anew each time",
              [](auto& c) -> auto& { return c.time.adaptive; }),
          step_max_key(),
          integer_key(
              "time.corrector_iterations", "hermite: force evaluations per step", Range::between(1, 100),
              [](auto& c) -> auto& { return c.time.corrector_iterations; })};
}

std::vector<ConfigKey> output_keys() {
  return {real_key(
              "output.snapshots_every", "time between snapshots; 0: first and last only", Range::at_least(0),
              [](auto& c) -> auto& { return c.output.snapshots_every; }),
          real_key(
              "output.energy_every", "time between lines of energy.csv; 0: first and last only", Range::at_least(0),
              [](auto& c) -> auto& { return c.output.energy_every; }),
          real_key(
              "output.checkpoint_every_minutes", "wall-clock minutes between checkpoints; 0: only when interrupted",
              Range::at_least(0), [](auto& c) -> auto& { return c.output.checkpoint_every_minutes; }),
          integer_key(
              "output.checkpoints_kept", "the newest so many; a damaged one falls back to the one before",
              Range::between(1, 1e6), [](auto& c) -> auto& { return c.output.checkpoints_kept; }),
          integer_key(
              "output.force_audit_every", "steps between measurements of the force error (tree, mesh); 0: never",
              Range::at_least(0), [](auto& c) -> auto& { return c.output.force_audit_every; }),
          integer_key(
              "output.force_audit_sample", "particles whose forces are compared with the direct sum",
              Range::at_least(1), [](auto& c) -> auto& { return c.output.force_audit_sample; })};
}

std::vector<ConfigKey> units_keys() {
  return {word_key(
      "units.system", "nbody (G = 1) | gadget (kpc, 1e10 solar masses, km/s) | plasma (1/omega_p) | si",
      {"nbody", "gadget", "plasma", "si"}, [](auto& c) -> auto& { return c.units.system; })};
}

}  // namespace

void refuse(const ConfigValue& value, const std::string& path, const std::string& expected, const std::string& remark) {
  throw Error(ErrorKind::input,
              fmt::format("{}: {}: expected {}, found {}{}", value.where(), path, expected, value.found(), remark));
}

double read_real(const ConfigValue& value, const std::string& path, const Range& range) {
  double number = std::numeric_limits<double>::quiet_NaN();
  if (const auto* real = value.get_if<double>()) number = *real;
  if (const auto* integer = value.get_if<std::int64_t>()) number = static_cast<double>(*integer);
  if (!range.contains(number)) refuse(value, path, range.text());
  return number;
}

std::int64_t read_integer(const ConfigValue& value, const std::string& path, const Range& range) {
  if (const auto* integer = value.get_if<std::int64_t>(); integer && range.contains(static_cast<double>(*integer)))
    return *integer;
  constexpr double exact = 9007199254740992.0;  // 2^53: beyond it not every integer is a double
  if (const auto* real = value.get_if<double>();
      real && range.contains(*real) && std::abs(*real) <= exact && std::floor(*real) == *real)
    return static_cast<std::int64_t>(*real);
  refuse(value, path, range.text("an integer"));
}

void read_model_option(const ModelInfo& model, const std::string& option, const ConfigValue& value,
                       ModelOptions& options) {
  ModelValue taken = value.found();
  if (const auto* flag = value.get_if<bool>()) taken = *flag;
  if (const auto* real = value.get_if<double>()) taken = *real;
  if (const auto* integer = value.get_if<std::int64_t>()) taken = static_cast<double>(*integer);
  if (const auto* word = value.get_if<std::string>()) taken = *word;
  const std::string problem = option_problem(model, option, taken);
  if (!problem.empty())
    throw Error(ErrorKind::input, fmt::format("{}: particles.{}: {}", value.where(), option, problem));
  options.values[option] = taken;
}

Expectation read_expectation(const std::string& name, const ConfigValue& value) {
  const std::string path = "expect." + name;
  const auto& names = expectation_names();
  if (std::count(names.begin(), names.end(), name) == 0)
    throw Error(ErrorKind::input, fmt::format("{}: {}: unknown expectation, expected {}{}", value.where(), path,
                                              fmt::join(names, ", "), did_you_mean(nearest_name(name, names))));
  const std::vector<std::string> zeros{"energy_error", "momentum", "angular_momentum", "return_distance"};
  const bool zero_expected = std::count(zeros.begin(), zeros.end(), name) > 0;
  Expectation expectation{name, 0, 0};
  const auto* table = value.get_if<ConfigValue::Table>();
  if (!table && zero_expected) {
    expectation.tolerance = read_real(value, path, Range::at_least(0));
  } else if (!table) {
    expectation.expected = read_real(value, path, Range{});
    expectation.tolerance = 0.05 * std::abs(expectation.expected);
  } else {
    bool has_tolerance = false;
    for (const auto& [key, entry] : *table) {
      if (key == "expected")
        expectation.expected = read_real(entry, path + ".expected", Range{});
      else if (key == "tolerance")
        expectation.tolerance = read_real(entry, path + ".tolerance", Range::at_least(0)), has_tolerance = true;
      else
        throw Error(ErrorKind::input,
                    fmt::format("{}: {}.{}: unknown key, expected expected or tolerance", entry.where(), path, key));
    }
    if (!has_tolerance)
      throw Error(ErrorKind::input,
                  fmt::format("{}: {}.tolerance: expected a number >= 0, found none", value.where(), path));
  }
  return expectation;
}

bool applies(const std::string& path, bool plasma) {
  const auto keys_of_plasma = plasma_output_keys();
  const bool plasma_only =
      path.starts_with("plasma.") ||
      std::any_of(keys_of_plasma.begin(), keys_of_plasma.end(), [&](const auto& key) { return key.path == path; });
  const bool gravity_only = path.starts_with("gravity.") || path.starts_with("particles.") ||
                            path.starts_with("output.force_audit_") ||
                            (path.starts_with("time.") && path != "time.step");
  return plasma ? !gravity_only : !plasma_only;
}

namespace {

std::vector<ConfigKey> registered_keys() {
  std::vector<ConfigKey> keys;
  for (const NumberKey& key : registered_number_keys())
    keys.push_back({key.path, key.help,
                    [key](RunConfig& config, const ConfigValue& value) {
                      config.output.more[key.path] = read_real(value, key.path, key.range);
                    },
                    [key](const RunConfig& config) {
                      const auto found = config.output.more.find(key.path);
                      return to_text(found == config.output.more.end() ? key.default_value : found->second);
                    }});
  return keys;
}

}  // namespace

const std::vector<ConfigKey>& config_keys() {
  static const std::vector<ConfigKey> all = [] {
    std::vector<ConfigKey> keys = run_keys();
    for (const auto& group : {gravity_keys(), tree_keys(), mesh_keys(), plasma_keys(), time_keys(), output_keys(),
                              plasma_output_keys(), registered_keys(), units_keys()})
      keys.insert(keys.end(), group.begin(), group.end());
    return keys;
  }();
  return all;
}

}  // namespace pergola
