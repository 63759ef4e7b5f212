#pragma once
#include <filesystem>
#include <string>
#include <vector>

#include "config/config.hpp"
#include "sim/system.hpp"

namespace pergola {

/// A new run that starts where another one is now, with other keys: a directory beside it with the particles of this
/// moment (start.hdf5) and a configuration (run.toml). It is a start from a file: nothing of the other run's steps is
/// taken over but places and velocities.
class PERGOLA_API RunFork {
 public:
  /// Of the run in `directory`, which becomes DIRECTORY-fork-001 or the next number that is free; `sets` are
  /// "key=value" as from --set. Throws Error(input) where the kind of system cannot start from its snapshots or the
  /// keys are not good, Error(system) where the directory cannot be made.
  RunFork(const RunConfig& config, const std::filesystem::path& directory, const std::vector<std::string>& sets);
  /// Leaves no empty directory behind.
  ~RunFork();
  RunFork(const RunFork&) = delete;
  RunFork& operator=(const RunFork&) = delete;

  const std::filesystem::path& directory() const { return directory_; }
  /// What starts the new run, on a command line.
  std::string command() const;
  /// Writes both files and waits for it. What fails leaves no directory behind.
  void write(System& system) const;

 private:
  std::filesystem::path origin_, directory_;
  std::vector<std::string> sets_;
  std::string configuration_;
};

}  // namespace pergola
