#pragma once
#include <atomic>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/log.hpp"
#include "comm/agreement.hpp"
#include "comm/communicator.hpp"
#include "config/config.hpp"
#include "io/write_queue.hpp"
#include "sim/system.hpp"

// An output is something that a run writes on its way: a log, snapshots, analyses, checkpoints. Each output is one
// class with one entry; the entry names its keys and files.
// The run stops at the earliest next_time() and at multiples of every_steps(), asks every output whether it is due, and
// lets it write. Outputs at pauses write when the run pauses to be saved.
// What always holds: all ranks make the same calls; outputs and checkpoints never alter the trajectory; an output that
// resumes with the memory of its save() writes the same files as without the interruption.
namespace pergola {

/// A command from a page that steers the run. It alters no trajectory, but run.json lists it.
struct ControlLine {
  std::string command;
  double time = 0;
  std::int64_t steps = 0;
};

/// Results of the run and its outputs, for run.json, the report card and the progress.
struct RunResults {
  std::string initial_state, final_state;  // hashes of the particles (System::state_hash), on rank 0; empty: not known
  Energies start;
  std::optional<Energies> end;
  std::optional<double> energy_error;  // of the latest line after the first
  double force_error = 0;              // median, of the latest audit; 0: none
  std::vector<Check> checks;
  int snapshots = 0;
  std::vector<ControlLine> control{};  // of all sessions, on rank 0
};

/// The values of an output in a checkpoint, by name.
using OutputMemory = std::map<std::string, double>;

/// A value of the memory; `otherwise` if an earlier version did not save it.
inline double remembered(const OutputMemory& memory, const char* name, double otherwise) {
  const auto found = memory.find(name);
  return found == memory.end() ? otherwise : found->second;
}

/// What the outputs of a run share.
struct OutputContext {
  const RunConfig& config;
  std::shared_ptr<Communicator> communicator;
  std::filesystem::path directory;
  Log log;
  std::function<double()> wall_seconds;
  std::function<OutputMemory()> memory{};  // what all outputs have to remember now; on rank 0
  RunResults results{};
  std::optional<RunConfig> before{};  // of a resumed run: the configuration of the session before
  std::atomic<int> files_waiting = 0;
  std::atomic<double> longest_write_seconds = 0;  // of one file, including its time in the queue
  std::unique_ptr<WriteQueue> queue{};            // on rank 0: files that are written while the steps go on

  /// Where a table goes, as a pattern of OutputEntry::files has it (tables/power_000.csv). Makes the folder.
  std::filesystem::path table(const std::string& name) const;
  /// Rank 0 runs the action. If it fails, all ranks throw.
  void on_root(const std::function<void()>& action) const { pergola::on_root(*communicator, action); }
};

/// The bytes that may wait to be written: an eighth of the free memory of the host, 1 to 16 GiB. With several ranks the
/// same over their number, but at least 64 MiB. A larger file waits piece by piece.
std::int64_t most_bytes_waiting(int ranks = 1);

/// Call it before rank 0 queues a file. Waits if several files wait already, even small ones, because a run ends only
/// when all are written. The queue calls the result after it has written the file.
std::function<void()> begin_file(OutputContext& context);

/// The moment at which outputs are asked.
struct Moment {
  System& system;
  double time;         // of the particles
  std::int64_t steps;  // taken so far
};

/// Something that a run writes on its way. All ranks make the same calls.
class Output {
 public:
  static constexpr double never = std::numeric_limits<double>::infinity();

  explicit Output(OutputContext& context) : context_(context) {}
  virtual ~Output() = default;
  Output(const Output&) = delete;
  Output& operator=(const Output&) = delete;

  /// The next time at which the run must stop for this output.
  virtual double next_time() const { return never; }
  /// The run also stops after each multiple of this number of steps; 0: never.
  virtual std::int64_t every_steps() const { return 0; }
  /// True for outputs that are asked when the run pauses to be saved: at a signal, by the clock, and before the last
  /// steps (run/pause_watch.hpp). They come after all outputs that were due.
  virtual bool at_pauses() const { return false; }
  virtual bool due(const Moment& now) = 0;
  virtual void write(const Moment& now) = 0;

  /// Called at the start of a run.
  virtual void begin(System& system) = 0;
  /// Called instead of begin() if the run resumes. `memory`: what save() stored.
  virtual void resume(System& system, const OutputMemory& memory) = 0;
  /// Called at the end of a run.
  virtual void finish(System& /*system*/) {}
  /// Stores values in a checkpoint. Called on rank 0.
  virtual void save(OutputMemory& /*memory*/) const {}

 protected:
  OutputContext& context_;
};

/// An output describes itself.
struct OutputEntry {
  std::string name;
  std::vector<std::string> keys;   // of the configuration
  std::vector<std::string> files;  // in the directory of a run; # stands for a number
  /// Returns null if the configuration does not ask for this output.
  std::function<std::unique_ptr<Output>(OutputContext&)> make;
};

/// All outputs, in the order in which they write.
const std::vector<OutputEntry>& output_entries();
/// Adds an output from outside and its keys. Call it before any configuration is read.
PERGOLA_API void register_output(OutputEntry entry, std::vector<NumberKey> keys = {});

/// The folder of tables in the directory of a run. Beside snapshots they would be taken for one by programs that read
/// all files of a directory.
inline constexpr const char* table_folder = "tables";

/// The number in a file name that matches a pattern of OutputEntry::files; 0 if the pattern has no #. All files of one
/// snapshot have the same number. None if the name does not match.
std::optional<std::int64_t> number_in_name(const std::string& name, const std::string& pattern);
/// Files that match a pattern, which may have a folder before the name, by number; of a snapshot in several files the
/// first. Throws Error(system) if the directory cannot be read.
std::map<std::int64_t, std::filesystem::path> numbered_files(const std::filesystem::path& directory,
                                                             const std::string& pattern);
/// Removes the files that match a pattern, from `number` on.
void remove_numbered_files(const std::filesystem::path& directory, const std::string& pattern, std::int64_t number);

/// lagrangian.csv: Lagrangian radii of a system in open space.
OutputEntry radii_output();

/// With more particles the radii come from a fixed sample, so that the cost of a line does not grow.
inline constexpr std::int64_t most_particles_for_radii = 32768;
/// The interval of the lines; none: never.
std::optional<double> radii_interval(const RunConfig& config);
/// A line, measured now. On rank 0, of a system in open space.
std::string radii_line(System& system);

/// audit.csv: errors of the forces on a sample of particles, at intervals of steps.
OutputEntry audit_output();

/// energy.csv: energies and their relative error.
OutputEntry energy_output();

/// snap_000.hdf5, … by output, or plasma_000000.h5, … by step: copied at once, written by another thread while the
/// steps continue.
OutputEntry snapshot_output();

/// tables/spectrum.hdf5, spectrum.csv and wave.csv of a plasma, at the end. The system records the potential at
/// intervals of steps.
OutputEntry spectrum_output();

/// tables/NAME_NNN.csv for each analysis in output.analyses, at the moment of snapshot NNN.
OutputEntry analysis_output();

}  // namespace pergola
