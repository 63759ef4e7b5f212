// The list of all keys, with the keys of [run], [gravity], [time] and [output]; the readers of single values; and the
// configuration as text.
#include "config/keys.hpp"
#include "base/error.hpp"
#include "base/text.hpp"
#include "config/kind.hpp"
#include "gravity/pair_laws.hpp"
#include "gravity/solver_entry.hpp"
#include "time/integrator_entry.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>

namespace pergola {

namespace {

/// cuda:K is the GPU with number K. Whether there is one is asked when it is opened.
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

using SpeciesLengths = std::array<double, species_count>;

/// Species that a table does not name keep their lengths.
void read_lengths(const ConfigValue& value, const std::string& path, SpeciesLengths& lengths) {
  const auto* table = value.get_if<ConfigValue::Table>();
  if (!table) {
    if (!value.get_if<double>() && !value.get_if<std::int64_t>())
      refuse(value, path, "a number >= 0 or a table by species such as { halo = 0.1, disc = 0.05 }");
    lengths.fill(read_real(value, path, Range::at_least(0)));
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
    lengths[static_cast<std::size_t>(species - species_names.begin())] =
        read_real(entry, entry_path, Range::at_least(0));
  }
}

/// One number if all species have the same length.
std::string lengths_text(const SpeciesLengths& lengths) {
  if (std::count(lengths.begin(), lengths.end(), lengths[0]) == std::ssize(lengths)) return to_text(lengths[0]);
  std::vector<std::string> parts;
  for (std::size_t k = 0; k < species_names.size(); ++k)
    parts.push_back(fmt::format("{} = {}", species_names[k], to_text(lengths[k])));
  return fmt::format("{{ {} }}", fmt::join(parts, ", "));
}

/// Lengths by species: a number for all, or a table.
ConfigKey lengths_key(const std::string& path, const std::string& help, SpeciesLengths Softening::*lengths) {
  return {path, help,
          [=](RunConfig& config, const ConfigValue& value) {
            read_lengths(value, path, config.gravity.softening.*lengths);
          },
          [=](const RunConfig& config) { return lengths_text(config.gravity.softening.*lengths); }, dimension::length};
}

/// The words come from the table of pair laws, in the order of SofteningKernel.
ConfigKey softening_kernel_key() {
  const std::string path = "gravity.softening_kernel";
  std::vector<std::string> words, listed;
  for (const PairLawEntry& law : pair_laws()) {
    words.push_back(law.name);
    listed.push_back(law.remark.empty() ? law.name : fmt::format("{} ({})", law.name, law.remark));
  }
  return {path, fmt::format("{}", fmt::join(listed, " | ")),
          [=](RunConfig& config, const ConfigValue& value) {
            const auto found = std::find(words.begin(), words.end(), read_word(value, path, words));
            config.gravity.softening.kernel = static_cast<SofteningKernel>(found - words.begin());
          },
          [](const RunConfig& config) { return toml_string(pair_law(config.gravity.softening.kernel).name); }};
}

/// `version` and [run].
std::vector<ConfigKey> run_keys() {
  return {integer_key(
              "version", "of this format", Range::between(1, 1), [](auto& c) -> auto& { return c.version; }),
          with_dimension(real_key(
                             "run.end_time", "the time at which the run ends; with [cosmology] the scale factor",
                             Range::above(0), [](auto& c) -> auto& { return c.run.end_time; }),
                         dimension::time),
          end_redshift_key(),
          device_key(),
          word_key(
              "run.precision", "auto | single | mixed | double", {"auto", "single", "mixed", "double"},
              [](auto& c) -> auto& { return c.run.precision; }),
          integer_key(
              "run.threads", "CPU threads; 0: all cores", Range::between(0, 65536),
              [](auto& c) -> auto& { return c.run.threads; })};
}

ConfigKey solver_key() {
  return word_key(
      "gravity.solver", fmt::format("{}", fmt::join(solver_names(), " | ")), solver_names(),
      [](auto& c) -> auto& { return c.gravity.solver; });
}

std::vector<ConfigKey> gravity_keys() {
  return {solver_key(),
          lengths_key("gravity.softening", "Plummer-equivalent length; by species: { halo = 0.1, disc = 0.05 }",
                      &Softening::epsilon),
          lengths_key("gravity.softening_max_proper",
                      "with [cosmology], where gravity.softening is comoving: its largest proper value; 0: none; by "
                      "species as that",
                      &Softening::most_proper),
          softening_kernel_key(), external_key()};
}

/// The keys that the parts describe.
std::vector<ConfigKey> solver_keys() {
  std::vector<ConfigKey> keys;
  for (const auto& entry : solver_entries())
    for (const auto& key : entry.keys)
      keys.push_back(config_key(
          fmt::format("gravity.{}.{}", entry.name, key.name), key,
          [](auto& config) -> auto& { return config.gravity; }));
  return keys;
}

/// Keys that several integrators share are listed once, with the help of the first.
std::vector<ConfigKey> time_keys() {
  std::vector<ConfigKey> keys{word_key(
      "time.integrator", fmt::format("{}", fmt::join(integrator_names(), " | ")), integrator_names(),
      [](auto& c) -> auto& { return c.time.integrator; })};
  for (const auto& entry : integrator_entries())
    for (const auto& key : entry.keys) {
      const std::string path = "time." + key.name;
      const auto same = [&](const ConfigKey& other) { return other.path == path; };
      if (std::none_of(keys.begin(), keys.end(), same))
        keys.push_back(config_key(
            path, key, [](auto& config) -> auto& { return config.time; }));
    }
  return keys;
}

/// Keys of [output] that all kinds share, or that runs under gravity have.
std::vector<ConfigKey> output_keys() {
  return {with_dimension(
              real_key(
                  "output.snapshots_every", "time (with [cosmology]: ln a) between snapshots; 0: first and last only",
                  Range::at_least(0), [](auto& c) -> auto& { return c.output.snapshots_every; }),
              dimension::time),
          with_dimension(
              real_key(
                  "output.energy_every",
                  "time between lines of energy.csv, with [cosmology] in ln a and by default 0.25; 0: first and last "
                  "only",
                  Range::at_least(0), [](auto& c) -> auto& { return c.output.energy_every; }),
              dimension::time),
          redshifts_key(),
          analyses_key(),
          integer_key(
              "output.particles_most",
              "particles in a snapshot (of a plasma's: of each species), a sample beyond it; 0: all",
              Range::at_least(0), [](auto& c) -> auto& { return c.output.particles_most; }),
          integer_key(
              "output.files",
              "files of a snapshot: with 4 of them snap_000.0.hdf5 to snap_000.3.hdf5; by several ranks at once",
              Range::between(1, 4096), [](auto& c) -> auto& { return c.output.files; }),
          real_key(
              "output.checkpoint_every_minutes",
              "wall-clock minutes between checkpoints; 0: only when interrupted, and at the end", Range::at_least(0),
              [](auto& c) -> auto& { return c.output.checkpoint_every_minutes; }),
          integer_key(
              "output.checkpoints_kept", "the newest so many; a damaged one falls back to the one before",
              Range::between(1, 1e6), [](auto& c) -> auto& { return c.output.checkpoints_kept; }),
          integer_key(
              "output.force_audit_every", "steps between measurements of the force error (tree, mesh); 0: never",
              Range::at_least(0), [](auto& c) -> auto& { return c.output.force_audit_every; }),
          integer_key(
              "output.force_audit_sample", "particles whose forces are compared with the direct sum",
              Range::at_least(1), [](auto& c) -> auto& { return c.output.force_audit_sample; }),
          integer_key(
              "output.structure_most",
              "particles up to which a box of the universe is compared with theory at its end (P(k), halos); 0: never",
              Range::at_least(0), [](auto& c) -> auto& { return c.output.structure_most; }),
          power_reference_key()};
}

}  // namespace

void refuse(const ConfigValue& value, const std::string& path, const std::string& expected, const std::string& remark) {
  throw Error(ErrorKind::input,
              fmt::format("{}: {}: expected {}, found {}{}", value.where(), path, expected, value.found(), remark));
}

void refuse(const ConfigValue& value, const std::string& path, const KeyProblem& problem) {
  if (!problem.instead.empty())
    throw Error(ErrorKind::input, fmt::format("{}: {}: {} is not taken any more; use {}", value.where(), path,
                                              value.found(), problem.instead));
  const auto* word = value.get_if<std::string>();
  refuse(value, path, problem.expected, word ? did_you_mean(nearest_name(*word, problem.words)) : "");
}

std::string did_you_mean(const std::string& near) {
  return near.empty() ? "" : fmt::format("; did you mean \"{}\"?", near);
}

KeyValue key_value(const ConfigValue& value, const std::string& path) {
  if (const auto* flag = value.get_if<bool>()) return *flag;
  if (const auto* integer = value.get_if<std::int64_t>()) return *integer;
  if (const auto* real = value.get_if<double>()) return *real;
  if (const auto* word = value.get_if<std::string>()) {
    const auto power = word->find('^') != std::string::npos ? parse_count(*word) : std::nullopt;  // 64^3
    if (power) return *power;
    return *word;
  }
  const auto* array = value.get_if<ConfigValue::Array>();
  if (!array) return std::vector<double>{};  // a table or a date: of no kind that a key takes
  std::vector<double> numbers;
  for (const auto& entry : *array) numbers.push_back(read_real(entry, path, Range{}));
  return numbers;
}

/// Reals are written with the digits that lead back to the same bits.
std::string toml_value(const KeyValue& value) {
  if (const auto* flag = std::get_if<bool>(&value)) return *flag ? "true" : "false";
  if (const auto* integer = std::get_if<std::int64_t>(&value)) return std::to_string(*integer);
  if (const auto* real = std::get_if<double>(&value)) return to_text(*real);
  if (const auto* word = std::get_if<std::string>(&value)) return toml_string(*word);
  std::vector<std::string> numbers;
  for (const double number : std::get<std::vector<double>>(value)) numbers.push_back(to_text(number));
  return fmt::format("[{}]", fmt::join(numbers, ", "));
}

const std::string& read_word(const ConfigValue& value, const std::string& path, const std::vector<std::string>& words) {
  const auto* word = value.get_if<std::string>();
  if (!word || std::count(words.begin(), words.end(), *word) == 0)
    refuse(value, path, KeyProblem{fmt::format("{}", fmt::join(words, ", ")), words});
  return *word;
}

/// Integers are taken as reals. NaN and infinities lie in no range.
double read_real(const ConfigValue& value, const std::string& path, const Range& range) {
  double number = std::numeric_limits<double>::quiet_NaN();
  if (const auto* real = value.get_if<double>()) number = *real;
  if (const auto* integer = value.get_if<std::int64_t>()) number = static_cast<double>(*integer);
  if (!range.contains(number)) refuse(value, path, range.text());
  return number;
}

/// Also whole reals such as 1e6, and words such as "64^3".
std::int64_t read_integer(const ConfigValue& value, const std::string& path, const Range& range) {
  if (const auto* integer = value.get_if<std::int64_t>(); integer && range.contains(static_cast<double>(*integer)))
    return *integer;
  constexpr double exact = 9007199254740992.0;  // 2^53: beyond it not every integer is a double
  if (const auto* real = value.get_if<double>();
      real && range.contains(*real) && std::abs(*real) <= exact && std::floor(*real) == *real)
    return static_cast<std::int64_t>(*real);
  if (const auto* word = value.get_if<std::string>())
    if (const auto power = parse_count(*word);
        power && word->find('^') != std::string::npos && range.contains(static_cast<double>(*power)))
      return *power;
  refuse(value, path, range.text("an integer"));
}

/// A number alone: the tolerance if 0 is expected, else the expected value with a tolerance of 5 %.
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

namespace {

/// A function's static variable: it exists before the first registration, in whatever order sources are initialized.
std::vector<NumberKey>& number_keys() {
  static std::vector<NumberKey> all{{"output.radii_every",
                                     "time between lines of lagrangian.csv; 0: none, -1: that of energy.csv",
                                     Range::at_least(-1), -1, dimension::time}};
  return all;
}

/// Their values are in RunConfig::output.more, because RunConfig has no member for them.
std::vector<ConfigKey> registered_keys() {
  std::vector<ConfigKey> keys;
  for (const NumberKey& key : number_keys())
    keys.push_back({key.path, key.help,
                    [key](RunConfig& config, const ConfigValue& value) {
                      config.output.more[key.path] = read_real(value, key.path, key.range);
                    },
                    [key](const RunConfig& config) {
                      const auto found = config.output.more.find(key.path);
                      return to_text(found == config.output.more.end() ? key.default_value : found->second);
                    },
                    key.dimension});
  return keys;
}

}  // namespace

void register_number_key(NumberKey key) { number_keys().push_back(std::move(key)); }

/// Made at the first call: keys must be registered before.
const std::vector<ConfigKey>& config_keys() {
  static const std::vector<ConfigKey> all = [] {
    std::vector<ConfigKey> keys = run_keys();
    for (const auto& group : {parts_keys(), gravity_keys(), solver_keys(), plasma_keys(), cosmology_keys(), time_keys(),
                              output_keys(), plasma_output_keys(), registered_keys(), analysis_keys(), units_keys()})
      keys.insert(keys.end(), group.begin(), group.end());
    return keys;
  }();
  return all;
}

namespace {

/// Both numbers are written, so that the text does not depend on default tolerances.
std::string expect_text(const std::vector<Expectation>& expect) {
  if (expect.empty()) return "";
  std::string text = "\n[expect]\n";
  for (const auto& e : expect)
    text +=
        fmt::format("{} = {{ expected = {}, tolerance = {} }}\n", e.name, to_text(e.expected), to_text(e.tolerance));
  return text;
}

}  // namespace

/// Keys of other kinds of system, and of a universe without [cosmology], are left out. [particles] stands after [run].
std::string config_text(const RunConfig& config) {
  const KindEntry& kind = kind_of(config);
  std::string text, table;
  for (const auto& key : config_keys()) {
    if (!key.text || !has_key(kind, key.path) || key.path.starts_with("particles.")) continue;
    if (is_universe_key(key.path) && !config.cosmology) continue;
    const std::string value = key.text(config);
    if (value.empty()) continue;
    const auto dot = key.path.rfind('.');
    const std::string key_table = dot == std::string::npos ? "" : key.path.substr(0, dot);
    if (key_table != table) {
      if (table == "run" && has_key(kind, "particles.model")) text += particles_text(config);
      text += fmt::format("\n[{}]\n", key_table);
      table = key_table;
    }
    text += config_line(key.path.substr(dot == std::string::npos ? 0 : dot + 1), value, key.comment);
  }
  return text + expect_text(config.expect);
}

}  // namespace pergola
