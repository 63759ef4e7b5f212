#pragma once
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "config/config.hpp"
#include "sim/system.hpp"

// Two ways to go on differently from where a run is. A branch (fork_run) begins with a checkpoint: it has the state of
// the steps, and may change outputs, the end and the accuracy. A RunFork begins with the particles alone and may change
// any key; a run that is watched makes one between two steps. Both leave a directory with a run.toml, written last.
namespace pergola {

/// A branch of a run.
struct RunBranch {
  std::filesystem::path checkpoint;  // that it begins with
  double time = 0;                   // of the checkpoint
  std::string command;               // that starts it
};
/// Makes `to`, the directory of a branch of the run in `from`, from its newest checkpoint or from `checkpoint`, a file
/// or its name. Logs are copied, so that those of the branch are whole; run.json says where the branch comes from.
/// Throws Error(input) for a key that may not change, without a checkpoint, and if `to` is not empty.
PERGOLA_API RunBranch fork_run(const std::filesystem::path& from, const std::string& checkpoint,
                               const std::vector<std::string>& sets, const std::filesystem::path& to,
                               const std::function<void(const std::string&)>& notice);

/// A new run that starts from the present state of another run, with other keys: a directory beside it with the
/// particles of this moment (start.hdf5) and a configuration (run.toml). The new run starts from a file: positions,
/// velocities and masses are taken over, the state of the steps is not.
class PERGOLA_API RunFork {
 public:
  /// Forks the run in `directory`; the new directory is DIRECTORY-fork-001 or the next free number. `sets` are
  /// "key=value" as from --set. Throws Error(input) if the kind of system cannot start from its snapshots or a key is
  /// wrong, Error(system) if the directory cannot be made.
  RunFork(const RunConfig& config, const std::filesystem::path& directory, const std::vector<std::string>& sets);
  /// Leaves no empty directory behind.
  ~RunFork();
  RunFork(const RunFork&) = delete;
  RunFork& operator=(const RunFork&) = delete;

  const std::filesystem::path& directory() const { return directory_; }
  /// The command line that starts the new run.
  std::string command() const;
  /// Writes both files and waits until they are written. A failure leaves no directory behind.
  void write(System& system) const;

 private:
  std::filesystem::path origin_, directory_;
  std::vector<std::string> sets_;
  std::string configuration_;
};

}  // namespace pergola
