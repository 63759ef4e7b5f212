// The list of integrators, the keys that they share, and which combinations with a solver are refused. Nothing here
// compares names of integrators: entries say what they need (jerks, forces on a part) and what they can do.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>
#include <utility>

#include "base/text.hpp"
#include "gravity/solver_entry.hpp"
#include "time/integrator_entry.hpp"

namespace pergola {

namespace {

std::vector<IntegratorEntry>& registry() {
  static std::vector<IntegratorEntry> entries{hermite_entry(), leapfrog_entry()};
  return entries;
}

/// A value as it is shown in a message.
std::string shown(const KeyValue& value) {
  if (const auto* word = std::get_if<std::string>(&value)) return fmt::format("\"{}\"", *word);
  if (const auto* flag = std::get_if<bool>(&value)) return *flag ? "true" : "false";
  if (const auto* integer = std::get_if<std::int64_t>(&value)) return std::to_string(*integer);
  const auto number = number_of(value);
  return number ? to_text(*number) : "an array";
}

/// Options built in C++ are checked as those of a file: each key takes the value that it has.
void check_options(const IntegratorEntry& entry, TimeOptions time) {
  for (const auto& key : entry.keys) {
    if (!key.value) continue;
    const KeyValue value = key.value(time);
    if (const auto problem = key.take(time, value))
      throw Error(ErrorKind::input,
                  fmt::format("time.{}: expected {}, found {}", key.name, problem->expected, shown(value)));
  }
}

/// The first integrator that needs no jerk, to be suggested.
std::string without_jerk(const TimeOptions& time, const SolverOptions& gravity) {
  for (const auto& entry : integrator_entries())
    if (!entry.needs_with(time, gravity).jerk) return entry.name;
  return "";
}

bool has_key(const IntegratorEntry& entry, std::string_view name) {
  return std::any_of(entry.keys.begin(), entry.keys.end(), [&](const auto& key) { return key.name == name; });
}

/// What says how steps are taken; an integrator without such a key takes them in its own way.
constexpr std::array<std::string_view, 3> kinds_of_steps{"step", "steps", "adaptive"};

/// The first of these that has not its default value and that the integrator does not have; null: none.
const Key<TimeOptions>* unused_key(const IntegratorEntry& entry, const TimeOptions& time) {
  for (const auto& other : integrator_entries())
    for (const auto& key : other.keys)
      if (key.value && !has_key(entry, key.name) &&
          std::count(kinds_of_steps.begin(), kinds_of_steps.end(), key.name) > 0 &&
          shown(key.value(time)) != shown(key.value(TimeOptions{})))
        return &key;
  return nullptr;
}

/// The integrator that has a key, to be suggested.
std::string with_key(const std::string& name) {
  for (const auto& entry : integrator_entries())
    if (has_key(entry, name)) return entry.name;
  return "";
}

/// The integrator for an expanding universe, to be suggested.
std::string for_expanding_space() {
  for (const auto& entry : integrator_entries())
    if (entry.expanding_space) return entry.name;
  return "";
}

}  // namespace

const std::vector<IntegratorEntry>& integrator_entries() { return registry(); }

void register_integrator(IntegratorEntry entry) { registry().push_back(std::move(entry)); }

std::vector<std::string> integrator_names() {
  std::vector<std::string> names;
  for (const auto& entry : integrator_entries()) names.push_back(entry.name);
  return names;
}

const IntegratorEntry& integrator_entry(const std::string& name) {
  for (const auto& entry : integrator_entries())
    if (entry.name == name) return entry;
  const auto names = integrator_names();
  const std::string near = nearest_name(name, names);
  throw Error(ErrorKind::input, fmt::format("time.integrator: expected {}, found \"{}\"{}", fmt::join(names, ", "),
                                            name, near.empty() ? "" : fmt::format("; did you mean \"{}\"?", near)));
}

Key<TimeOptions> eta_key() {
  return real_option<TimeOptions>(
      "eta", "accuracy of adaptive and block steps", Range::above(0), [](auto& t) -> auto& { return t.eta; });
}

Key<TimeOptions> step_max_key() {
  return {"step_max", "longest block step, and longest adaptive step of the leapfrog; a power of two",
          [](TimeOptions& time, const KeyValue& value) -> std::optional<KeyProblem> {
            const auto step = number_of(value);
            if (!step || !Range::above(0).contains(*step)) return KeyProblem{Range::above(0).text(), {}};
            int exponent = 0;
            if (std::frexp(*step, &exponent) != 0.5) return KeyProblem{"a power of two such as 0.125", {}};
            time.step_max = *step;
            return std::nullopt;
          },
          [](const TimeOptions& time) -> KeyValue { return time.step_max; }, dimension::time};
}

// In this order: expanding space, jerks, forces on a part, then what the entry itself checks. `needs.because` names the
// key that causes the need, if it is not the integrator itself.
std::optional<Conflict> integrator_conflict(const TimeOptions& time, const SolverOptions& gravity) {
  const IntegratorEntry& entry = integrator_entry(time.integrator);
  const SolverInfo& can = solver_entry(gravity.solver).can;
  const IntegratorNeeds needs = entry.needs_with(time, gravity);
  if (time.background && !entry.expanding_space)
    return Conflict{"time.integrator", fmt::format("{} knows no expanding universe, which [cosmology] asks for; set "
                                                   "time.integrator = \"{}\"",
                                                   entry.name, for_expanding_space())};
  const bool no_jerk = needs.jerk && !can.jerk;
  if (no_jerk && !needs.because.empty())
    return Conflict{needs.because, fmt::format("solver {} gives no jerk, which the step with zero softening needs; set "
                                               "gravity.softening > 0, or give time.step",
                                               gravity.solver)};
  if (no_jerk)
    return Conflict{"time.integrator",
                    fmt::format("{} needs jerks, which the {} solver does not give; set time.integrator = \"{}\"",
                                entry.name, gravity.solver, without_jerk(time, gravity))};
  if (needs.subset && !can.subset)
    return Conflict{needs.because.empty() ? "time.integrator" : needs.because,
                    fmt::format("block steps need forces on a part of the particles, which the {} solver does not "
                                "give; set time.steps = \"shared\"",
                                gravity.solver)};
  return entry.check ? entry.check(time, gravity) : std::nullopt;
}

std::string unused_steps_remark(const TimeOptions& time) {
  const IntegratorEntry& entry = integrator_entry(time.integrator);
  const Key<TimeOptions>* key = unused_key(entry, time);
  if (!key) return "";
  return fmt::format("time.{} = {} has no effect on {}; with time.integrator = \"{}\" it has", key->name,
                     shown(key->value(time)), entry.name, with_key(key->name));
}

// The first entry that the solver and the given keys allow.
std::string default_integrator(const TimeOptions& time, const SolverOptions& gravity, bool expanding) {
  for (const auto& entry : integrator_entries()) {
    const IntegratorNeeds needs = entry.needs_with(time, gravity);
    const SolverInfo& can = solver_entry(gravity.solver).can;
    const bool lacks = (needs.jerk && !can.jerk) || (needs.subset && !can.subset);
    if (lacks && needs.because.empty()) continue;  // otherwise another key needs too much
    if (unused_key(entry, time)) continue;
    if (!expanding || entry.expanding_space) return entry.name;
  }
  return integrator_entries().front().name;
}

std::unique_ptr<Integrator> make_integrator(const TimeOptions& time, const SolverOptions& gravity,
                                            const IntegratorContext& context) {
  const IntegratorEntry& entry = integrator_entry(time.integrator);
  check_options(entry, time);
  if (const auto conflict = integrator_conflict(time, gravity))
    throw Error(ErrorKind::input, fmt::format("{}: {}", conflict->key, conflict->why));
  auto integrator = entry.make(time, gravity, context);
  if (context.communicator->size() > 1 && !integrator->runs_on_ranks())
    throw Error(ErrorKind::input,
                fmt::format("time.integrator: expected one that keeps a rank's own particles (StepDriver), found {} on "
                            "{} ranks; run it on one",
                            entry.name, context.communicator->size()));
  return integrator;
}

}  // namespace pergola
