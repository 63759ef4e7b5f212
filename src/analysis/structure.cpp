#include "analysis/structure.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "analysis/groups.hpp"
#include "analysis/spread_groups.hpp"
#include "comm/agreement.hpp"
#include "physics/power_spectrum.hpp"
#include "physics/resolution.hpp"

// Tolerances say what theory leaves out: the scatter of few waves, the weak pull of short waves, the next order of
// perturbation theory, coupling of waves, and noise. They are stated beside each comparison.
namespace pergola {

PowerRatio power_ratio(const PowerSpectrum& spectrum, const std::function<double(double k)>& expected, double k_low,
                       double k_high, bool fixed) {
  constexpr double trusted = 0.01;
  PowerRatio ratio;
  double weights = 0;
  for (const PowerBin& bin : spectrum.bins) {
    if (bin.k < k_low || bin.k > k_high) continue;
    const double scatter = fixed ? 0 : physics::power_error(1, static_cast<double>(bin.modes));
    const double weight = 1 / (scatter * scatter + trusted * trusted);
    ratio.mean += weight * bin.power / expected(bin.k);
    weights += weight;
    ratio.k_high = bin.k;
    ++ratio.shells;
  }
  if (ratio.shells == 0) return ratio;
  ratio.mean /= weights;
  ratio.error = 1 / std::sqrt(weights);
  return ratio;
}

GrownPower grown_power(const PowerSpectrum& start, const PowerSpectrum& end, double growth, double k_trusted,
                       double noise) {
  constexpr double trusted = 0.01, weak_pull = 0.01, sigmas = 3;
  const std::vector<PowerBin>& bins = start.bins;
  const auto linear = [&](std::size_t i) { return physics::power_per_log(bins[i].k, growth * growth * bins[i].power); };
  GrownPower best;
  double modes = 0, before = 0, after = 0;
  for (std::size_t i = 0; i < bins.size(); ++i) {
    if (i == 0) best.first_power_per_log = linear(0);
    if (bins[i].k > k_trusted || linear(i) > physics::linear_power_per_log) break;
    const auto in_shell = static_cast<double>(bins[i].modes);
    modes += in_shell;
    before += in_shell * bins[i].power;
    after += in_shell * end.bins.at(i).power;
    std::size_t half = i;  // the shell of half the length
    while (half + 1 < bins.size() && bins[half].k < 2 * bins[i].k) ++half;
    const double weak = weak_pull * std::pow(bins[i].k / k_trusted, 2);
    const double tolerance = trusted + physics::power_lost_to_weak_pull(weak, growth) +
                             physics::next_order_part * linear(i) +
                             sigmas * physics::coupling_scatter(linear(half), modes) + noise * modes / before;
    if (best.shells > 0 && tolerance >= best.tolerance) continue;
    best.shells = static_cast<int>(i) + 1;
    best.tolerance = tolerance;
    best.ratio = after / (growth * growth * before);
  }
  return best;
}

double most_white_noise(const PowerSpectrum& spectrum) {
  double least = spectrum.shot_noise;
  for (const PowerBin& bin : spectrum.bins) least = std::min(least, bin.power);
  return least;
}

double HaloCount::tolerance() const { return 3 * std::sqrt(expected) + 0.2 * expected; }

std::vector<HaloCount> halo_counts(AnalysisSnapshot box, const ExpectedHalos& theory, double least,
                                   const Device& device, const std::function<void(const std::string& part)>& begins,
                                   const std::shared_ptr<Communicator>& ranks) {
  constexpr double linking = 0.2, heaviest = 1e6, fewest = 10;
  const double half_decade = std::sqrt(10.0), volume = box.box.volume();
  std::int64_t particles = box.particles.size();
  ranks->all_reduce(&particles, 1, Reduction::sum);
  const double each =
      halo_densities(box, device.threads(), *ranks).mean / halo_overdensity * volume / static_cast<double>(particles);
  std::vector<HaloCount> counts;
  for (double low = least * each; low < heaviest * each; low *= half_decade) {
    HaloCount count{std::round(low / each), low, low * half_decade, 0, 0};
    count.expected = volume * theory.tinker_between(count.low, count.high);
    if (count.expected < fewest) break;
    counts.push_back(count);
  }
  if (counts.empty()) return counts;
  HaloCount& last = counts.back();
  last.high = heaviest * each;
  last.expected = volume * theory.tinker_between(last.low, last.high);

  // A sphere may hold up to twice the mass of its group, so smaller groups count too.
  AnalysisOptions options;
  options.linking = linking;
  options.least = static_cast<std::int64_t>(std::max(20.0, least / 2));
  const auto say = [&](const std::string& part) {
    on_root(*ranks, [&] {
      if (begins) begins(part);
    });
  };
  say(fmt::format("groups of friends among {} particles", particles));
  const auto say_groups = [&](std::int64_t groups) {
    say(fmt::format("spheres of 200 mean densities about {} groups", groups));
  };
  std::vector<GroupProperties> groups;
  if (ranks->size() > 1) {
    DistributedGroups found(ranks, std::move(box), options, device);
    say_groups(found.count());
    groups = found.properties(0, found.count());
  } else {
    const FoundGroups found(box, options, device);
    say_groups(found.count());
    groups = found.properties(box, 0, found.count());
  }
  for (const GroupProperties& group : groups)
    for (HaloCount& count : counts)
      if (group.m200m >= count.low && group.m200m < count.high) ++count.found;
  return counts;
}

}  // namespace pergola
