#pragma once
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "analysis/energy.hpp"
#include "analysis/force_audit.hpp"
#include "base/profile.hpp"
#include "base/state_blocks.hpp"
#include "comm/communicator.hpp"
#include "config/config.hpp"
#include "device/device.hpp"
#include "sim/report_card.hpp"
#include "time/integrator.hpp"

namespace pergola {

/// One line of energy.csv.
struct EnergyRow {
  Energies energies;
  std::vector<double> more;  // one value for each of energy_columns()
};

/// What a managed run (run/run.hpp) drives: a system that goes on in time, shows itself and can be saved. Times and
/// values are in the units of the configuration. Unless it is said otherwise a call is made on rank 0 only.
class PERGOLA_API RunSystem {
 public:
  virtual ~RunSystem() = default;

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

  /// Takes steps until the state of `limit` can be shown, or until `enough()` says so; true for the former. A system
  /// that is known at its steps only shows the first one that is not before `limit`; where that would lie beyond the
  /// end of the run, the last whole step. What the steps are does not depend on `limit`. Called on all ranks.
  virtual bool advance(double limit, const std::function<bool()>& enough) = 0;
  /// Goes to exactly the configuration's end_time; nothing comes after it but output. Called on all ranks.
  virtual void finish() = 0;

  /// Whether forces are approximate, so that audit() can measure their error at the latest step with a sample of
  /// particles.
  virtual bool can_audit() const { return false; }
  virtual ForceErrors audit(std::int64_t /*sample*/) { return {}; }
  /// advance() asks `enough` after every multiple of this number of steps; 0: no matter. Called on all ranks.
  virtual void pause_every(std::int64_t /*steps*/) {}

  /// Names of what energy.csv holds beyond the contract's columns.
  virtual std::vector<std::string> energy_columns() const { return {}; }
  virtual EnergyRow measure() = 0;
  virtual void write_snapshot(const std::filesystem::path& path) = 0;
  /// What the user should see of what happened since the last call, as sentences.
  virtual std::vector<std::string> remarks() { return {}; }
  /// At the end: what the run has recorded on its way and does not belong into the contract's files.
  virtual void write_records(const std::filesystem::path& directory) { static_cast<void>(directory); }
  /// The report card, at the end.
  virtual std::vector<Check> checks(const Energies& start, const Energies& end) = 0;

  /// All that is needed to go on bit-identically.
  virtual StateBlocks save() = 0;
  /// What run.json says about this kind of system: a JSON object.
  virtual std::string describe() const = 0;
};

/// The system that a configuration describes: from its start, or from what save() gave.
std::unique_ptr<RunSystem> make_run_system(const RunConfig& config, std::shared_ptr<Communicator> communicator,
                                           const StateBlocks* state = nullptr);

/// "snap_012.hdf5", or "plasma_012.h5".
std::string snapshot_name(const RunConfig& config, int number);

}  // namespace pergola
