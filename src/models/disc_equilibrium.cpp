#include "models/disc_equilibrium.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "physics/exponential_disc.hpp"

namespace pergola {

namespace {

constexpr int table_steps = 2048;
/// Part of a radius over which slopes are taken if there is no formula.
constexpr double slope_step = 1e-4;
/// External fields are averaged over this number of directions in the plane.
constexpr int azimuths = 8;
/// What the thickness takes from the disc's field is known in knots of equal steps in √R, a little beyond the cutoff.
constexpr int loss_knots = 64;
constexpr double loss_reach = 1.1;  // of the cutoff

}  // namespace

DiscEquilibrium::DiscEquilibrium(const DiscOptions& options)
    : options_(options), step_(options.cutoff * options.scale_length / table_steps) {
  const double length = options.scale_length;
  central_density_ =
      options.mass / (2 * std::numbers::pi * length * length * physics::disc_mass_within(options.cutoff));
  const double h = physics::sheet_layer_height(options.scale_height) / length, reach = loss_reach * options.cutoff;
  for (int k = 0; h > 0 && k <= loss_knots; ++k)
    loss_.push_back(physics::thickness_loss(reach * std::max<double>(k * k, 1e-3) / (loss_knots * loss_knots), h));
  if (options.toomre_radius > 0) {
    const double radius = options.toomre_radius * length;
    const double there = physics::toomre_dispersion(options.toomre_q, epicyclic_frequency(radius),
                                                    options.gravitational_constant * surface_density(radius));
    reference_dispersion_ = there * std::exp(options.toomre_radius / 2);
  }
  for (int k = 0; k <= table_steps; ++k) table_.push_back(compute(step_ * std::max<double>(k, 0.001)));
}

/// Where a radius lies between the knots of loss_.
double DiscEquilibrium::loss_place(double radius) const {
  return loss_knots * std::sqrt(radius / (loss_reach * options_.cutoff * options_.scale_length));
}

double DiscEquilibrium::surface_density(double radius) const {
  return central_density_ * std::exp(-radius / options_.scale_length);
}

/// The pull of the external potentials towards the axis, or towards the plane, as a mean over azimuth.
double DiscEquilibrium::external_pull(double radius, double height, bool vertical) const {
  double sum = 0;
  for (int k = 0; k < azimuths; ++k) {
    const double phi = 2 * std::numbers::pi * k / azimuths, c = std::cos(phi), s = std::sin(phi);
    const auto field =
        external_field_at(options_.external, options_.gravitational_constant, {radius * c, radius * s, height});
    sum -= vertical ? field.acceleration.z : field.acceleration.x * c + field.acceleration.y * s;
  }
  return sum / azimuths;
}

namespace {

/// Between knots by the cubic with the knots' central differences as slopes (Catmull & Rom 1974).
struct Interpolated {
  double value, slope;  // per knot
};
template <class Value>
Interpolated interpolate(std::size_t knots, double s, const Value& value) {
  const auto k = std::min(static_cast<std::size_t>(s), knots - 2);
  const double t = s - static_cast<double>(k);
  const auto slope = [&](std::size_t at) {
    const std::size_t before = at > 0 ? at - 1 : 0, after = std::min(at + 1, knots - 1);
    return (value(after) - value(before)) / static_cast<double>(after - before);
  };
  const double a = value(k), b = value(k + 1), da = k > 0 ? slope(k) : 0, db = slope(k + 1);
  const double square = 3 * (b - a) - 2 * da - db, cube = da + db - 2 * (b - a);
  return {a + t * (da + t * (square + t * cube)), da + t * (2 * square + 3 * t * cube)};
}

}  // namespace

DiscEquilibrium::Curve DiscEquilibrium::rotation_curve(double radius) const {
  const double length = options_.scale_length;
  const double unit = std::numbers::pi * options_.gravitational_constant * central_density_ * length;
  const auto own = physics::freeman_curve(radius / length);
  Curve curve{unit * own.speed2, unit * own.slope / length};
  if (!loss_.empty()) {
    const double s = loss_place(radius);
    const auto loss = interpolate(loss_.size(), s, [&](std::size_t k) { return loss_[k].speed2; });
    curve.speed2 -= unit * loss.value;
    curve.slope -= unit * loss.slope * s / (2 * radius);
  }
  if (options_.external.empty()) return curve;
  const auto external_speed2 = [this](double r) { return r * external_pull(r, 0, false); };
  const double h = slope_step * radius;
  curve.speed2 += external_speed2(radius);
  curve.slope += (external_speed2(radius + h) - external_speed2(radius - h)) / (2 * h);
  return curve;
}

double DiscEquilibrium::epicyclic_frequency(double radius) const {
  const Curve curve = rotation_curve(radius);
  return std::sqrt(std::max(0.0, physics::epicyclic_frequency2(radius, curve.speed2, curve.slope)));
}

/// From Toomre's Q at each radius, or falling exponentially from the radius where Q holds.
double DiscEquilibrium::radial_dispersion(double radius) const {
  if (options_.toomre_q == 0) return 0;
  if (options_.toomre_radius > 0) return reference_dispersion_ * std::exp(-radius / (2 * options_.scale_length));
  return physics::toomre_dispersion(options_.toomre_q, epicyclic_frequency(radius),
                                    options_.gravitational_constant * surface_density(radius));
}

DiscEquilibrium::Motion DiscEquilibrium::compute(double radius) const {
  const Curve curve = rotation_curve(radius);
  const double kappa = epicyclic_frequency(radius);
  Motion motion;
  motion.radial = radial_dispersion(radius);
  // σ_φ/σ_R = κ/2Ω. BT eq. 3.100.
  motion.azimuthal = motion.radial * kappa * radius / (2 * std::sqrt(curve.speed2));
  if (motion.radial > 0) {
    const double h = slope_step * radius;
    const double dispersion_slope =
        2 * std::log(radial_dispersion(radius + h) / radial_dispersion(radius - h)) / (2 * slope_step);
    const double log_slope = -radius / options_.scale_length + dispersion_slope;
    motion.mean = std::sqrt(std::max(0.0, physics::mean_rotation2(curve.speed2, motion.radial * motion.radial,
                                                                  motion.azimuthal * motion.azimuthal, log_slope)));
  } else {
    motion.mean = std::sqrt(std::max(0.0, curve.speed2));
  }
  // The virial theorem across the layer: σ_z² = ⟨z dφ/dz⟩.
  if (options_.scale_height > 0) {
    const double rms = std::sqrt(physics::sheet_mean_height2(options_.scale_height));
    const auto loss = interpolate(loss_.size(), loss_place(radius), [&](std::size_t k) { return loss_[k].hold; }).value;
    const double sheet = options_.gravitational_constant * (surface_density(radius) - central_density_ * loss);
    const double own = physics::sheet_dispersion2(sheet, options_.scale_height);
    motion.vertical = std::sqrt(std::max(0.0, own + rms * external_pull(radius, rms, true)));
  }
  return motion;
}

DiscEquilibrium::Motion DiscEquilibrium::motion(double radius) const {
  const double place = std::min(radius / step_, static_cast<double>(table_steps));
  const auto k = std::min(static_cast<std::size_t>(place), static_cast<std::size_t>(table_steps - 1));
  const double t = place - static_cast<double>(k);
  const auto between = [t](double a, double b) { return a + t * (b - a); };
  const Motion &a = table_[k], &b = table_[k + 1];
  return {between(a.mean, b.mean), between(a.radial, b.radial), between(a.azimuthal, b.azimuthal),
          between(a.vertical, b.vertical)};
}

double DiscEquilibrium::mass_within(double radius) const {
  return std::min(
      1.0, physics::disc_mass_within(radius / options_.scale_length) / physics::disc_mass_within(options_.cutoff));
}

/// Radius, azimuth and height by inverting the cumulated mass; velocities as normal numbers about the mean rotation.
PhaseSpacePoint DiscEquilibrium::draw(Philox& random) const {
  const double within = physics::disc_mass_within(options_.cutoff);
  const double radius = options_.scale_length * physics::disc_radius(random.uniform() * within);
  const double phi = 2 * std::numbers::pi * random.uniform(), c = std::cos(phi), s = std::sin(phi);
  const double height = options_.scale_height * physics::sheet_height(random.uniform());
  const Motion here = motion(radius);
  const double outward = here.radial * random_normal(random);
  const double around = here.mean + here.azimuthal * random_normal(random);
  const double up = here.vertical * random_normal(random);
  return {{radius * c, radius * s, height}, {outward * c - around * s, outward * s + around * c, up}};
}

}  // namespace pergola
