#pragma once
#include <filesystem>
#include <string>
#include <vector>

#include "config/config.hpp"
#include "sim/system.hpp"

namespace pergola {

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
