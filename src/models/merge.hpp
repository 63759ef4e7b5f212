#pragma once
// Two systems of particles put on a Kepler orbit about each other, as a whole or in pieces.
//
// Each system is measured once (mass, centre, largest id). Then every piece is moved to the centre, tilted, and put on
// its orbit. `pergola merge` and [[particles.parts]] of a run both use this.
#include <array>
#include <memory>

#include "particles/particle_source.hpp"
#include "particles/particles.hpp"
#include "physics/kepler.hpp"

namespace pergola {

/// How a galaxy's disc, given in the plane z = 0 and turning about +z, stands to the orbit, in degrees. `inclination`
/// is the angle between its axis and the orbit's: 0 turns with the orbit, 180 against it. `argument` is the angle in
/// the orbit from where the other one rises through the disc's plane to the pericentre. Toomre & Toomre 1972, ApJ 178,
/// 623.
struct DiscTilt {
  double inclination = 0, argument = 0;
};

struct MergeOptions {
  double pericentre = 1;    // of the orbit of two points with the masses of the two
  double eccentricity = 1;  // 0 circle, 1 parabola
  double separation = 10;   // at the start, on the way in
  DiscTilt first, second;
  double gravitational_constant = 1;
};

/// The relative state at the start, of the second as seen from the first. The orbit lies in the plane z = 0, turns
/// about +z and has its pericentre on the +x axis. Throws Error(input) that names `separation` when the orbit has no
/// such place.
PERGOLA_API physics::KeplerState<double> merge_orbit(double total_mass, const MergeOptions& options);

/// Two systems on an orbit about each other; their common centre of mass is at rest at the origin. Ids of the first
/// stay, those of the second go on from the largest of them. Potentials are not known. Throws Error(input).
PERGOLA_API Particles merge_on_orbit(Particles first, Particles second, const MergeOptions& options, int threads);

/// The same in pieces: neither is in memory as a whole unless its source is.
class PERGOLA_API MergedSource final : public ParticleSource {
 public:
  /// Reads both once.
  MergedSource(std::unique_ptr<ParticleSource> first, std::unique_ptr<ParticleSource> second,
               const MergeOptions& options, int threads);
  std::int64_t count() const override { return systems_[0].source->count() + systems_[1].source->count(); }
  void read(std::int64_t first, std::int64_t n, Particles& to) override;

 private:
  friend Particles merge_on_orbit(Particles first, Particles second, const MergeOptions& options, int threads);
  /// One of the two, and what becomes of its particles: moved to the centre, tilted, put on the orbit.
  struct System {
    std::unique_ptr<ParticleSource> source;
    double mass = 0;
    physics::KeplerState<double> centre{}, orbit{};
    double node = 0, angle = 0;
    std::uint64_t largest_id = 0, id_offset = 0;
  };
  void measure(System& system) const;
  void place(const System& system, Particles& particles) const;

  std::array<System, 2> systems_;
  int threads_;
};

/// Σ m.
PERGOLA_API double total_mass(const Particles& particles);

}  // namespace pergola
