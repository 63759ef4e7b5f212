#pragma once
#include <cstdint>
#include <functional>
#include <memory>

#include "gravity/solver.hpp"
#include "particles/particle_source.hpp"
#include "particles/shown_particles.hpp"

namespace pergola {

/// What a solver needs of shown particles, which stay where they are.
template <class Real>
Sources<Real> sources_of(const ShownPlaces<Real>& places) {
  Sources<Real> sources;
  sources.count = places.x.size();
  sources.x = places.x.data(), sources.y = places.y.data(), sources.z = places.z.data();
  sources.mass = places.mass.data();
  sources.species = places.species.data();
  sources.id = places.id.data();
  return sources;
}

/// The potentials that a solver gives shown particles, on their device, in the order of the input. Does not wait.
template <class Real>
Buffer<Real> potentials_of(Solver<Real>& solver, const ShownParticles& shown, const ShownPlaces<Real>& places) {
  Buffer<Real> potential(shown.device(), shown.count());
  Forces<Real> forces;
  forces.potential = potential.data();
  Targets targets;
  targets.count = targets.total = shown.count();
  solver.prepare(sources_of(places));
  solver.evaluate(targets, want_potential, forces);
  return potential;
}

/// Potentials that a solver has given already, wherever they are: read(first, n, to) brings n of them from particle
/// `first` on to the host, floats or doubles.
struct KnownPotentials {
  bool single = false;
  std::function<void(std::int64_t first, std::int64_t n, void* to)> read;
  std::int64_t value_bytes() const { return single ? sizeof(float) : sizeof(double); }
};
/// Those that `solver` gives shown particles now.
KnownPotentials potentials_from(AnySolver& solver, const ShownParticles& shown);

/// Shown particles with the potentials that `solver` gives them, fetched piece by piece: what a snapshot holds, of
/// which the host never has all. The potentials are found when it is made.
PERGOLA_API std::unique_ptr<ParticleSource> with_potentials(std::unique_ptr<ShownParticles> shown, AnySolver& solver);
PERGOLA_API std::unique_ptr<ParticleSource> with_potentials(std::unique_ptr<ShownParticles> shown,
                                                            KnownPotentials potentials);

}  // namespace pergola
