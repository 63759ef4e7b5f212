#include "models/model.hpp"
#include "base/error.hpp"
#include "base/text.hpp"
#include "comm/shares.hpp"
#include "device/device.hpp"
#include "models/model_entry.hpp"
#include "models/model_source.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <utility>

namespace pergola {

namespace {

/// The registry; models are listed to users in this order.
const std::vector<ModelEntry>& entries() {
  static const std::vector<ModelEntry> all{plummer_model(),      hernquist_model(),   nfw_model(),
                                           king_model(),         cluster_model(),     sphere_model(),
                                           cube_model(),         cosmology_model(),   exponential_disc_model(),
                                           galaxy_model(),       m81_model(),         kepler_model(),
                                           figure_eight_model(), pythagorean_model(), lagrange_triangle_model(),
                                           six_body_model()};
  return all;
}

const ModelEntry& find_entry(const std::string& name) {
  for (const auto& entry : entries())
    if (entry.info.name == name) return entry;
  const std::string near = nearest_name(name, model_names());
  throw Error(ErrorKind::input, fmt::format("model: expected {}, found \"{}\"{}", fmt::join(model_names(), ", "), name,
                                            near.empty() ? "" : fmt::format("; did you mean \"{}\"?", near)));
}

const ModelOption* find_option(const ModelInfo& model, const std::string& name) {
  for (const auto& option : model.options)
    if (option.name == name) return &option;
  return nullptr;
}

std::string found_text(const ModelValue& value) {
  if (const auto* number = std::get_if<double>(&value)) return to_text(*number);
  if (const auto* flag = std::get_if<bool>(&value)) return *flag ? "true" : "false";
  return fmt::format("\"{}\"", std::get<std::string>(value));
}

/// As ModelInput::value().
const ModelValue& value_of(const ModelInfo& model, const ModelOptions& options, const std::string& name) {
  const auto given = options.values.find(name);
  return given != options.values.end() ? given->second : find_option(model, name)->default_value;
}

/// Throws Error(input) for a count or an option that the model does not take.
void check(const ModelInfo& model, const ModelOptions& options) {
  const std::string count = count_problem(model, options.n);
  if (!count.empty()) throw Error(ErrorKind::input, fmt::format("{}: n: {}", model.name, count));
  for (const auto& [name, value] : options.values) {
    const std::string problem = option_problem(model, name, value);
    if (!problem.empty()) throw Error(ErrorKind::input, fmt::format("{}: {}: {}", model.name, name, problem));
  }
  if (const auto conflict = options_conflict(model, options))
    throw Error(ErrorKind::input, fmt::format("{}: {}: {}", model.name, conflict->key, conflict->why));
}

const ModelEntry& checked_entry(const std::string& name, const ModelOptions& options) {
  const ModelEntry& entry = find_entry(name);
  check(entry.info, options);
  return entry;
}

/// What a model's entry says of these options; a default value if it says nothing.
template <class Answer>
Answer ask(Answer (*ModelEntry::*question)(const ModelInput&), const std::string& name, const ModelOptions& options) {
  const ModelEntry& entry = checked_entry(name, options);
  return entry.*question ? (entry.*question)(ModelInput(entry.info, options, 1)) : Answer{};
}

Particles make_all(const ModelEntry& entry, const ModelInput& input) {
  return entry.make ? entry.make(input) : make_drawn(*entry.drawn(input), input.threads());
}

/// A model that ranks make together, or each of them all of it.
class SharedModel final : public DeviceSource {
 public:
  SharedModel(const ModelEntry& entry, ModelOptions options, int threads)
      : entry_(entry), options_(std::move(options)), threads_(threads) {}
  std::int64_t count() const override { return input().n(); }
  std::string name() const override { return "model"; }
  double box_side() const override { return entry_.box_side ? entry_.box_side(input()) : 0; }
  double total_mass() const override { return entry_.total_mass(input()); }
  void make_shares(const std::shared_ptr<Communicator>& ranks) override {
    if (made_) return;
    first_ = Shares{count(), ranks->size()}.first(ranks->rank());
    made_.emplace(entry_.share(input(), ranks), name());
  }
  void let_go() override { made_.reset(), first_ = 0; }
  void read(std::int64_t first, std::int64_t n, Particles& to) override {
    if (!made_) made_.emplace(make_all(entry_, input()), name());
    if (first < first_ || first + n > first_ + made_->count())
      throw Error(ErrorKind::input,
                  fmt::format("{}: expected particles from {} to {}, this rank's share, found {} to {}",
                              entry_.info.name, first_, first_ + made_->count(), first, first + n));
    made_->read(first - first_, n, to);
  }

 private:
  ModelInput input() const { return {entry_.info, options_, threads_}; }

