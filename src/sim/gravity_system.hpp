#pragma once
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/large_waves.hpp"
#include "analysis/layzer_irvine.hpp"
#include "analysis/structure.hpp"
#include "io/snapshot_writer.hpp"
#include "sim/hard_pairs.hpp"
#include "sim/system.hpp"

namespace pergola {

/// Particles under gravity with their solver and integrator on a device, from a configuration. For runs and for users
/// of the library. It owns its parts, so any number of systems live in one process. run/run.hpp adds a directory with
/// logs, snapshots and checkpoints.
class PERGOLA_API GravitySystem : public System {
 public:
  /// With the particles that the configuration names.
  explicit GravitySystem(const RunConfig& config, std::shared_ptr<Communicator> communicator = serial_communicator());
  /// With these particles, at `time`; the configuration's [particles] is not looked at.
  GravitySystem(const RunConfig& config, const Particles& particles, double time = 0,
                std::shared_ptr<Communicator> communicator = serial_communicator());
  /// With particles that are read piece by piece. Their values are not checked.
  GravitySystem(const RunConfig& config, ParticleSource& particles, double time = 0,
                std::shared_ptr<Communicator> communicator = serial_communicator());
  /// From a state of save(), to continue with the same bits.
  GravitySystem(const RunConfig& config, StateInput& state,
                std::shared_ptr<Communicator> communicator = serial_communicator());
  GravitySystem(const RunConfig& config, const StateBlocks& state,
                std::shared_ptr<Communicator> communicator = serial_communicator());
  GravitySystem(GravitySystem&&) noexcept;
  GravitySystem& operator=(GravitySystem&&) noexcept;
  ~GravitySystem() override;

  const RunConfig& config() const;
  /// The name of the device that has made the particles of the model, whose last bits are then not those of the CPU;
  /// empty: no other than the CPU.
  const std::string& made_on() const;
  /// What to say of particles, mesh and steps that do not fit at the start; texts may be empty.
  const std::vector<std::string>& said_at_start() const;
  const Device& device() const override;
  const std::shared_ptr<Communicator>& ranks() const;
  Communicator& communicator() const { return *ranks(); }
  Profile& profile() override;

  /// 0 or the time of the file.
  double start_time() const override;
  double time() const override;
  double step_time() const override;
  std::int64_t size() const override;
  StepCounts counts() const override;
  /// How long the next steps of all particles are, the longest first: in an expanding universe in ln a.
  std::vector<StepClass> step_classes() const;
  /// The box of a mesh run; without a side for any other.
  Box box() const;
  /// Particles that are outside the mesh now: kept, pulled by the mass on the mesh as by a point.
  std::int64_t outside() const;
  /// What integrator and solver have chosen where the configuration leaves it open: sentences.
  std::vector<std::string> choices() const;
  /// A warning about the steps or the last force evaluation; empty when there is none.
  std::string remark() const;

  /// What rank 0 reads in on_root().
  enum class Reading {
    particles,  // at time()
    potentials  // and what a snapshot has of potentials: particles_with_potentials()
  };
  /// With several ranks each may keep its own particles only. Rank 0 then does `action`, in which it may make calls
  /// about all particles (particles(), sample(), save()), while the other ranks give it what it reads, piece by piece.
  /// All ranks call it; what one throws, all throw.
  void on_root(const std::function<void()>& action, Reading reading) const;
  void on_root(const std::function<void()>& action) override { on_root(action, Reading::particles); }

  /// Advances. At the configuration's end_time all particles take a last step to exactly that time, and the system
  /// ends. At any other time the state is predicted from the steps, which do not change.
  void run_until(double time);
  bool advance(double limit, const std::function<bool()>& enough) override;
  /// A leapfrog's energies are measured at the first step (block steps: the first that ends for all particles) that is
  /// not before `due`.
  double measured_at(double due) const override;
  void pause_every(std::int64_t steps) override;
  void finish() override;

  /// The particles at time().
  Particles particles() const;
  std::unique_ptr<ShownParticles> shown() const override;
  std::unique_ptr<ShownParticles> own_shown() const override;
  /// The same fetched piece by piece: good until the next step.
  std::unique_ptr<ParticleSource> particle_source() const;
  /// The same with the potentials that the system's solver gives them, fetched piece by piece: good until the next
  /// step. Where each rank keeps its own particles, outside on_root(): of these, in a call of all ranks.
  std::unique_ptr<ParticleSource> particles_with_potentials() const;
  /// Where each rank keeps its own particles: a call of all ranks, which all get the same.
  ParticleCensus census() const;
  std::string state_hash() override;
  /// Replaces all particles at time(), by any number of others. Steps are chosen as at a start; counts() continue.
  void set_particles(const Particles& particles);

  /// Borrows the particles on their device, without a copy, as they are at step_time(); valid until the next step.
  /// Error(input) if the integrator has no such moment (block steps, Hermite). Reading them
  /// changes nothing.
  BorrowedParticles lend();
  /// After lend(): positions or velocities have been changed. Finds the forces again.
  void take_back();
  /// If a reader still holds the borrowed arrays, the system continues with copies. The reader keeps the originals by
  /// what is returned.
  std::shared_ptr<void> leave_borrowed();

