#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/host_device.hpp"
#include "base/vec.hpp"
#include "comm/communicator.hpp"
#include "particles/particles.hpp"

namespace pergola {

/// By what particles are sorted that are seen from a centre: those at one distance by their ids, so that the order of
/// the file does not matter.
struct Distance {
  double radius = 0;
  std::uint64_t id = 0;
  bool operator<(const Distance& other) const { return radius != other.radius ? radius < other.radius : id < other.id; }
};

/// How many of its own particles, `count` that stand in the order of their distances, distance(k), a rank gives to each
/// rank, so that every rank has the next ones by distance, the nearest rank 0, and about as many as any other: cut
/// where samples of all ranks say so. All ranks call it.
std::vector<std::size_t> counts_by_distance(Communicator& ranks, std::size_t count,
                                            const std::function<Distance(std::size_t)>& distance);

/// Centre of mass; that of equal masses where all are massless. Throws Error(input) for no particles.
PERGOLA_API Vec3<double> mass_center(const Particles& particles);

/// The densest place, by the shrinking sphere: the centre of mass within a sphere that shrinks by 2.5 % a time and
/// follows it, until 1 % of the particles (at least 100 or a quarter of them) are left. Power et al. 2003, MNRAS 338,
/// 14, section 2.5. Escapers do not move it. Of up to 16 particles: the centre of mass.
PERGOLA_API Vec3<double> density_center(const Particles& particles);

/// The same of the particles of all ranks, each of which has the next ones in the order of the input: with the bits of
/// one that has all. Calls of all ranks.
PERGOLA_API Vec3<double> mass_center(const Particles& own, Communicator& ranks);
PERGOLA_API Vec3<double> density_center(const Particles& own, Communicator& ranks);

/// For each fraction f of (0, 1], the distance from `center` of the particle at which the mass within first reaches f
/// of the total; of equal masses where all are massless.
PERGOLA_API std::vector<double> lagrangian_radii(const Particles& particles, const Vec3<double>& center,
                                                 const std::vector<double>& fractions);

/// A particle as seen from a centre.
struct SeenMass {
  Distance from;
  double mass = 0;
};
std::vector<SeenMass> seen_masses(const Particles& particles, const Vec3<double>& center);
/// The same of the particles of all ranks, of which each has some: with the bits of one that has all. Calls of all
/// ranks.
std::vector<double> lagrangian_radii(std::vector<SeenMass> own, const std::vector<double>& fractions,
                                     Communicator& ranks);

/// The parts of the mass that tables of Lagrangian radii have, and the names of their columns: r1, r5, … r90.
inline constexpr std::array<double, 7> lagrangian_fractions{0.01, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9};
PERGOLA_API std::string lagrangian_column(double fraction);

/// The Lagrangian radius of one half about the density centre.
PERGOLA_API double half_mass_radius(const Particles& particles);

}  // namespace pergola
