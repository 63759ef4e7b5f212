#pragma once
#include <memory>
#include <string>

#include "analysis/energy.hpp"
#include "analysis/force_audit.hpp"
#include "base/host_device.hpp"
#include "comm/communicator.hpp"
#include "config/config.hpp"

namespace pergola {

/// A system of particles with its solver and integrator on a device. It owns its parts: any number of simulations live
/// in one process. For a run with logs, snapshots and checkpoints in a directory see run/run.hpp.
class PERGOLA_API Simulation {
 public:
  /// With the particles that the configuration names.
  explicit Simulation(const RunConfig& config, std::shared_ptr<Communicator> communicator = serial_communicator());
  /// With these particles, at `time`; the configuration's [particles] is not looked at.
  Simulation(const RunConfig& config, const Particles& particles, double time = 0,
             std::shared_ptr<Communicator> communicator = serial_communicator());
  /// With particles that are taken piece by piece; whoever makes the source answers for its values.
  Simulation(const RunConfig& config, ParticleSource& particles, double time = 0,
             std::shared_ptr<Communicator> communicator = serial_communicator());
  /// With the state that save() gave, to go on bit-identically.
  Simulation(const RunConfig& config, StateInput& state,
             std::shared_ptr<Communicator> communicator = serial_communicator());
  Simulation(const RunConfig& config, const StateBlocks& state,
             std::shared_ptr<Communicator> communicator = serial_communicator());
  Simulation(Simulation&&) noexcept;
  Simulation& operator=(Simulation&&) noexcept;
  ~Simulation();

  const RunConfig& config() const;
  const Device& device() const;
  Communicator& communicator() const;
  const Profile& profile() const;
  Profile& profile();

  /// When the simulation began: 0 or the time of the file.
  double start_time() const;
  /// The time of the state that particles() and energies() show.
  double time() const;
  std::int64_t size() const;
  StepCounts counts() const;
  /// How long the next steps of all particles are, the longest first: in an expanding universe in ln a.
  std::vector<StepClass> step_classes() const;
  /// The box of a mesh run; without a side for any other.
  Box box() const;
  /// Particles that are outside the mesh now: kept, pulled by the mass on the mesh as by a point.
  std::int64_t outside() const;
  /// A sentence about the last force evaluation that the user should see; empty when there is none.
  std::string remark() const;

  /// What rank 0 reads in on_root().
  enum class Reading {
    particles,        // at time()
    potentials,       // and what a snapshot has of potentials: particles_with_potentials()
    pair_potentials,  // and those that energies() is made of
    latest_step       // particles at step_time(), for audit()
  };
  /// On several ranks each may keep its own particles only; what is then asked of all of them (particles(), census(),
  /// state_hash(), sample(), energies(), audit(), save()) is for rank 0, which does `action` while the others give it
  /// what it reads, a piece in memory at a time. All ranks call it together; what one throws all throw.
  void on_root(const std::function<void()>& action, Reading reading = Reading::particles) const;

  /// Advances. At the configuration's end_time all particles take a last step to exactly that time and the simulation
  /// is over; at any other time the steps go on unchanged and the state there is predicted from them.
  void run_until(double time);
  /// Takes steps up to `limit`, or until `enough()` says so; true when `limit` was reached. Does not change what the
  /// steps are.
  bool advance(double limit, const std::function<bool()>& enough);

  /// The latest time that a step has reached; also while advance() asks `enough`.
  double step_time() const;
  /// Where energies that are due at `due` are measured, once advance(due, ...) has returned true: a leapfrog's at the
  /// first step (block steps: the first that ends for all particles) that is not before it.
  double measured_at(double due) const;

  /// The particles at time().
  Particles particles() const;
  /// The same fetched piece by piece: good until the next step.
  std::unique_ptr<ParticleSource> particle_source() const;
  /// The same with the potentials that the simulation's solver gives them, fetched piece by piece: good until the next
  /// step.
  std::unique_ptr<ParticleSource> particles_with_potentials() const;
  ParticleCensus census() const;
  /// A hash of the particles at time(), bit for bit and whatever their order (io/state_hash.hpp).
  std::string state_hash() const;
  /// Other particles from here on, at time(): any number of them. Steps are chosen as at a start; counts() go on.
  void set_particles(const Particles& particles);

  /// The particles where they live, without a copy, as they are at step_time(); good until the next step. Error(input)
  /// where the integrator has no such moment (block steps, Hermite, a staggered leapfrog). Reading them changes
  /// nothing.
  LentParticles lend();
  /// Places or velocities that were lent have been changed: finds the forces anew.
  void take_back();
  /// Somebody still uses what was lent: he keeps it through what is returned, and the steps go on with copies.
  std::shared_ptr<void> leave_lent();

  /// At most `most` of the particles at time(), always the same ones (particles/sample.hpp).
  Particles sample(std::int64_t most) const;
  /// In an expanding universe: the kinetic energy of peculiar velocities, the potential energy in physical lengths and
  /// the momentum Σ m a² dx/dt, which is conserved.
  Energies energies() const;

  /// Whether forces are approximate, so that their error can be measured; not where a user's forces act.
  bool can_audit() const;
  /// The error of the forces at the latest step, measured with `sample` particles. Changes nothing.
  ForceErrors audit(std::int64_t sample) const;
  /// advance() asks `enough` after every multiple of this number of steps; 0: no matter.
  void pause_every(std::int64_t steps);

  /// The state of the steps taken, for a checkpoint.
  void save(StateSource& to) const;
  /// Where ranks keep their own particles: true, and what of it this rank has. Else false.
  bool save_own(StateSource& to) const;
  StateBlocks save() const;

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

/// The particles that a configuration names, and their time.
struct StartingPoint {
  std::unique_ptr<ParticleSource> particles;
  double time = 0;
  double box_side = 0;  // as the file or the model states it; 0: none
};
/// Particles of a file have been checked, each of them. They come in pieces, unless `whole` asks for all in memory.
PERGOLA_API StartingPoint open_particles(const RunConfig& config, int threads, bool whole = false);

}  // namespace pergola
