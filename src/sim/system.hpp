#pragma once
// The seam between a run and what it simulates.
//
// A System takes steps, shows its state, measures energies, writes snapshots, and can be saved and restored. A run
// (run/run.hpp) drives it in a directory; users of the library drive it themselves.
// Ranks: all ranks make all calls, except `const` ones, which ask one rank what it knows. Where ranks keep their own
// particles, rank 0 reads those of all ranks in on_root() only.
// Always: nothing that shows, measures or saves the state changes the trajectory; a system that was made from save()
// continues with the same bits.
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

/// Units of energy.csv in words; empty where there are none.
struct EnergyUnits {
  std::string time, energy, momentum, angular_momentum;
};

/// How a sample of particles is drawn.
struct SampleLook {
  std::vector<std::string> kinds;      // names of the species, by their number
  SnapshotHeader header;               // time, box and, where they are those of a snapshot, units
  std::string length_unit, time_unit;  // for people, where they are others
  bool phase_space = false;            // x, y and vx in place of the three coordinates
};

/// Particles (and their field) that advance in time. Times and values are in the units of the configuration.
class PERGOLA_API System {
 public:
  virtual ~System() = default;

  virtual const Device& device() const = 0;
  virtual Profile& profile() = 0;
  /// When the system began.
  virtual double start_time() const = 0;
  /// The time of the state that is shown now.
  virtual double time() const = 0;
  /// The time after the latest step, also while advance() calls `enough`.
  virtual double step_time() const = 0;
  virtual std::int64_t size() const = 0;
  virtual StepCounts counts() const = 0;

  /// Rank 0 does `action`, in which it may make the calls that are for rank 0. The other ranks meanwhile give it what
  /// it reads of their particles. What one rank throws, all throw.
  virtual void on_root(const std::function<void()>& action) { action(); }

  /// Takes steps until the state at `limit` can be shown (returns true) or `enough()` returns true (returns false). A
  /// system that is known at its steps only shows the first step that is not before `limit`, or the last whole step
  /// before the end of the run. The steps do not depend on `limit`.
  virtual bool advance(double limit, const std::function<bool()>& enough) = 0;
  /// advance() calls `enough` after every multiple of this number of steps; 0: at any time.
  virtual void pause_every(std::int64_t /*steps*/) {}
  /// The time at which energies that are due at `due` are measured, after advance(due, ...) has returned true: `due`,
  /// or the first step that is not before it.
  virtual double measured_at(double due) const { return due; }
  /// Advances to exactly the configuration's end_time. Only output follows.
  virtual void finish() = 0;

  /// Whether forces are approximate. audit() then measures their error at the latest step for a sample of particles.
  virtual bool can_audit() const { return false; }
  virtual ForceErrors audit(std::int64_t /*sample*/) { return {}; }

  /// The columns of energy.csv beyond those of all systems: energies too.
  virtual std::vector<std::string> energy_columns() const { return {}; }
  /// By default those of the snapshots.
  virtual EnergyUnits energy_units() const;
  /// The same on all ranks.
  virtual EnergyRow measure() = 0;
  /// Rank 0 puts copies of the state into its queue, which writes the file while the system continues and then calls
  /// `done`. Other ranks have no queue. If the ranks keep their own particles and output.files is above 1, all ranks
  /// write their files at once, and the system waits.
  virtual void write_snapshot(const std::filesystem::path& path, WriteQueue* queue,
                              const std::function<void()>& done) = 0;
  /// Choices that were made for the user, and warnings, since the last call; on rank 0.
  virtual std::vector<Remark> remarks() { return {}; }
  /// Records the state for write_records(): of a plasma the waves of its potential.
  virtual void record() {}
  /// At the end: rank 0 writes what was recorded.
  virtual void write_records(const std::filesystem::path& directory) { static_cast<void>(directory); }
  /// The report card, at the end; on rank 0. `begins` is called before each part that may take a while, with its name;
  /// an exception from it ends the checks.
  virtual std::vector<Check> checks(const Energies& start, const Energies& end,
                                    const std::function<void(const std::string& part)>& begins) = 0;

  /// A hash of all particles at time(), bit for bit and whatever their order (io/state_hash.hpp), the same on all
  /// ranks: each adds up its own.
  virtual std::string state_hash() = 0;
  /// All that is needed to continue with the same bits; on rank 0, in on_root(). Ranges are valid until it ends.
  virtual void save(StateSource& to) = 0;
  /// For a checkpoint in parts, one per rank. If ranks keep their own particles: true, and this rank's part of the
  /// state; ranges without a value per particle are the same on all ranks. Else false.
  virtual bool save_own(StateSource& /*to*/) { return false; }
  /// A JSON object for run.json about this kind of system.
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
  /// The density of all particles at time() in a view, in the coordinates of sample_look(), counted on their device. On
  /// rank 0, in on_root().
  virtual SeenDensity density(const Sight& sight) = 0;
  /// Curves and maps of the state at time(); on rank 0.
  virtual std::vector<StateCurve> curves() const { return {}; }
  virtual std::vector<StateMap> maps() const { return {}; }
};

/// Makes the system of a configuration: from its start, or from a state of save(), which is read piece by piece. With
/// several ranks each can read the whole state.
PERGOLA_API std::unique_ptr<System> make_system(const RunConfig& config, std::shared_ptr<Communicator> communicator,
                                                StateInput* state = nullptr);

/// The device of a rank. With several ranks and no number in the configuration, ranks take the GPUs in turn.
Device open_rank_device(const RunConfig& config, const Communicator& communicator);

}  // namespace pergola
