#include "models/galaxy.hpp"
#include "base/error.hpp"
#include "base/text.hpp"
#include "models/isotropic_sphere.hpp"
#include "models/model_entry.hpp"
#include "models/sampling.hpp"
#include "physics/exponential_disc.hpp"
#include "physics/spheres.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

// Steps: (1) radii common to all parts, in equal ratios, (2) the mass of each part within them, (3) their sum as the
// field, (4) for halo and bulge the distribution function by Eddington's inversion in this field, (5) for the disc the
// motions with halo and bulge as external potentials, (6) stars of each part from a stream of its own.
// Lengths and masses are in the units of the run. A part with mass 0 is left out.
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

/// `cutoff` in scale radii; the mass asked for lies within it.
Part hernquist_part(const std::vector<double>& radii, double mass, double scale, double cutoff) {
  Part part = make_part(radii, mass, scale, cutoff * scale, [](double r) {
    return SphereDensity{physics::hernquist_density(r), physics::hernquist_log_slope(r)};
  });
  part.field.kind = physics::ExternalKind::hernquist;
  return part;
}

/// Reaches to the last radius: its density fades and has no edge.
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

/// Throws Error(input) that names `option` if the distribution function is negative somewhere.
IsotropicSphere sphere_of(const Part& part, const std::vector<double>& radii, const std::vector<double>& field,
                          double gravitational_constant, const std::string& option) {
  const SphereKnots knots = eddington_sphere(radii, part.law, field, gravitational_constant);
  if (!has_isotropic_velocities(knots))
    throw Error(
        ErrorKind::input,
        option + ": expected a sphere that isotropic velocities can hold in the field of all parts, found none");
  return IsotropicSphere(knots, part.populated);
}

/// Refuses a disc that is larger than the halo's radius, and a galaxy without any part.
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

