#include "analysis/plasma_velocities.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "analysis/centers.hpp"
#include "base/error.hpp"
#include "base/text.hpp"

namespace pergola {

AnalysisPlasma chosen_species(AnalysisPlasma plasma, const AnalysisOptions& options) {
  std::erase_if(plasma.species, [](const AnalysisSpecies& species) { return species.weight.empty(); });
  if (plasma.species.empty())
    throw Error(ErrorKind::input, fmt::format("{}: holds no particles, expected at least 1", plasma.name));
  if (options.species == "all") return plasma;
  std::vector<std::string> known;
  for (const auto& species : plasma.species) known.push_back(species.name);
  std::vector<AnalysisSpecies> chosen;
  for (const auto& name : split_names(options.species)) {
    const auto found = std::find(known.begin(), known.end(), name);
    if (found == known.end()) {
      const std::string near = nearest_name(name, known);
      throw Error(ErrorKind::input, fmt::format("{}: --species: expected all or some of {}, found {}{}", plasma.name,
                                                fmt::join(known, ", "), name,
                                                near.empty() ? "" : fmt::format("; did you mean {}?", near)));
    }
    chosen.push_back(plasma.species[static_cast<std::size_t>(found - known.begin())]);
  }
  plasma.species = std::move(chosen);
  return plasma;
}

VelocityMoments velocity_moments(const AnalysisSpecies& species) {
  const auto& weight = species.weight;
  const double all = std::accumulate(weight.begin(), weight.end(), 0.0);
  VelocityMoments moments;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    const auto& v = species.velocity[axis];
    double sum = 0, squares = 0;
    for (std::size_t i = 0; i < v.size(); ++i) sum += weight[i] * v[i];
    const double mean = sum / all;
    for (std::size_t i = 0; i < v.size(); ++i) squares += weight[i] * (v[i] - mean) * (v[i] - mean);
    moments.mean[axis] = mean;
    moments.variance[axis] = squares / all;
  }
  return moments;
}

std::vector<VelocityBin> velocity_bins(const AnalysisSpecies& species, std::size_t axis, double low, double high,
                                       std::int64_t bins) {
  const auto& weight = species.weight;
  const auto& v = species.velocity[axis];
  const double all = std::accumulate(weight.begin(), weight.end(), 0.0);
  const double width = (high - low) / static_cast<double>(bins);
  std::vector<VelocityBin> found(static_cast<std::size_t>(bins));
  for (std::size_t k = 0; k < found.size(); ++k) {
    found[k].low = low + static_cast<double>(k) * width;
    found[k].high = k + 1 == found.size() ? high : low + static_cast<double>(k + 1) * width;
  }
  for (std::size_t i = 0; i < v.size(); ++i) {
    if (!(v[i] >= low && v[i] <= high)) continue;
    const auto place = std::min(static_cast<std::int64_t>((v[i] - low) / width), bins - 1);
    VelocityBin& bin = found[static_cast<std::size_t>(place)];
    ++bin.particles;
    bin.density += weight[i];
    bin.error += weight[i] * weight[i];
  }
  for (VelocityBin& bin : found) {
    bin.density /= all * width;
    bin.error = std::sqrt(bin.error) / (all * width);
  }
  return found;
}

Key<AnalysisOptions> plasma_species_key() {
  Key<AnalysisOptions> key = species_key();
  key.help = "of these species only, by the names in the file, with commas between; or all";
  key.take = [](AnalysisOptions& options, const KeyValue& value) -> std::optional<KeyProblem> {
    const auto* text = std::get_if<std::string>(&value);
    if (!text) return KeyProblem{"names such as electrons,ions", {}};
    options.species = *text;
    return std::nullopt;
  };
  return key;
}

}  // namespace pergola
