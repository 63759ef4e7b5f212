#include "models/galaxy.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "base/error.hpp"
#include "base/text.hpp"
#include "models/nfw.hpp"
#include "physics/exponential_disc.hpp"
#include "physics/spheres.hpp"

namespace pergola {

namespace {

constexpr double bulge_cutoff = 50;  // in scale radii

/// A spherical part: its law with the mass asked for within the knot `populated` − 1, and the same as an external
/// potential, which it is as far as the disc reaches.
struct Part {
  SphereLaw law;
  std::size_t populated = 0;
  std::vector<double> mass;  // within each knot, of the part as it is drawn
  ExternalPotential field;
};

/// The first knot at or beyond a radius, counted from one.
std::size_t knots_up_to(const std::vector<double>& radii, double radius) {
  const auto at = std::lower_bound(radii.begin(), radii.end(), radius * (1 - 1e-12));
  return std::min(static_cast<std::size_t>(at - radii.begin()) + 1, radii.size());
}

/// `unit` is the law for lengths in `scale` and any mass.
Part make_part(const std::vector<double>& radii, double mass, double scale, double cutoff, const SphereLaw& unit) {
  Part part;
  part.populated = knots_up_to(radii, cutoff);
  const SphereLaw stretched = [=](double r) { return unit(r / scale); };
  part.mass = mass_within(radii, stretched);
  const double factor = mass / part.mass[part.populated - 1];
  for (double& m : part.mass) m = std::min(factor * m, mass);
  part.law = [=](double r) {
    const SphereDensity at = stretched(r);
    return SphereDensity{factor * at.density, at.log_slope};
  };
  part.field.radius = scale;
  part.field.mass = factor * scale * scale * scale;  // times that of the unit law, which the caller knows
  return part;
}

Part hernquist_part(const std::vector<double>& radii, double mass, double scale, double cutoff) {
  Part part = make_part(radii, mass, scale, cutoff * scale, [](double r) {
    return SphereDensity{physics::hernquist_density(r), physics::hernquist_log_slope(r)};
  });
  part.field.kind = physics::ExternalKind::hernquist;
  return part;
}

Part nfw_part(const std::vector<double>& radii, double mass, double scale, const physics::TruncatedNfw<double>& halo) {
  Part part = make_part(radii, mass, scale, radii.back(), [=](double r) {
    return SphereDensity{halo.density(r), halo.log_slope(r)};
  });
  part.field.kind = physics::ExternalKind::nfw;
  return part;
}

Part make_halo(const std::vector<double>& radii, const GalaxyOptions& o,
               const physics::TruncatedNfw<double>& truncated) {
  if (o.halo_profile == "nfw") return nfw_part(radii, o.halo_mass, o.halo_scale_radius, truncated);
  return hernquist_part(radii, o.halo_mass, o.halo_scale_radius, o.halo_concentration);
}

IsotropicSphere sphere_of(const Part& part, const std::vector<double>& radii, const std::vector<double>& field,
                          double gravitational_constant, const std::string& option) {
  const SphereKnots knots = eddington_sphere(radii, part.law, field, gravitational_constant);
  if (!has_isotropic_velocities(knots))
    throw Error(
        ErrorKind::input,
        option + ": expected a sphere that isotropic velocities can hold in the field of all parts, found none");
  return IsotropicSphere(knots, part.populated);
}

void check_reach(const GalaxyOptions& o, const std::string& model) {
  const double reach = o.disc.cutoff * o.disc.scale_length, radius = o.halo_concentration * o.halo_scale_radius;
  if (o.disc.mass > 0 && o.halo_mass > 0 && reach > radius)
    throw Error(ErrorKind::input,
                fmt::format("{}: disc_cutoff: expected a disc within the radius of the halo, {}, found {}", model,
                            to_text(radius), to_text(reach)));
  if (!(o.disc.mass > 0 || o.halo_mass > 0 || o.bulge_mass > 0))
    throw Error(ErrorKind::input, fmt::format("{}: disc_mass: expected a part with a mass > 0, found none", model));
}

/// Radii for all parts: from deep inside the smallest length to where nothing is left.
std::vector<double> common_radii(const GalaxyOptions& o, const physics::TruncatedNfw<double>& truncated) {
  double low = o.disc.scale_length, high = o.disc.cutoff * o.disc.scale_length;
  if (o.halo_mass > 0) {
    const double edge = o.halo_profile == "nfw" ? nfw_edge(truncated) : 100 * o.halo_concentration;
    low = std::min(low, o.halo_scale_radius);
    high = std::max(high, o.halo_scale_radius * edge);
  }
  if (o.bulge_mass > 0) {
    low = std::min(low, o.bulge_scale_radius);
    high = std::max(high, 20 * bulge_cutoff * o.bulge_scale_radius);
  }
  return equal_ratio_radii(1e-5 * low, high);
}

/// The disc's mass within spheres.
std::vector<double> disc_mass(const std::vector<double>& radii, const DiscOptions& disc) {
  const double all = physics::disc_mass_within(disc.cutoff), height = disc.scale_height / disc.scale_length;
  std::vector<double> mass;
  for (const double r : radii)
    mass.push_back(disc.mass * std::min(1.0, physics::disc_mass_within_sphere(r / disc.scale_length, height) / all));
  return mass;
}

}  // namespace

Galaxy::Galaxy(const GalaxyOptions& options, const std::string& model) {
  check_reach(options, model);
  const physics::TruncatedNfw<double> truncated{options.halo_concentration,
                                                options.halo_truncation * options.halo_concentration};
  const auto radii = common_radii(options, truncated);
  std::vector<double> field(radii.size(), 0);
  const auto add = [&](const std::vector<double>& mass) {
    for (std::size_t k = 0; k < field.size(); ++k) field[k] += mass[k];
  };
  DiscOptions disc = options.disc;
  std::optional<Part> halo, bulge;
  if (options.halo_mass > 0) halo = make_halo(radii, options, truncated);
  if (options.bulge_mass > 0)
    bulge = hernquist_part(radii, options.bulge_mass, options.bulge_scale_radius, bulge_cutoff);
  for (const auto& part : {halo, bulge}) {
    if (!part) continue;
    add(part->mass);
    disc.external.push_back(part->field);
  }
  if (disc.mass > 0) add(disc_mass(radii, disc));
  const double g = disc.gravitational_constant;
  if (halo) {
    halo_ = sphere_of(*halo, radii, field, g, model + ": halo_truncation");
    halo_part_ = halo->mass[knots_up_to(radii, options.halo_scale_radius) - 1] / options.halo_mass;
  }
  if (bulge) {
    bulge_ = sphere_of(*bulge, radii, field, g, model + ": bulge_scale_radius");
    bulge_part_ = bulge->mass[knots_up_to(radii, options.bulge_scale_radius) - 1] / options.bulge_mass;
  }
  if (disc.mass > 0) disc_.emplace(disc);
}

}  // namespace pergola
