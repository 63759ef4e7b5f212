#pragma once
#include <cstdint>

#include "particles/particle_store.hpp"
#include "time/expansion.hpp"
#include "time/integrator.hpp"
#include "time/leapfrog_loops.hpp"
#include "time/particle_failure.hpp"

namespace pergola {

/// The particles of a leapfrog run on their device, with shared or with block steps.
template <class Real>
struct LeapfrogState : ParticleStore<Real> {
  VectorField<Real> a{*this, "acceleration"};
  VectorField<Real> j{*this, "jerk", FieldUse::derived};  // where the step is chosen from it
  double mass_quantum = 0;
  double start_time = 0;
  StepCounts counts;

  explicit LeapfrogState(const Device& on) : ParticleStore<Real>(on) { choose_jerk(false); }
  void choose_jerk(bool wanted) { j.set_used(wanted); }
  bool with_jerk() const { return j.x.used(); }

  /// Takes the particles, with `ranks` (null: one rank) the share of this rank; accelerations are zero.
  void start(ParticleSource& particles, double time, const Expansion& expansion, Communicator* ranks);
  LeapfrogArrays<Real> arrays();
  Sources<Real> sources() const;
  void save(StateSource& to) const;
  void restore(StateInput& from, Communicator* ranks);
  /// The particle at a place in memory, for the record of a failure.
  ParticleState particle_at(std::int64_t place, double time) const;
  [[noreturn]] void fail(const char* reason, std::int64_t place, double time) const {
    throw ParticleFailure(reason, time, particle_at(place, time));
  }
  /// pergola::fail_where() of a particle at a place in memory.
  void fail_where(std::int64_t place, std::int64_t kind, const char* (*reason)(std::int64_t kind), double time,
                  Communicator* ranks) const;
};

}  // namespace pergola
