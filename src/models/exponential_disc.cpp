#include "physics/exponential_disc.hpp"
#include "base/error.hpp"
#include "base/text.hpp"
#include "models/disc_equilibrium.hpp"
#include "models/model_entry.hpp"
#include "models/sampling.hpp"
#include "physics/kepler.hpp"
#include "physics/spheres.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <numbers>

// The model `exponential-disc`: a disc in its own field and the run's external potentials, and on request a Plummer
// sphere that passes it. The disc turns about +z in the sense from +x to +y. Disc and satellite have random streams of
// their own, so that the disc's stars do not depend on the satellite's.
// Without external potentials the whole is centred; with them the disc stays at the potentials' origin.
namespace pergola {

namespace {

constexpr std::uint32_t disc_stream = 0, satellite_stream = 1;
constexpr double satellite_cutoff = 5;  // in its scale radii

DiscOptions disc_options(const ModelInput& input) {
  DiscOptions options;
  options.mass = input.number("mass");
  options.scale_length = input.number("scale_length");
  options.scale_height = input.number("scale_height");
  options.cutoff = input.number("cutoff");
  options.toomre_q = input.number("toomre_q");
  options.toomre_radius = input.number("toomre_radius");
  options.gravitational_constant = input.gravitational_constant();
  options.external = input.external();
  return options;
}

/// n stars of equal mass, centred. Motions come from DiscEquilibrium.
Particles make_disc(const ModelInput& input, std::int64_t n) {
  const DiscEquilibrium equilibrium(disc_options(input));
  Particles disc = equal_masses(n, input.number("mass"));
  std::fill(disc.species.begin(), disc.species.end(), species_disc);
  draw_particles(
      disc, input.seed(), input.threads(), [&](Philox& random) { return equilibrium.draw(random); }, disc_stream);
  centre(disc, input.threads());
  return disc;
}

/// Where the satellite starts and how fast: on the Kepler orbit about the mass that lies within the starting distance.
PhaseSpacePoint satellite_start(const ModelInput& input) {
  const double g = input.gravitational_constant(), distance = input.number("satellite_distance");
  const double pericentre = input.number("satellite_pericentre"), e = input.number("satellite_eccentricity");
  const Vec3<double> place{distance, 0, 0};
  const double pull = -external_field_at(input.external(), g, place).acceleration.x;
  const double mu = g * (input.number("mass") + input.number("satellite_mass")) + pull * distance * distance;
  const double speed = physics::vis_viva_speed(mu, distance, (1 - e) / pericentre);
  const double across = physics::kepler_transverse_speed(mu, pericentre, e, distance);
  const double inward2 = speed * speed - across * across;
  if (!(inward2 >= -1e-12 * speed * speed))
    throw Error(ErrorKind::input,
                fmt::format("exponential-disc: satellite_distance: expected a distance on the orbit with pericentre {} "
                            "and eccentricity {}, found {}",
                            to_text(pericentre), to_text(e), to_text(distance)));
  const double tilt = input.number("satellite_inclination") * std::numbers::pi / 180;
  return {place, {-std::sqrt(std::max(0.0, inward2)), across * std::cos(tilt), across * std::sin(tilt)}};
}

/// A Plummer sphere in equilibrium by itself, cut off at five scale radii, put at its start.
Particles make_satellite(const ModelInput& input, std::int64_t n) {
  const PhaseSpacePoint start = satellite_start(input);
  const double mass = input.number("satellite_mass"), length = input.number("satellite_radius");
  const double speed = std::sqrt(input.gravitational_constant() * mass / length);
  const double within = physics::plummer_mass_within(satellite_cutoff);
  Particles satellite = equal_masses(n, mass);
  std::fill(satellite.species.begin(), satellite.species.end(), species_bulge);
  draw_particles(
      satellite, input.seed(), input.threads(),
      [=](Philox& random) {
        const PhaseSpacePoint star = draw_plummer_star(random, within);
        return PhaseSpacePoint{length * star.x, speed * star.v};
      },
      satellite_stream);
  centre(satellite, input.threads());
  shift(satellite, start);
  return satellite;
}

/// Stars of the satellite among n: by its part of the mass unless the user says otherwise.
std::int64_t satellite_count(const ModelInput& input) {
  const double mass = input.number("satellite_mass");
  if (mass == 0) return 0;
  if (input.n() < 2)
    throw Error(ErrorKind::input, "exponential-disc: n: expected at least 2, one of them in the satellite, found 1");
  const double given = input.number("satellite_fraction");
  const double part = given > 0 ? given : mass / (mass + input.number("mass"));
  const auto count = static_cast<std::int64_t>(std::llround(part * static_cast<double>(input.n())));
  return std::clamp<std::int64_t>(count, 1, input.n() - 1);
}

/// Ids of the satellite follow those of the disc.
Particles make_exponential_disc(const ModelInput& input) {
  check_memory(input.n());
  const std::int64_t in_satellite = satellite_count(input);
  Particles particles = make_disc(input, input.n() - in_satellite);
  if (in_satellite == 0) return particles;
  Particles satellite = make_satellite(input, in_satellite);
  for (std::size_t k = 0; k < satellite.id.size(); ++k) satellite.id[k] = particles.id.size() + k + 1;
  particles.append(satellite);
  if (input.external().empty()) centre(particles, input.threads());
  return particles;
}

}  // namespace

ModelEntry exponential_disc_model() {
  const auto at_least_0 = Range::at_least(0), above_0 = Range::above(0);
  ModelInfo info{
      "exponential-disc",
      "an exponential disc that turns about +z, in its own field and the run's external potentials; a satellite on "
      "request",
      32768,
      true,
      {{"mass", 1.0, "of the disc", above_0, {}, false, dimension::mass},
       {"scale_length", 1.0, "R over which the surface density falls by e", above_0, {}, false, dimension::length},
       {"scale_height",
        0.1,
        "z0 of the vertical profile sech^2(z/z0); 0: all in one plane",
        at_least_0,
        {},
        false,
        dimension::length},
       {"cutoff", 5.0, "largest radius, in scale lengths", Range::between(0.01, 100), {}},
       {"toomre_q", 1.2, "Toomre's Q: below 1 the disc breaks up, 0 is cold", at_least_0, {}},
       {"toomre_radius", 0.0, "where Q holds, in scale lengths; 0: everywhere", at_least_0, {}},
       {"satellite_mass",
        0.0,
        "of a Plummer sphere that passes the disc; 0: none",
        at_least_0,
        {},
        false,
        dimension::mass},
       {"satellite_radius", 0.3, "its scale radius", above_0, {}, false, dimension::length},
       {"satellite_fraction", 0.0, "part of n in it; 0: as its part of the mass", Range::between(0, 0.9), {}},
       {"satellite_distance", 6.0, "at the start, on the +x axis", above_0, {}, false, dimension::length},
       {"satellite_pericentre",
        2.0,
        "of its orbit if all mass within the start were at the centre",
        above_0,
        {},
        false,
        dimension::length},
       {"satellite_eccentricity", 1.0, "of that orbit: 1 is a parabola", at_least_0, {}},
       {"satellite_inclination",
        0.0,
        "degrees: 0 turns with the disc, 90 polar, 180 against it",
        Range::between(-180, 180),
        {}}}};
  info.uses_external = true;
  return {.info = info, .make = make_exponential_disc};
}

}  // namespace pergola
