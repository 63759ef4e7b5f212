#include "analysis/expected_halos.hpp"

#include <algorithm>
#include <cmath>

#include "physics/cosmology.hpp"
#include "physics/halos.hpp"
#include "physics/numerics.hpp"

namespace pergola {

ExpectedHalos::ExpectedHalos(const AnalysisUniverse& universe, double mean_density, const physics::LinearPower& power)
    : universe_(universe),
      mean_density_(mean_density),
      power_(power),
      growth_(physics::growth_at(universe.cosmology.background(1), universe.scale_factor).d1) {}

template <class Multiplicity>
double ExpectedHalos::of(double mass, const Multiplicity& multiplicity) const {
  const double unit = universe_.length_mpc_h, radius = unit * physics::lagrangian_radius(mass, mean_density_);
  return physics::halos_per_log_mass(power_, radius, growth_, multiplicity) * unit * unit * unit;
}

double ExpectedHalos::sheth_tormen(double mass) const { return of(mass, physics::sheth_tormen_multiplicity); }

double ExpectedHalos::tinker(double mass) const {
  return of(mass, [z = 1 / universe_.scale_factor - 1](double sigma) {
    return physics::tinker_multiplicity(sigma, std::max(z, 0.0));
  });
}

double ExpectedHalos::tinker_between(double low, double high) const {
  const double length = std::log(high / low);
  const int pieces = std::max(1, static_cast<int>(std::ceil(length)));
  double sum = 0;
  for (int piece = 0; piece < pieces; ++piece)
    sum += physics::gauss_legendre([&](double log_mass) { return tinker(low * std::exp(log_mass)); },
                                   length * piece / pieces, length * (piece + 1) / pieces);
  return sum;
}

}  // namespace pergola
