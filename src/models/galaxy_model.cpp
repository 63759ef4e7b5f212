#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

#include "models/galaxy.hpp"
#include "models/model_entry.hpp"
#include "models/sampling.hpp"

namespace pergola {

namespace {

constexpr std::uint32_t halo_stream = 0, disc_stream = 1, bulge_stream = 2;

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
struct Counts {
  std::int64_t halo = 0, disc = 0, bulge = 0;
};
Counts counts(const ModelInput& input, const GalaxyOptions& o) {
  const double disc = o.disc.mass > 0 ? input.number("disc_fraction") : 0;
  const double bulge = o.bulge_mass > 0 ? input.number("bulge_fraction") : 0;
  const double halo = o.halo_mass > 0 ? std::max(0.0, 1 - disc - bulge) : 0;
  const double all = disc + bulge + halo, n = static_cast<double>(input.n());
  const auto share = [&](double mass, double part) -> std::int64_t {
    return mass > 0 ? std::max<std::int64_t>(1, std::llround(part / all * n)) : 0;
  };
  Counts c{share(o.halo_mass, halo), share(o.disc.mass, disc), share(o.bulge_mass, bulge)};
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
  const Counts n = counts(input, options);
  Particles all;
  append_part(all, input, n.halo, options.halo_mass, species_halo, halo_stream,
              [&](Philox& random) { return galaxy.draw_halo(random); });
  append_part(all, input, n.disc, options.disc.mass, species_disc, disc_stream,
              [&](Philox& random) { return galaxy.disc().draw(random); });
  append_part(all, input, n.bulge, options.bulge_mass, species_bulge, bulge_stream,
              [&](Philox& random) { return galaxy.draw_bulge(random); });
  return all;
}

/// Half of the mean distance between the `count` particles in a volume: Rodionov & Sotnikova 2005, Astronomy Reports
/// 49, 470, found that a softening should be 1.5 to 2 times below the mean distance in the densest region to be
/// resolved, which is here a part's scale radius.
double half_distance(double volume, double count) { return 0.5 * std::cbrt(volume / std::max(1.0, count)); }

std::array<double, species_count> galaxy_softening(const ModelInput& input) {
  const GalaxyOptions o = galaxy_options(input);
  const Galaxy galaxy(o, input.model());
  const Counts n = counts(input, o);
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
  return epsilon;
}

std::vector<Expectation> expect_galaxy(const ModelInput& input) {
  const double noise = 1 / std::sqrt(static_cast<double>(input.n()));
  return {{"virial_ratio", 0.5, std::max(0.05, 2 * noise)}};
}

struct Defaults {
  double halo_mass, halo_scale_radius, halo_concentration, bulge_mass, bulge_scale_radius, disc_mass, disc_scale_length,
      disc_scale_height, toomre_q;
};

ModelEntry entry(const std::string& name, const std::string& summary, const Defaults& d) {
  const auto at_least_0 = Range::at_least(0), above_0 = Range::above(0);
  ModelInfo info{
      name,
      summary,
      100000,
      true,
      {{"halo_profile", std::string("nfw"), "of the halo's density", {}, {"nfw", "hernquist"}},
       {"halo_mass", d.halo_mass, "of the halo; 0: none", at_least_0, {}},
       {"halo_scale_radius", d.halo_scale_radius, "of its profile", above_0, {}},
       {"halo_concentration",
        d.halo_concentration,
        "its radius in scale radii, beyond which it fades (nfw) or ends (hernquist)",
        Range::between(0.1, 1000),
        {}},
       {"halo_truncation", 0.3, "nfw: length over which it fades by e, in its radii", Range::between(0.01, 10), {}},
       {"bulge_mass", d.bulge_mass, "of the bulge, a Hernquist sphere; 0: none", at_least_0, {}},
       {"bulge_scale_radius", d.bulge_scale_radius, "of its profile", above_0, {}},
       {"disc_mass", d.disc_mass, "of the disc; 0: none", at_least_0, {}},
       {"disc_scale_length", d.disc_scale_length, "R over which its surface density falls by e", above_0, {}},
       {"disc_scale_height", d.disc_scale_height, "z0 of its vertical profile sech^2(z/z0)", above_0, {}},
       {"disc_cutoff", 5.0, "its largest radius, in scale lengths", Range::between(0.01, 100), {}},
       {"toomre_q", d.toomre_q, "Toomre's Q of the disc", at_least_0, {}},
       {"toomre_radius", 0.0, "where Q holds, in scale lengths; 0: everywhere", at_least_0, {}},
       {"disc_fraction", 0.4, "part of n in the disc", Range::between(0, 1), {}},
       {"bulge_fraction", 0.1, "part of n in the bulge", Range::between(0, 1), {}}}};
  info.min_n = 3;
  return {info, make_galaxy, expect_galaxy, nullptr, galaxy_softening};
}

}  // namespace

ModelEntry galaxy_model() {
  return entry("galaxy", "a halo, a bulge and an exponential disc in equilibrium in their common field",
               {10, 3, 10, 0.2, 0.2, 1, 1, 0.1, 1.5});
}

ModelEntry m81_model() {
  auto m81 = entry("m81", "the galaxy like M81 of cuda-gadget, section 5.2, in GADGET's units (kpc, 1e10 solar masses)",
                   {100, 18, 10, 2, 0.7, 6, 2.7, 0.3, 1.5});
  m81.info.units = "gadget";
  return m81;
}

}  // namespace pergola
