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

// Centres and Lagrangian radii: the centre of mass, the density centre, and the radii that hold given parts of the
// mass. The analysis `radii` writes them through time, and so does a run (outputs/radii_output.cpp).
// Functions with `ranks` are collective: each rank has a part of the particles, and all get the bits of one process
// that has all. Sums go from rank to rank, in the order of the input or of the distance.
namespace pergola {

/// The order of particles by distance from a centre. Equal distances are ordered by id, so that the order of the file
/// does not matter.
struct Distance {
  double radius = 0;
  std::uint64_t id = 0;
  bool operator<(const Distance& other) const { return radius != other.radius ? radius < other.radius : id < other.id; }
};

/// How to distribute particles by distance. This rank has `count` particles in ascending order of distance(k); the
/// result is how many of them go to each rank. Then each rank has the next range of distances, rank 0 the nearest, and
/// all about as many. Cuts come from samples of all ranks. Collective.
std::vector<std::size_t> counts_by_distance(Communicator& ranks, std::size_t count,
                                            const std::function<Distance(std::size_t)>& distance);

/// The centre of mass; with equal weights if all are massless. Each rank has the next particles in the order of the
/// input. Throws Error(input) without particles. Collective.
PERGOLA_API Vec3<double> mass_center(const Particles& own, Communicator& ranks = *serial_communicator());

/// The density centre, by the shrinking sphere: the centre of mass within a sphere that shrinks by 2.5 % a step and
/// follows it, until 1 % of the particles (at least 100 or a quarter of them) are left. Power et al. 2003, MNRAS 338,
/// 14, section 2.5. Escapers do not move it. Up to 16 particles: the centre of mass. Ranks and errors as above.
PERGOLA_API Vec3<double> density_center(const Particles& own, Communicator& ranks = *serial_communicator());

/// For each fraction f in (0, 1]: the distance from `center` at which the mass within first reaches f of the total.
/// Equal weights if all are massless.
PERGOLA_API std::vector<double> lagrangian_radii(const Particles& particles, const Vec3<double>& center,
                                                 const std::vector<double>& fractions);

/// A particle's distance from a centre, and its mass.
struct SeenMass {
  Distance from;
  double mass = 0;
};
std::vector<SeenMass> seen_masses(const Particles& particles, const Vec3<double>& center);
/// The same for distributed particles, in any order. Collective.
std::vector<double> lagrangian_radii(std::vector<SeenMass> own, const std::vector<double>& fractions,
                                     Communicator& ranks);

/// The fractions in tables of Lagrangian radii, and the names of their columns: r1, r5, … r90.
inline constexpr std::array<double, 7> lagrangian_fractions{0.01, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9};
PERGOLA_API std::string lagrangian_column(double fraction);

/// The Lagrangian radius of one half about the density centre.
PERGOLA_API double half_mass_radius(const Particles& particles);

}  // namespace pergola
