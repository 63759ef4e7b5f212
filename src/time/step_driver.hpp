#pragma once
// What every integrator does in the same way, whatever its steps are.
//
// `RunState` has the particles of this rank and counts steps; an integrator adds fields to it. `StepDriver` has them on
// their device, with the solver, on one process and on ranks. An integrator that derives from both says what a step
// does to its own particles; which rank has the others it need not know. Where particles travel (leapfrogs), a step
// that prepares the solver settles first, and all come home before others see them: domain/README.md.
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/state_source.hpp"
#include "device/stage_clock.hpp"
#include "domain/owners.hpp"
#include "domain/share_source.hpp"
#include "gravity/solver.hpp"
#include "gravity/solver_entry.hpp"
#include "gravity/wrapped_solver.hpp"
#include "particles/particle_store.hpp"
#include "time/integrator.hpp"
#include "time/particle_failure.hpp"

namespace pergola {

/// The particles of a run that this rank keeps. `ranks`: null on one process.
template <class Real>
struct RunState : ParticleStore<Real> {
  using Number = Real;
  double start_time = 0;
  StepCounts counts;

  using ParticleStore<Real>::ParticleStore;

  /// Takes this rank's share of the particles.
  void start(ParticleSource& particles, double time, Communicator* ranks) {
    take_share(particles, ranks, [this](ParticleSource& own) { this->take(own); });
    start_time = time;
    counts = {};
  }
  /// Places and velocities as they are.
  Sources<Real> sources() const {
    const auto &place = this->x, &speed = this->v;
    Sources<Real> s;
    s.count = this->count();
    s.x = place.x.data(), s.y = place.y.data(), s.z = place.z.data();
    s.vx = speed.x.data(), s.vy = speed.y.data(), s.vz = speed.z.data();
    s.mass = this->mass.data();
    s.species = this->species.data();
    return s;
  }
  void save(StateSource& to) const {
    this->FieldList::save(to);
    to.put_value("start_time", start_time);
    to.put_value("counts", counts);
  }
  void restore(StateInput& from, Communicator* ranks) {
    this->FieldList::restore(from, ranks ? ranks->rank() : 0, ranks ? ranks->size() : 1);
    start_time = from.get_value<double>("start_time");
    counts = from.get_value<StepCounts>("counts");
  }
};

/// The part of an integrator that does not depend on its steps. State: a RunState with the integrator's fields; `more`
/// goes to its constructor.
template <class State>
class StepDriver : public Integrator {
 public:
  using Real = typename State::Number;

  bool runs_on_ranks() const override { return true; }
  StepCounts counts() const override { return state_.counts; }
  AnySolver* idle_solver() override {
    solver_->set_clock(nullptr);
    if (!solver_->divides()) return solver_.get();
    if (!for_others_) for_others_ = bring_to_owners(solver_, device_, ranks_);
    return for_others_.get();
  }
  std::int64_t idle_bytes(std::int64_t n) const override { return solver_->divides() ? n * copied_bytes<Real> : 0; }
  std::int64_t outside() const override { return solver_->outside(); }
  std::vector<std::string> choices() const override { return solver_->choices(); }
  std::string remark() const override { return solver_->remark(); }

 protected:
  /// What goes to the ranks that a solver has work on particles: copies, so that the integrator sees nothing of it, or
  /// the particles themselves, by settle(), which is faster where steps follow one another.
  enum class Travel { copies, particles };
  template <class... More>
  StepDriver(Travel travel, const TimeOptions& time, const SolverOptions& gravity, const IntegratorContext& context,
             const More&... more)
      : options_(time),
        device_(context.device),
        ranks_(context.communicator->size() > 1 ? context.communicator : nullptr),
        solver_(!ranks_                       ? make_solver<Real>(gravity, device_)
                : travel == Travel::particles ? make_dividing_solver<Real>(gravity, device_, ranks_)
                                              : make_distributed_solver<Real>(gravity, device_, ranks_)),
        clock_(device_, context.profile),
        state_(device_, more...),
        owners_(state_, solver_->divides() ? ranks_ : nullptr) {}
  template <class... More>
  StepDriver(const TimeOptions& time, const SolverOptions& gravity, const IntegratorContext& context,
             const More&... more)
      : StepDriver(Travel::copies, time, gravity, context, more...) {}

  /// The particles here.
  std::int64_t count() const { return state_.count(); }
  void start_particles(ParticleSource& particles, double time) {
    total_ = particles.count();
    state_.start(particles, time, ranks_.get());
  }
  /// Brings particles to their owners, for prepare(); with `kept` for update(). `left`: as Owners::settle(). True:
  /// there are others here now.
  bool settle(const Sources<Real>& sources, const tree::KeptTree* kept = nullptr,
              const std::vector<const AnyField*>& left = {}) {
    if (!solver_->divides()) return false;
    for_others_.reset();  // with its memory
    const bool others = owners_.settle(solver_->divide(sources, kept), left);
    clock_.end();
    return others;
  }
  /// Takes up the saved particles.
  void restore_particles(StateInput& from) {
    state_.restore(from, ranks_.get());
    total_ = from.get_value<std::int64_t>("count");
  }
  /// Forces on n particles here, at these places (null: all of them). Coincident ones are named by their ids, at this
  /// time. All ranks call it.
  void evaluate_at(Solver<Real>& solver, const std::int64_t* index, std::int64_t n, unsigned want,
                   const Forces<Real>& forces, double time) const {
    try {
      solver.evaluate({index, n, n, 0}, want, forces);
    } catch (const CoincidentParticles& collision) {
      throw named(collision, time);
    }
  }
  CoincidentParticles named(const CoincidentParticles& collision, double time) const {
    const auto id = [&](std::int64_t place) { return id_of(state_, place, total_, ranks_.get()); };
    const std::uint64_t first = id(collision.first()), second = id(collision.second());
    return with_ids(collision, first, second, time);
  }
  /// Bytes of the particles, with what moving them takes, and of the solver.
  std::int64_t particle_bytes(std::int64_t n) const {
    return n * state_.bytes_per_particle() + owners_.bytes(n) + solver_->device_bytes(n);
  }

  TimeOptions options_;
  Device device_;
  std::shared_ptr<Communicator> ranks_;  // null: one process
  std::shared_ptr<Solver<Real>> solver_;
  StageClock clock_;
  State state_;
  Owners owners_;
  std::int64_t total_ = 0;  // particles on all ranks

 private:
  std::unique_ptr<Solver<Real>> for_others_;  // the same solver, for particles that are with any ranks
};

}  // namespace pergola
