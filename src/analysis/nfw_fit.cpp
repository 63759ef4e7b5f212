#include "analysis/nfw_fit.hpp"

#include <cmath>
#include <limits>

#include "physics/halos.hpp"
#include "physics/measures.hpp"

namespace pergola {

namespace {

constexpr double none = std::numeric_limits<double>::quiet_NaN();

struct CountedShell {
  double inner, outer, count;
};

/// For a scale radius: the density that makes the expected number that of all found, and what is left to minimise.
struct Likelihood {
  double density = 0;  // particles per volume
  double cash = 0;
};

Likelihood likelihood_of(const std::vector<CountedShell>& shells, double scale) {
  double unit = 0, count = 0, logs = 0;
  for (const CountedShell& shell : shells) {
    const double part = physics::nfw_shell_mass(scale, shell.inner, shell.outer);
    unit += part, count += shell.count;
    if (shell.count > 0) logs += shell.count * std::log(part);
  }
  const double density = count / unit;
  return {density, count - count * std::log(density) - logs};
}

/// The top of the likelihood between two logarithms: on a grid, then by golden sections. Not a number at an end.
double best_scale(const std::vector<CountedShell>& shells, double low, double high) {
  constexpr int steps = 200, sections = 60;
  const auto cash = [&](double log_scale) { return likelihood_of(shells, std::exp(log_scale)).cash; };
  int best = 0;
  double least = std::numeric_limits<double>::infinity();
  for (int k = 0; k <= steps; ++k)
    if (const double found = cash(low + (high - low) * k / steps); found < least) least = found, best = k;
  if (best == 0 || best == steps) return none;
  constexpr double golden = 0.6180339887498949;
  double a = low + (high - low) * (best - 1) / steps, b = low + (high - low) * (best + 1) / steps;
  for (int k = 0; k < sections; ++k) {
    const double inner = b - golden * (b - a), outer = a + golden * (b - a);
    (cash(inner) < cash(outer) ? b : a) = cash(inner) < cash(outer) ? outer : inner;
  }
  return std::exp((a + b) / 2);
}

}  // namespace

double NfwFit::density(double inner, double outer) const {
  return scale_density * physics::nfw_shell_mass(scale_radius, inner, outer) / physics::shell_volume(inner, outer);
}

NfwFit fit_nfw(const std::vector<ProfileShell>& shells, double to) {
  double mass = 0, mass2 = 0;
  std::vector<CountedShell> counted;
  std::int64_t filled = 0;
  for (std::size_t k = 1; k < shells.size() && shells[k].outer <= to * (1 + 1e-9); ++k) {
    const ProfileShell& shell = shells[k];
    mass += shell.mass;
    mass2 += std::pow(shell.density_error * physics::shell_volume(shell.inner, shell.outer), 2);
    counted.push_back({shell.inner, shell.outer, shell.mass});
    if (shell.mass > 0) ++filled;
  }
  NfwFit fit{none, none, none, static_cast<std::int64_t>(counted.size())};
  if (filled < 3) return fit;
  const double one = mass2 / mass;  // the mass of a particle that counts as much as these
  for (CountedShell& shell : counted) shell.count /= one;
  fit.scale_radius = best_scale(counted, std::log(counted.front().inner / 10), std::log(counted.back().outer * 10));
  if (std::isnan(fit.scale_radius)) return fit;
  const double per_volume = likelihood_of(counted, fit.scale_radius).density;
  fit.scale_density = one * per_volume;
  fit.chi2 = 0;
  for (const CountedShell& shell : counted) {
    const double expected = per_volume * physics::nfw_shell_mass(fit.scale_radius, shell.inner, shell.outer);
    fit.chi2 += (shell.count - expected) * (shell.count - expected) / expected;
  }
  return fit;
}

}  // namespace pergola
