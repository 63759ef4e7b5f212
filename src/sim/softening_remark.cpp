#include "sim/softening_remark.hpp"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <array>
#include <vector>

#include "base/error.hpp"
#include "base/text.hpp"
#include "gravity/solver_entry.hpp"
#include "io/snapshot.hpp"

namespace pergola {

namespace {

struct Found {
  std::array<bool, species_count> species{};
  std::array<double, species_count> suits{};  // 0: no advice
};

/// The species that a part has; of a model without advice, and of particles that a program gives, none are known.
void look_at(const RunConfig::ParticlesPart& part, Found& found) {
  if (part.file.empty()) {
    if (part.model.empty()) return;
    const auto advice = model_softening(part.model, part.options);
    for (std::size_t s = 0; s < advice.size(); ++s)
      if (advice[s] > 0) found.species[s] = true, found.suits[s] = advice[s];
    return;
  }
  try {
    const auto counts = inspect_snapshot(part.file).counts;
    for (std::size_t s = 0; s < counts.size(); ++s) found.species[s] |= counts[s] > 0;
  } catch (const Error&) {  // a resumed run may no longer have its file
  }
}

}  // namespace

std::string default_softening_remark(const RunConfig& config) {
  if (solver_entry(config.gravity.solver).can.smooths) return {};
  Found found;
  for (const auto& part : config.particles.all()) look_at(part, found);
  const auto& epsilon = config.gravity.softening.epsilon;
  const double by_default = RunConfig{}.gravity.softening.epsilon[0];
  std::vector<std::string> names, advice;
  bool others = false;
  for (std::size_t s = 0; s < epsilon.size(); ++s) {
    if (!found.species[s]) continue;
    others |= epsilon[s] != by_default;
    if (epsilon[s] != by_default) continue;
    names.emplace_back(species_names[s]);
    if (found.suits[s] > 0) advice.push_back(fmt::format("{} = {:.2g}", species_names[s], found.suits[s]));
  }
  if (names.empty() || !(others || config.cosmology || config.unit_system().name != nbody_units().name)) return {};
  return fmt::format("gravity.softening: {} of {} is the default, which knows neither units nor particles; set it{}",
                     to_text(by_default), fmt::join(names, ", "),
                     advice.empty() ? "" : fmt::format(", {{ {} }} suits the model", fmt::join(advice, ", ")));
}

}  // namespace pergola