  /// In an expanding universe: the kinetic energy of peculiar velocities, the potential energy in physical lengths and
  /// the momentum Σ m a² dx/dt, which is conserved. Where each rank keeps its own particles all ranks call it, each
  /// sums its share, and all get the same.
  Energies energies() const;
  EnergyRow measure() override;
  /// Not where a user's forces act.
  bool can_audit() const override;
  /// Changes nothing.
  ForceErrors audit(std::int64_t sample) override;

  void write_snapshot(const std::filesystem::path& path, WriteQueue* queue, const std::function<void()>& done) override;
  std::vector<Remark> remarks() override;
  std::vector<Check> checks(const Energies& start, const Energies& end,
                            const std::function<void(const std::string& part)>& begins) override;
  std::string describe() const override;
  bool has_center() const override { return !box().periodic(); }
  Particles sample(std::int64_t most) override;
  SampledPoints sample_points(std::int64_t most) override;
  SampleLook sample_look() const override;
  SeenDensity density(const Sight& sight) override;
  std::vector<StateCurve> curves() const override;

  void save(StateSource& to) override;
  bool save_own(StateSource& to) override;
  StateBlocks save();

 private:
  struct Parts;

  /// What is compared with at the end, and what an expanding universe is watched with: at the start, or from save().
  void begin_report(StateInput* state);
  void save_report(StateSource& to) const;
  /// Hard pairs at the start, from the state for a resumed run.
  void note_pairs(StateInput* state);
  /// Where the particles are now, or were according to `state`: for return_distance. Where each rank keeps its own
  /// particles it does so with these, in a call of all ranks; else rank 0.
  void note_start(StateInput* state);
  void save_start(StateSource& to) const;
  /// Whether there are several ranks, of which each keeps its own particles.
  bool is_distributed() const;
  /// The particles that this rank keeps; outside on_root().
  std::unique_ptr<ShownParticles> shown_here() const;
  /// With the softening lengths of the latest step.
  SolverOptions gravity_of_step() const;
  /// Forces of the latest step, and the particles that cause them.
  struct AuditedForces {
    std::unique_ptr<ShownParticles> particles;
    ForceResult forces;
  };
  /// At some places. Where each rank keeps its own particles: of these, in a call of all ranks; else on rank 0.
  AuditedForces audited_forces(const std::vector<std::int64_t>& places) const;
  /// Whether the report card has a line of this name.
  bool expects(std::string_view name) const;
  /// Of a snapshot at time().
  SnapshotHeader header() const;
  void hand_over_snapshot(const std::filesystem::path& path, WriteQueue* queue, const std::function<void()>& done);
  Particles standing_for_all(std::int64_t most);
  WriteOptions write_options() const;
  /// What a snapshot's header says of all particles; where each rank keeps its own a call of all ranks.
  void find_contents();
  void watch(const Energies& energies);
  /// Where each rank keeps its own particles: a call of all ranks.
  LargeWaves find_large_waves() const;
  /// Whether the universe is compared with theory at its end, which depends on the number of particles.
  bool is_compared() const;
  /// Where each rank keeps its own particles: a call of all ranks.
  void take_starting_power();
  /// Where each rank keeps its own particles: a call of all ranks; else on rank 0.
  PowerSpectrum measure_power();
  /// At the end, on rank 0, where is_compared() and the resolution is known; a call of all ranks.
  std::optional<PowerSpectrum> measure_end_power(const std::function<void(const std::string& part)>& begins);
  std::vector<Check> growth_checks() const;
  /// At the end, on rank 0: the power spectrum (measure_end_power()) against theory.
  std::vector<Check> power_checks(const PowerSpectrum& measured,
                                  const std::function<void(const std::string& part)>& begins);
  /// Halos against theory where there is such a spectrum. Where each rank keeps its own particles: a call of all ranks;
  /// else on rank 0.
  std::vector<Check> halo_checks(const std::function<void(const std::string& part)>& begins);
  /// Quantities of the report card that are not energies, by name. If each rank keeps its own particles: a call of all
  /// ranks.
  std::map<std::string, double> measure_particles();
  /// What few lines of energies leave open in the energy equation.
  double energy_equation_doubt() const;
  /// What the user should know about where the particles come from.
  std::vector<Remark> remarks_at_start() const;

  std::unique_ptr<Parts> parts_;
  std::optional<SnapshotContents> contents_;  // the same until set_particles()
  StartingPlaces start_;                      // for return_distance only
  std::vector<HardPair> pairs_;               // at the start; on rank 0, where watches_pairs()
  std::string softened_pairs_;                // what to say of pairs that softening tears apart; empty: nothing
  LayzerIrvine energy_equation_;
  double energy_error_ = 0;
  WaveWatch waves_;
  StartingPower starting_power_;  // where is_compared(); on rank 0 at least
  bool said_start_ = false;
  std::int64_t most_outside_ = 0;
  std::vector<std::string> choices_;  // that were said
  std::string remark_;
};

}  // namespace pergola
