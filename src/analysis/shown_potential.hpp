#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

#include "gravity/solver.hpp"
#include "particles/particle_source.hpp"
#include "particles/shown_particles.hpp"
#include "particles/shown_state.hpp"

// Potentials of particles that a solver finds on their device, for energies and for snapshots. Particles are given as
// an output view (particles/shown_particles.hpp). If the view shows them where they are stored, the solver reads them
// there; else it reads copies.
// What always holds: potentials are given in the order of the input, even if the solver has its sources in another
// order. Snapshots and energies therefore do not depend on how particles are stored.
namespace pergola {

/// The solver's view of copied positions.
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

/// An output view as the sources of a solver: the stored arrays if possible, else copies. Valid as long as `shown`.
template <class Real>
class ShownSources {
 public:
  explicit ShownSources(const ShownParticles& shown) {
    const auto* const state = dynamic_cast<const StoredParticles<Real>*>(&shown);
    const StateArrays<Real>* const stored = state ? state->stored_places() : nullptr;
    if (!stored) {
      sources_ = sources_of(copies_.emplace(shown));
      return;
    }
    sources_.count = shown.count();
    sources_.x = stored->x, sources_.y = stored->y, sources_.z = stored->z;
    sources_.mass = stored->mass;
    sources_.species = stored->species;
    place_of_ = stored->place_of;
    if (!place_of_) sources_.id = stored->id;  // ids are in the order of the input
  }
  const Sources<Real>& sources() const { return sources_; }
  bool stored() const { return !copies_; }
  /// Particle k of the input is the source place_of()[k], on the device. Null: source k.
  const std::uint32_t* place_of() const { return place_of_; }

 private:
  Sources<Real> sources_;
  const std::uint32_t* place_of_ = nullptr;
  std::optional<ShownPlaces<Real>> copies_;
};

/// The potentials by `solver`, on the device, in the order of the sources. Does not wait.
template <class Real>
Buffer<Real> potentials_of(Solver<Real>& solver, const Device& device, const Sources<Real>& sources) {
  Buffer<Real> potential(device, sources.count);
  Forces<Real> forces;
  forces.potential = potential.data();
  Targets targets;
  targets.count = targets.total = sources.count;
  solver.prepare(sources);
  solver.evaluate(targets, want_potential, forces);
  return potential;
}

/// Potentials that are already known. read(first, n, to) copies n of them, from particle `first` on, to the host, as
/// floats or doubles.
struct KnownPotentials {
  bool single = false;
  std::function<void(std::int64_t first, std::int64_t n, void* to)> read;
  std::int64_t value_bytes() const { return single ? sizeof(float) : sizeof(double); }
};
/// The potentials that `solver` finds now.
KnownPotentials potentials_from(AnySolver& solver, const ShownParticles& shown);

/// energy_bytes() (analysis/energy.hpp) for particles with this output view. Only the potentials count if the borrowed
/// solver reads particles where they are stored.
std::int64_t shown_energy_bytes(const ShownParticles& as, const SolverOptions& gravity, std::int64_t count);
/// Whether the view shows particles where they are stored.
bool stored_as_shown(const ShownParticles& shown);

/// Particles with the potentials of `solver`, read piece by piece: the content of a snapshot, which the host never
/// holds as a whole. The potentials are found in this call.
PERGOLA_API std::unique_ptr<ParticleSource> with_potentials(std::unique_ptr<ShownParticles> shown, AnySolver& solver);
PERGOLA_API std::unique_ptr<ParticleSource> with_potentials(std::unique_ptr<ShownParticles> shown,
                                                            KnownPotentials potentials);

}  // namespace pergola