namespace {

constexpr std::uint32_t galaxy_halo_stream = 0, galaxy_disc_stream = 1, galaxy_bulge_stream = 2;

GalaxyOptions galaxy_options(const ModelInput& input) {
  GalaxyOptions o;
  o.halo_profile = input.word("halo_profile");
  o.halo_mass = input.number("halo_mass");
  o.halo_scale_radius = input.number("halo_scale_radius");
  o.halo_concentration = input.number("halo_concentration");
  o.halo_truncation = input.number("halo_truncation");
  o.bulge_mass = input.number("bulge_mass");
  o.bulge_scale_radius = input.number("bulge_scale_radius");
  o.disc.mass = input.number("disc_mass");
  o.disc.scale_length = input.number("disc_scale_length");
  o.disc.scale_height = input.number("disc_scale_height");
  o.disc.cutoff = input.number("disc_cutoff");
  o.disc.toomre_q = input.number("toomre_q");
  o.disc.toomre_radius = input.number("toomre_radius");
  o.disc.gravitational_constant = input.gravitational_constant();
  return o;
}

/// Particles of halo, disc and bulge: by the fractions asked for among the parts that are there, at least one of each.
struct PartCounts {
  std::int64_t halo = 0, disc = 0, bulge = 0;
};
PartCounts part_counts(const ModelInput& input, const GalaxyOptions& o) {
  const double disc = o.disc.mass > 0 ? input.number("disc_fraction") : 0;
  const double bulge = o.bulge_mass > 0 ? input.number("bulge_fraction") : 0;
  if (o.halo_mass > 0 && disc + bulge >= 1)
    throw Error(ErrorKind::input,
                fmt::format("{}: disc_fraction: expected less than 1 with bulge_fraction, for the halo, found {}",
                            input.model(), to_text(disc + bulge)));
  const double halo = o.halo_mass > 0 ? 1 - disc - bulge : 0;
  const double all = disc + bulge + halo, n = static_cast<double>(input.n());
  const auto share = [&](double mass, double part) -> std::int64_t {
    return mass > 0 ? std::max<std::int64_t>(1, std::llround(part / all * n)) : 0;
  };
  PartCounts c{share(o.halo_mass, halo), share(o.disc.mass, disc), share(o.bulge_mass, bulge)};
  // Rounding is made up in the part that has most.
  const std::int64_t rest = input.n() - c.halo - c.disc - c.bulge;
  (c.halo >= std::max(c.disc, c.bulge) ? c.halo : c.disc >= c.bulge ? c.disc : c.bulge) += rest;
  return c;
}

template <class Draw>
void append_part(Particles& all, const ModelInput& input, std::int64_t n, double mass, std::uint8_t species,
                 std::uint32_t stream, const Draw& draw) {
  if (n == 0) return;
  Particles part = equal_masses(n, mass);
  std::fill(part.species.begin(), part.species.end(), species);
  draw_particles(part, input.seed(), input.threads(), draw, stream);
  centre(part, input.threads());
  for (std::size_t k = 0; k < part.id.size(); ++k) part.id[k] += all.id.size();
  all.append(part);
}

Particles make_galaxy(const ModelInput& input) {
  check_memory(input.n());
  const GalaxyOptions options = galaxy_options(input);
  const Galaxy galaxy(options, input.model());
  const PartCounts n = part_counts(input, options);
  Particles all;
  append_part(all, input, n.halo, options.halo_mass, species_halo, galaxy_halo_stream,
              [&](Philox& random) { return galaxy.draw_halo(random); });
  append_part(all, input, n.disc, options.disc.mass, species_disc, galaxy_disc_stream,
              [&](Philox& random) { return galaxy.disc().draw(random); });
  append_part(all, input, n.bulge, options.bulge_mass, species_bulge, galaxy_bulge_stream,
              [&](Philox& random) { return galaxy.draw_bulge(random); });
  return all;
}

/// Half of the mean distance between the `count` particles in a volume: Rodionov & Sotnikova 2005, Astronomy Reports
/// 49, 470, found that a softening should be 1.5 to 2 times below the mean distance in the densest region to be
/// resolved, which is here a part's scale radius.
double half_distance(double volume, double count) { return 0.5 * std::cbrt(volume / std::max(1.0, count)); }

/// For each part: half the mean distance of its particles within a scale radius (a scale length and height). Of a pair
/// the longer softening counts, so that a disc in a halo of few particles would feel it smeared out: at most a fifth of
/// the disc's scale length.
std::array<double, species_count> galaxy_softening(const ModelInput& input) {
  const GalaxyOptions o = galaxy_options(input);
  const Galaxy galaxy(o, input.model());
  const PartCounts n = part_counts(input, o);
  const auto ball = [](double r) { return 4 * std::numbers::pi / 3 * r * r * r; };
  const double length = o.disc.scale_length;
  std::array<double, species_count> epsilon{};
  if (n.halo > 0)
    epsilon[species_halo] = half_distance(ball(o.halo_scale_radius), galaxy.halo_part() * static_cast<double>(n.halo));
  if (n.bulge > 0)
    epsilon[species_bulge] =
        half_distance(ball(o.bulge_scale_radius), galaxy.bulge_part() * static_cast<double>(n.bulge));
  if (n.disc > 0)
    epsilon[species_disc] = half_distance(std::numbers::pi * length * length * 2 * o.disc.scale_height,
                                          galaxy.disc().mass_within(length) * static_cast<double>(n.disc));
  if (n.disc > 0)
    for (double& each : epsilon) each = std::min(each, 0.2 * length);
  return epsilon;
}

std::vector<Expectation> expect_galaxy(const ModelInput& input) {
  const double noise = 1 / std::sqrt(static_cast<double>(input.n()));
  return {{"virial_ratio", 0.5, std::max(0.05, 2 * noise)}};
}

/// What differs between the models `galaxy` and `m81`.
struct GalaxyDefaults {
  double halo_mass, halo_scale_radius, halo_concentration, bulge_mass, bulge_scale_radius, disc_mass, disc_scale_length,
      disc_scale_height, toomre_q;
};

ModelEntry galaxy_entry(const std::string& name, const std::string& summary, const GalaxyDefaults& d) {
  const auto at_least_0 = Range::at_least(0), above_0 = Range::above(0);
  ModelInfo info{
      name,
      summary,
      100000,
      true,
      {{"halo_profile", std::string("nfw"), "of the halo's density", {}, {"nfw", "hernquist"}},
       {"halo_mass", d.halo_mass, "of the halo; 0: none", at_least_0, {}, false, dimension::mass},
       {"halo_scale_radius", d.halo_scale_radius, "of its profile", above_0, {}, false, dimension::length},
       {"halo_concentration",
        d.halo_concentration,
        "its radius in scale radii, beyond which it fades (nfw) or ends (hernquist)",
        Range::between(0.1, 1000),
        {}},
       {"halo_truncation", 0.3, "nfw: length over which it fades by e, in its radii", Range::between(0.01, 10), {}},
       {"bulge_mass",
        d.bulge_mass,
        "of the bulge, a Hernquist sphere; 0: none",
        at_least_0,
        {},
        false,
        dimension::mass},
       {"bulge_scale_radius", d.bulge_scale_radius, "of its profile", above_0, {}, false, dimension::length},
       {"disc_mass", d.disc_mass, "of the disc; 0: none", at_least_0, {}, false, dimension::mass},
       {"disc_scale_length",
        d.disc_scale_length,
        "R over which its surface density falls by e",
        above_0,
        {},
        false,
        dimension::length},
       {"disc_scale_height",
        d.disc_scale_height,
        "z0 of its vertical profile sech^2(z/z0)",
        above_0,
        {},
        false,
        dimension::length},
       {"disc_cutoff", 5.0, "its largest radius, in scale lengths", Range::between(0.01, 100), {}},
       {"toomre_q", d.toomre_q, "Toomre's Q of the disc", at_least_0, {}},
       {"toomre_radius", 0.0, "where Q holds, in scale lengths; 0: everywhere", at_least_0, {}},
       {"disc_fraction", 0.4, "part of n in the disc", Range::between(0, 1), {}},
       {"bulge_fraction", 0.1, "part of n in the bulge", Range::between(0, 1), {}}}};
  info.min_n = 3;
  for (ModelOption& option : info.options)
    if (option.name == "halo_truncation") option.only_with = OptionValue{"halo_profile", std::string("nfw")};
  return {.info = info, .make = make_galaxy, .expectations = expect_galaxy, .softening = galaxy_softening};
}

}  // namespace

ModelEntry galaxy_model() {
  return galaxy_entry("galaxy", "a halo, a bulge and an exponential disc in equilibrium in their common field",
                      {10, 3, 10, 0.2, 0.2, 1, 1, 0.1, 1.5});
}

ModelEntry m81_model() {
  auto m81 =
      galaxy_entry("m81", "the galaxy like M81 of cuda-gadget, section 5.2, in GADGET's units (kpc, 1e10 solar masses)",
                   {100, 18, 10, 2, 0.7, 6, 2.7, 0.3, 1.5});
  m81.info.units = "gadget";
  return m81;
}

}  // namespace pergola