  const ModelEntry& entry_;
  ModelOptions options_;
  int threads_;
  std::optional<KeptParticles> made_;
  std::int64_t first_ = 0;  // of what was made
};

int threads_or_all(int threads) { return threads > 0 ? threads : available_cores(); }

/// Null if particles are not drawn one by one.
std::unique_ptr<DeviceSource> drawn_source(const ModelEntry& entry, const ModelOptions& options, int threads) {
  auto drawn = entry.drawn ? entry.drawn(ModelInput(entry.info, options, threads)) : std::nullopt;
  return drawn ? std::make_unique<DrawnSource>(std::move(*drawn), threads) : nullptr;
}

}  // namespace

const std::vector<ModelInfo>& models() {
  static const std::vector<ModelInfo> all = [] {
    std::vector<ModelInfo> infos;
    for (const auto& entry : entries()) infos.push_back(entry.info);
    return infos;
  }();
  return all;
}

std::vector<std::string> model_names() {
  std::vector<std::string> names;
  for (const auto& entry : entries()) names.push_back(entry.info.name);
  return names;
}

const ModelInfo& find_model(const std::string& name) { return find_entry(name).info; }

/// In this order: the name, the kind of value, its range, its choices. Empty: no problem.
std::string option_problem(const ModelInfo& model, const std::string& name, const ModelValue& value) {
  const ModelOption* option = find_option(model, name);
  if (!option) {
    std::vector<std::string> names;
    for (const auto& known : model.options) names.push_back(known.name);
    const std::string near = nearest_name(name, names);
    if (names.empty()) return fmt::format("unknown option, expected none: {} has no options", model.name);
    return fmt::format("unknown option of {}, expected {}{}", model.name, fmt::join(names, ", "),
                       near.empty() ? "" : fmt::format("; did you mean {}?", near));
  }
  if (option->default_value.index() != value.index()) {
    static const char* const kinds[] = {"true or false", "a number", "a word"};
    return fmt::format("expected {}, found {}", kinds[option->default_value.index()], found_text(value));
  }
  if (const auto* number = std::get_if<double>(&value); number && !option->range.contains(*number))
    return fmt::format("expected {}, found {}", option->range.text(), found_text(value));
  if (const auto* word = std::get_if<std::string>(&value);
      word && !option->choices.empty() && !option->or_file &&
      std::count(option->choices.begin(), option->choices.end(), *word) == 0)
    return fmt::format("expected {}, found \"{}\"", fmt::join(option->choices, ", "), *word);
  return "";
}

/// 0 means the model's default count and is always right.
std::string count_problem(const ModelInfo& model, std::int64_t n) {
  if (n < 0) return fmt::format("expected an integer >= 1, found {}", n);
  if (!model.any_n && n != 0 && n != model.default_n)
    return fmt::format("expected {}, the number of bodies of {}, found {}", model.default_n, model.name, n);
  if (model.any_n && n != 0 && n < model.min_n)
    return fmt::format("expected at least {}, one for each part of {}, found {}", model.min_n, model.name, n);
  if (const auto side = std::llround(std::cbrt(static_cast<double>(n))); model.cube && side * side * side != n)
    return fmt::format("expected the cube of a whole number such as {}^3, found {}", side, n);
  return "";
}

/// A default that is stated is no change: configurations state all of them.
std::optional<Conflict> options_conflict(const ModelInfo& model, const ModelOptions& options) {
  for (const ModelOption& option : model.options) {
    if (!option.only_with) continue;
    const auto& [other, value] = *option.only_with;
    const std::string needed = found_text(value), found = found_text(value_of(model, options, other));
    if (found == needed || found_text(value_of(model, options, option.name)) == found_text(option.default_value))
      continue;
    return Conflict{option.name, fmt::format("expected {} = {} beside it, found {}", other, needed, found)};
  }
  return std::nullopt;
}

std::int64_t model_count(const ModelInfo& model, std::int64_t n) { return n == 0 ? model.default_n : n; }

ModelInput::ModelInput(const ModelInfo& model, const ModelOptions& options, int threads)
    : model_(model), options_(options), n_(model_count(model, options.n)), threads_(threads) {}

ModelValue option_default(const ModelInfo& model, const ModelOption& option, const UnitSystem& units) {
  const auto* number = std::get_if<double>(&option.default_value);
  const Dimension& of = option.dimension;
  const std::string nbody = nbody_units().name;
  if (!number || of == dimension::none || model.own_units || model.units == nbody || units.name == nbody)
    return option.default_value;
  const UnitSystem& own = *find_unit_system(model.units);
  if (same_units(own, units)) return option.default_value;
  const double length = own.length_cm / units.length_cm, speed = own.velocity_cm_per_s / units.velocity_cm_per_s;
  return *number * std::pow(length, of.length + of.time) * std::pow(own.mass_g / units.mass_g, of.mass) *
         std::pow(speed, -of.time);
}

double ModelInput::number(const std::string& option) const {
  if (options_.values.contains(option)) return std::get<double>(value(option));
  return std::get<double>(option_default(model_, *find_option(model_, option), units()));
}

/// The value given, else the default. The option must exist.
const ModelValue& ModelInput::value(const std::string& name) const { return value_of(model_, options_, name); }

double equilibrium_energy(const ModelInput& input) {
  const double mass = input.number("mass");
  return -input.gravitational_constant() * mass * mass / (4 * input.number("virial_radius"));
}

/// Tolerances follow from the noise of n drawn stars, with a floor of a few percent. The energy is that of the virial
/// radius, if this is given.
std::vector<Expectation> equilibrium_expectations(const ModelInput& input) {
  const double noise = 1 / std::sqrt(static_cast<double>(input.n()));
  std::vector<Expectation> expected{{"virial_ratio", 0.5, std::max(0.05, 2 * noise)}};
  if (input.number("half_mass_radius") > 0) return expected;
  const double energy = equilibrium_energy(input);
  expected.push_back({"energy", energy, std::max(0.02, 4 * noise) * std::abs(energy)});
  return expected;
}

Particles make_model(const std::string& name, const ModelOptions& options, int threads) {
  const ModelEntry& entry = checked_entry(name, options);
  return make_all(entry, ModelInput(entry.info, options, threads > 0 ? threads : Device::open("cpu").threads()));
}

/// In pieces if particles are drawn one by one, else all at once in memory.
std::unique_ptr<ParticleSource> make_model_source(const std::string& name, const ModelOptions& options, int threads) {
  const ModelEntry& entry = checked_entry(name, options);
  const int used = threads_or_all(threads);
  if (auto drawn = drawn_source(entry, options, used)) return drawn;
  return std::make_unique<KeptParticles>(make_all(entry, ModelInput(entry.info, options, used)), "model");
}

std::unique_ptr<DeviceSource> make_model_on(const Device& device, const std::string& name,
                                            const ModelOptions& options) {
  const ModelEntry& entry = checked_entry(name, options);
  return entry.on_device ? entry.on_device(ModelInput(entry.info, options, 1), device) : nullptr;
}

/// Null: ranks cannot share this model.
std::unique_ptr<DeviceSource> make_shared_model(const std::string& name, const ModelOptions& options, int threads) {
  const ModelEntry& entry = checked_entry(name, options);
  const int used = threads_or_all(threads);
  if (entry.share) return std::make_unique<SharedModel>(entry, options, used);
  return drawn_source(entry, options, used);
}

bool can_be_made_in_pieces(const std::string& name) { return find_entry(name).drawn != nullptr; }

bool scale_model_box(const std::string& name, ModelOptions& options, double factor) {
  const ModelEntry& entry = checked_entry(name, options);
  if (!entry.side_option) return false;
  options.values[entry.side_option] = factor * entry.box_side(ModelInput(entry.info, options, 1));
  return true;
}

double model_box_side(const std::string& name, const ModelOptions& options) {
  return ask(&ModelEntry::box_side, name, options);
}

std::array<double, species_count> model_softening(const std::string& name, const ModelOptions& options) {
  return ask(&ModelEntry::softening, name, options);
}

std::optional<CosmologicalStart> model_cosmology(const std::string& name, const ModelOptions& options) {
  return ask(&ModelEntry::cosmology, name, options);
}

std::string model_remark(const std::string& name, const ModelOptions& options) {
  return ask(&ModelEntry::remark, name, options);
}

std::string curvature_remark(const physics::Cosmology& universe) {
  constexpr double nearly_flat = 0.01;
  const double curvature = universe.background(1).omega_curvature();
  if (std::abs(curvature) <= nearly_flat) return "";
  return fmt::format(
      "cosmology: omega_matter = {}, omega_lambda = {} and omega_radiation = {} leave {:.3g} to curvature, with which "
      "the universe expands and structure grows; a flat one has omega_lambda = {:.6g}",
      to_text(universe.omega_matter), to_text(universe.omega_lambda), to_text(universe.omega_radiation), curvature,
      universe.omega_lambda + curvature);
}

std::string default_mass_remark(const std::string& name, const ModelOptions& options) {
  constexpr double least_in_suns = 0.01;
  const ModelInfo& model = checked_entry(name, options).info;
  const ModelOption* option = find_option(model, "mass");
  if (!option || options.units.name == nbody_units().name) return "";
  const double mass = ModelInput(model, options, 1).number("mass"),
               by_default = std::get<double>(option->default_value);
  const auto n = model_count(model, options.n);
  const double each = mass * options.units.mass_g / (solar_mass_kg * 1e3) / static_cast<double>(n);
  if (mass != by_default || mass == 0 || each >= least_in_suns) return "";
  return fmt::format(
      "{}: mass is {}, its default, which leaves {:.2g} solar masses to each of {} particles; state it, "
      "\"{} Msun\" for example",
      name, to_text(mass), each, n, n);
}

int model_lattice(const std::string& name, const ModelOptions& options) {
  return ask(&ModelEntry::lattice, name, options);
}

std::optional<ModelWaves> model_waves(const std::string& name, const ModelOptions& options) {
  return ask(&ModelEntry::waves, name, options);
}

/// External potentials change energy and virial ratio, so that nothing is expected then.
std::vector<Expectation> model_expectations(const std::string& name, const ModelOptions& options) {
  if (options.external.empty()) return ask(&ModelEntry::expectations, name, options);
  checked_entry(name, options);
  return {};
}

}  // namespace pergola
