#pragma once
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "analysis/energy.hpp"
#include "analysis/force_audit.hpp"
#include "base/log.hpp"
#include "base/profile.hpp"
#include "base/state_source.hpp"
#include "comm/communicator.hpp"
#include "config/config.hpp"
#include "device/device.hpp"
#include "io/snapshot.hpp"
#include "io/write_queue.hpp"
#include "particles/particles.hpp"
#include "particles/sample.hpp"
#include "particles/shown_particles.hpp"
#include "picture/seen_density.hpp"
#include "sim/report_card.hpp"
#include "sim/state_map.hpp"
#include "time/integrator.hpp"

namespace pergola {

/// One line of energy.csv.
struct EnergyRow {
  Energies energies;
  std::vector<double> more;       // one value for each of energy_columns()
  std::optional<double> error{};  // of the system's own equation of energy; none: the relative change of the total
};

/// How a sample of particles is drawn.
struct SampleLook {
  std::vector<std::string> kinds;      // names of the species, by their number
  SnapshotHeader header;               // time, box and, where they are those of a snapshot, units
  std::string length_unit, time_unit;  // for people, where they are others
  bool phase_space = false;            // x, y and vx in place of the three coordinates
};

/// A system that goes on in time, shows itself and can be saved: what a run (run/run.hpp) drives. Times and values are
/// in the units of the configuration. All calls are made by all ranks together, but those that are `const` ask a rank
/// for what it knows by itself.
class PERGOLA_API System {
 public:
  virtual ~System() = default;

  virtual const Device& device() const = 0;
  virtual Profile& profile() = 0;
  /// When the system began.
  virtual double start_time() const = 0;
  /// Of the state that is shown now.
  virtual double time() const = 0;
  /// The latest time that a step has reached; also while advance() asks `enough`.
  virtual double step_time() const = 0;
  virtual std::int64_t size() const = 0;
  virtual StepCounts counts() const = 0;

  /// Rank 0 does `action`, in which it may ask for what is said to be for rank 0: where the ranks keep their own
  /// particles, the others give it what it reads meanwhile. What one rank throws all throw.
  virtual void on_root(const std::function<void()>& action) { action(); }

  /// Takes steps until the state of `limit` can be shown, or until `enough()` says so; true for the former. A system
  /// that is known at its steps only shows the first one that is not before `limit`; where that would lie beyond the
  /// end of the run, the last whole step. What the steps are does not depend on `limit`.
  virtual bool advance(double limit, const std::function<bool()>& enough) = 0;
  /// advance() asks `enough` after every multiple of this number of steps; 0: no matter.
  virtual void pause_every(std::int64_t /*steps*/) {}
  /// When a line of energies that is due at `due` is measured, once advance(due, ...) has returned true: then, or at
  /// the first step that is not before it.
  virtual double measured_at(double due) const { return due; }
  /// Goes to exactly the configuration's end_time; nothing comes after it but output.
  virtual void finish() = 0;

  /// Whether forces are approximate, so that audit() can measure their error at the latest step with a sample of
  /// particles.
  virtual bool can_audit() const { return false; }
  virtual ForceErrors audit(std::int64_t /*sample*/) { return {}; }

  /// Names of what energy.csv holds beyond the contract's columns.
  virtual std::vector<std::string> energy_columns() const { return {}; }
  /// The same on all ranks.
  virtual EnergyRow measure() = 0;
  /// Rank 0 hands copies of what is shown over to its queue, which writes the file while the system goes on and then
  /// calls `done`. Other ranks have no queue. Where the ranks keep their own particles and output.files are several,
  /// all ranks write them at once, and the system waits.
  virtual void write_snapshot(const std::filesystem::path& path, WriteQueue* queue,
                              const std::function<void()>& done) = 0;
  /// What the user should see of what happened since the last call: what was chosen for him, and warnings; on rank 0.
  virtual std::vector<Remark> remarks() { return {}; }
  /// Keeps what is there now for write_records(): of a plasma the waves of its potential.
  virtual void record() {}
  /// At the end: rank 0 writes what was recorded.
  virtual void write_records(const std::filesystem::path& directory) { static_cast<void>(directory); }
  /// The report card, at the end; on rank 0. `begins` is called there before each part that may take a while, with
  /// what it is; what it throws ends the checks.
  virtual std::vector<Check> checks(const Energies& start, const Energies& end,
                                    const std::function<void(const std::string& part)>& begins) = 0;

  /// A hash of all particles at time(), bit for bit and whatever their order (io/state_hash.hpp), the same on all
  /// ranks: each adds up its own.
  virtual std::string state_hash() = 0;
  /// All that is needed to go on bit-identically; on rank 0, in on_root(). Ranges are good until its end.
  virtual void save(StateSource& to) = 0;
  /// Where ranks keep their own particles: true, and what this rank has of the state; the ranges that have no value per
  /// particle are the same on all. Else false. For a checkpoint that every rank writes a part of.
  virtual bool save_own(StateSource& /*to*/) { return false; }
  /// What run.json says about this kind of system: a JSON object.
  virtual std::string describe() const = 0;

  /// Whether the system is a cloud of particles in open space, which has a centre and radii about it.
  virtual bool has_center() const { return false; }
  /// All particles at time() where they live, with the velocities of a snapshot; on rank 0, in on_root(). Null where
  /// snapshots have no such particles (a plasma's).
  virtual std::unique_ptr<ShownParticles> shown() const { return nullptr; }
  /// Where the ranks keep their own particles: this rank's, outside on_root(), for what all do together. Else null.
  virtual std::unique_ptr<ShownParticles> own_shown() const { return nullptr; }
  /// At most `most` particles at time(), always the same ones; on rank 0, in on_root().
  virtual Particles sample(std::int64_t most) = 0;
  /// The same ones as points, in the coordinates of sample_look().
  virtual SampledPoints sample_points(std::int64_t most) = 0;
  /// What a page must know to draw them.
  virtual SampleLook sample_look() const = 0;
  /// All particles at time(), in the coordinates of sample_look(), as somebody sees them: counted where they are. On
  /// rank 0, in on_root().
  virtual SeenDensity density(const Sight& sight) = 0;
  /// What else of the state at time() is worth a look; asked for on rank 0.
  virtual std::vector<StateCurve> curves() const { return {}; }
  virtual std::vector<StateMap> maps() const { return {}; }
};

/// The system that a configuration describes: from its start, or from what save() gave, which is read piece by piece;
/// of several ranks each has all of it to read from.
PERGOLA_API std::unique_ptr<System> make_system(const RunConfig& config, std::shared_ptr<Communicator> communicator,
                                                StateInput* state = nullptr);

/// The device of a rank of a run. With several ranks and no number given, the GPUs are dealt out in turn.
Device open_rank_device(const RunConfig& config, const Communicator& communicator);

}  // namespace pergola
