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

namespace pergola {

/// What somebody who watches a run has told it: it alters no trajectory, but is written down.
struct ControlLine {
  std::string command;
  double time = 0;
  std::int64_t steps = 0;
};

/// What the run and its outputs have found: for run.json, the report card and the progress.
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

/// What an output must remember in a checkpoint, by name.
using OutputMemory = std::map<std::string, double>;

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
  std::atomic<double> longest_write_seconds = 0;  // of one file, with its time in the queue
  std::unique_ptr<WriteQueue> queue{};            // on rank 0: files that are written while the steps go on

  /// Rank 0 does it, all ranks learn how it went.
  void on_root(const std::function<void()>& action) const { pergola::on_root(*communicator, action); }
};

/// What may wait to be written, by the memory of the host that is free now: an eighth of it, 1 to 16 GiB; of several
/// ranks so many times less, but 64 MiB, for rank 0 has its share of the particles only. A larger file waits piece by
/// piece.
std::int64_t most_bytes_waiting(int ranks = 1);

/// Before rank 0 hands a file over to the queue: waits where many files wait already, however small they are, for a run
/// ends when all are written. What it returns is called by the queue's thread when the file is written.
std::function<void()> begin_file(OutputContext& context);

/// When outputs are asked.
struct Moment {
  System& system;
  double time;         // that is shown
  std::int64_t steps;  // taken so far
};

/// Something that a run leaves behind on its way. All ranks make the same calls; an output decides who writes.
class Output {
 public:
  static constexpr double never = std::numeric_limits<double>::infinity();

  explicit Output(OutputContext& context) : context_(context) {}
  virtual ~Output() = default;
  Output(const Output&) = delete;
  Output& operator=(const Output&) = delete;

  /// The next time at which the run stops for it.
  virtual double next_time() const { return never; }
  /// The run also stops for it after every multiple of this number of steps; 0: it does not.
  virtual std::int64_t every_steps() const { return 0; }
  /// It is asked when the run pauses to be saved instead, after all that was due: at a signal, now and then by the
  /// clock, and before the last steps (run/pause_watch.hpp).
  virtual bool at_pauses() const { return false; }
  virtual bool due(const Moment& now) = 0;
  virtual void write(const Moment& now) = 0;

  /// At the start of a run.
  virtual void begin(System& system) = 0;
  /// In its place where a run goes on from a checkpoint: `memory` is what save() gave.
  virtual void resume(System& system, const OutputMemory& memory) = 0;
  /// At the end of a run.
  virtual void finish(System& /*system*/) {}
  /// On rank 0.
  virtual void save(OutputMemory& /*memory*/) const {}

 protected:
  OutputContext& context_;
};

/// An output describes itself.
struct OutputEntry {
  std::string name;
  std::vector<std::string> keys;   // of the configuration
  std::vector<std::string> files;  // that it leaves in the directory of a run; # stands for a number
  /// Null where the configuration does not ask for it.
  std::function<std::unique_ptr<Output>(OutputContext&)> make;
};

/// All outputs, in the order in which they write.
const std::vector<OutputEntry>& output_entries();
/// Adds one with the keys that it brings, before any configuration is read.
PERGOLA_API void register_output(OutputEntry entry, std::vector<NumberKey> keys = {});

/// The number in a name that a pattern of OutputEntry::files describes (0 where the pattern has no #), if it does. Of a
/// snapshot in several files each has its number.
std::optional<std::int64_t> number_in_name(const std::string& name, const std::string& pattern);
/// The files of a pattern by their numbers; of a snapshot in several files the first. What the operating system refuses
/// to show is not there; Error(system) where it is the directory.
std::map<std::int64_t, std::filesystem::path> numbered_files(const std::filesystem::path& directory,
                                                             const std::string& pattern);
/// Removes the files of a pattern from `number` on.
void remove_numbered_files(const std::filesystem::path& directory, const std::string& pattern, std::int64_t number);

}  // namespace pergola
