#include "models/isotropic_sphere.hpp"
#include "physics/spheres.hpp"

#include <algorithm>
#include <cmath>
#include <memory>
#include <numbers>

namespace pergola {

namespace {

double between(double a, double b, double t) { return a + t * (b - a); }

/// dρ/dΨ = −(dρ/dr) r²/(G M).
double density_per_depth(double radius, const SphereDensity& at, double g_mass) {
  return -at.density * at.log_slope * radius / g_mass;
}

}  // namespace

std::vector<double> equal_ratio_radii(double low, double high, double step) {
  const double range = std::log(high / low);
  const auto steps = std::max<std::size_t>(2, static_cast<std::size_t>(std::ceil(range / step)));
  std::vector<double> radii(steps + 1);
  for (std::size_t k = 0; k <= steps; ++k)
    radii[k] = low * std::exp(range * static_cast<double>(k) / static_cast<double>(steps));
  radii[steps] = high;
  return radii;
}

/// Simpson's rule in ln r. Within the first radius the density follows its power law there.
std::vector<double> mass_within(const std::vector<double>& radii, const SphereLaw& law) {
  const auto shell = [&](double r) { return 4 * std::numbers::pi * r * r * r * law(r).density; };  // dM/dlnr
  std::vector<double> mass{shell(radii[0]) / (3 + law(radii[0]).log_slope)};
  for (std::size_t k = 1; k < radii.size(); ++k) {
    const double a = radii[k - 1], b = radii[k];
    mass.push_back(mass.back() + std::log(b / a) / 6 * (shell(a) + 4 * shell(std::sqrt(a * b)) + shell(b)));
  }
  return mass;
}

std::vector<double> potential_depth(const std::vector<double>& radii, const std::vector<double>& mass,
                                    double gravitational_constant) {
  std::vector<double> depth(radii.size());
  depth.back() = gravitational_constant * mass.back() / radii.back();
  for (std::size_t k = radii.size() - 1; k-- > 0;) {  // Simpson's rule in ln r for ∫ G M/r dlnr
    const double a = mass[k] / radii[k], b = mass[k + 1] / radii[k + 1];
    depth[k] =
        depth[k + 1] + gravitational_constant * std::log(radii[k + 1] / radii[k]) / 6 * (a + 4 * std::sqrt(a * b) + b);
  }
  return depth;
}

/// Eddington 1916; Binney & Tremaine 2008, eq. 4.46: f(E) is an integral over dρ/dΨ between the edge and E. Each pair
/// of knots adds its share in closed form. The cost grows as the square of the number of knots.
SphereKnots eddington_sphere(const std::vector<double>& radii, const SphereLaw& law,
                             const std::vector<double>& field_mass, double gravitational_constant) {
  SphereKnots knots{radii, mass_within(radii, law), potential_depth(radii, field_mass, gravitational_constant), {}};
  std::vector<double> slope;
  for (std::size_t k = 0; k < radii.size(); ++k)
    slope.push_back(density_per_depth(radii[k], law(radii[k]), gravitational_constant * field_mass[k]));
  const auto& depth = knots.potential;
  knots.f.assign(radii.size(), 0);
  for (std::size_t k = 0; k + 1 < radii.size(); ++k)
    for (std::size_t j = k; j + 1 < radii.size(); ++j)
      knots.f[k] += physics::eddington_share(depth[k], depth[j + 1], depth[j], slope[j + 1], slope[j]);
  return knots;
}

/// Whether f is nowhere negative, within a thousandth for rounding.
bool has_isotropic_velocities(const SphereKnots& knots) {
  double largest = 0;  // farther out
  for (std::size_t k = knots.size(); k-- > 0;) {
    if (knots.f[k] < -1e-3 * largest) return false;
    largest = std::max(largest, knots.f[k]);
  }
  return true;
}

IsotropicSphere::IsotropicSphere(SphereKnots knots, std::size_t populated)
    : knots_(std::move(knots)), populated_(populated > 0 ? populated : knots_.size()), bound_(knots_.size(), 0) {
  for (double& f : knots_.f) f = std::max(f, 0.0);
  const auto& depth = knots_.potential;
  for (std::size_t k = 0; k < populated_; ++k)
    for (std::size_t j = k; j + 1 < depth.size(); ++j)
      bound_[k] = std::max(bound_[k], 2 * (depth[k] - depth[j + 1]) * std::max(knots_.f[j], knots_.f[j + 1]));
}

/// |W| for G = 1 by the trapezoidal rule over mass: ∫ M/r dM.
double IsotropicSphere::self_energy() const {
  double sum = 0;
  for (std::size_t k = 0; k + 1 < populated_; ++k)
    sum += 0.5 * (knots_.mass[k] / knots_.radius[k] + knots_.mass[k + 1] / knots_.radius[k + 1]) *
           (knots_.mass[k + 1] - knots_.mass[k]);
  return sum;
}

/// f between knots: evenly in the depth.
double IsotropicSphere::distribution(double energy) const {
  const auto& depth = knots_.potential;
  const auto after = std::upper_bound(depth.begin(), depth.end(), energy, std::greater<>());
  if (after == depth.begin()) return knots_.f.front();
  if (after == depth.end()) return 0;
  const auto k = static_cast<std::size_t>(after - depth.begin()) - 1;
  return between(knots_.f[k], knots_.f[k + 1], (depth[k] - energy) / (depth[k] - depth[k + 1]));
}

/// By rejection: v² f(depth − v²/2) below a bound that was found for the knot. Draws until one is accepted.
double IsotropicSphere::draw_speed(Philox& random, double depth, double bound) const {
  const double fastest = std::sqrt(2 * std::max(0.0, depth - knots_.potential.back()));
  if (!(bound > 0)) return 0;
  while (true) {
    const double v = fastest * random.uniform(), height = bound * random.uniform();
    if (height < v * v * distribution(depth - v * v / 2)) return v;
  }
}

/// Within the first knot the mass follows the power law between the first two.
IsotropicSphere::Place IsotropicSphere::place_of(double m) const {
  const auto& mass = knots_.mass;
  const auto last = mass.begin() + static_cast<std::ptrdiff_t>(populated_) - 1;
  const auto after = std::upper_bound(mass.begin(), last, m);
  const auto k = static_cast<std::size_t>(std::max<std::ptrdiff_t>(after - mass.begin(), 1)) - 1;
  const double t = std::log(m / mass[k]) / std::log(mass[k + 1] / mass[k]);
  return {k, t, knots_.radius[k] * std::pow(knots_.radius[k + 1] / knots_.radius[k], t)};
}

double IsotropicSphere::radius_of(double mass) const { return place_of(mass).radius; }

PhaseSpacePoint IsotropicSphere::draw(Philox& random) const {
  const auto [k, t, r] = place_of(random.uniform() * mass());
  const double depth = between(knots_.potential[k], knots_.potential[k + 1], std::max(t, 0.0));
  const Vec3<double> x = r * random_direction(random);
  const Vec3<double> direction = random_direction(random);  // first: compilers differ in the order of factors
  return {x, draw_speed(random, depth, bound_[k]) * direction};
}

/// Scales a sphere in its own units to the mass and the radius of the options.
DrawnModel draw_isotropic_sphere(const ModelInput& input, IsotropicSphere sphere) {
  const double mass = input.number("mass");
  const double half_mass_radius = input.number("half_mass_radius");
  // The virial radius is M²/(2 |W|).
  const double length =
      half_mass_radius > 0 ? half_mass_radius / sphere.radius_of(0.5 * sphere.mass())
                           : input.number("virial_radius") * 2 * sphere.self_energy() / (sphere.mass() * sphere.mass());
  const double speed = std::sqrt(input.gravitational_constant() * mass / (sphere.mass() * length));
  const auto kept = std::make_shared<const IsotropicSphere>(std::move(sphere));
  const auto draw = [=](Philox& random) {
    const PhaseSpacePoint star = kept->draw(random);
    return PhaseSpacePoint{length * star.x, speed * star.v};
  };
  return {input.n(), mass, input.seed(), draw};
}

std::vector<ModelOption> sphere_options(std::vector<ModelOption> own) {
  own.push_back({"mass", 1.0, "total mass", Range::above(0), {}, false, dimension::mass});
  own.push_back({"virial_radius",
                 1.0,
                 "G M^2 / (2 |W|)",
                 Range::above(0),
                 {},
                 false,
                 dimension::length,
                 OptionValue{"half_mass_radius", 0.0}});
  own.push_back(half_mass_radius_option());
  return own;
}

ModelOption half_mass_radius_option() {
  return {"half_mass_radius", 0.0, "in place of virial_radius; 0: that holds", Range::at_least(0), {}, false,
          dimension::length};
}

}  // namespace pergola
