#pragma once
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/atomic_file.hpp"
#include "outputs/checkpoint_output.hpp"

namespace pergola {

/// The directory of a run, locked for as long as this object lives. Other processes find it in use.
class RunDirectory {
 public:
  enum class Use { fresh, resume, overwrite };

  /// Makes the directory where there is none. Throws Error(input) when it is not empty and `use` is fresh, when it is
  /// in use (naming the process), or when it is not a directory; Error(system) when the operating system refuses. At
  /// its end the lock is given back, and the directory removed if this object made it and nothing was put into it.
  RunDirectory(const std::filesystem::path& path, Use use);
  RunDirectory(const RunDirectory&) = delete;
  RunDirectory& operator=(const RunDirectory&) = delete;

  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path run_json() const { return path_ / "run.json"; }
  std::filesystem::path profile_csv() const { return path_ / "profile.csv"; }
  std::filesystem::path failure_json() const { return path_ / "failure.json"; }
  std::filesystem::path checkpoints() const { return path_ / checkpoint_folder; }

  /// Whether the directory is no longer where it was: somebody has moved or removed it.
  bool gone() const;

  /// Gives back the lock, and the directory where this object made it and nothing was put into it: before the process
  /// ends without destroying this object.
  void abandon() const;
  /// Removes what a run leaves behind, and nothing else.
  void clear();
  /// Moves what a run leaves behind into a new folder earlier_001, earlier_002, ... of the directory and names it;
  /// nothing where there is nothing to move.
  std::optional<std::filesystem::path> set_aside();
  /// The same with files of this number only (snap_004.hdf5, power_004.csv), and a copy of run.json.
  std::optional<std::filesystem::path> set_aside(std::int64_t number);
  /// Removes what processes that were killed have left half-written.
  void remove_temporaries();

 private:
  /// What did not exist before: the directory, and folders above it.
  struct Made {
    explicit Made(const std::filesystem::path& directory);
    ~Made() { remove(); }
    void remove() const;
    std::vector<std::filesystem::path> paths;  // outermost first
  };
  /// flock on a file in the directory that holds the number of the process.
  struct Lock {
    explicit Lock(const std::filesystem::path& directory);
    ~Lock();
    /// Removes the file where it is still this one.
    void remove() const;
    /// Whether the file that is locked is the one that the path names.
    bool in_place() const;
    std::filesystem::path file;
    int descriptor = -1;
    PassingFile passing;
  };

  /// What a run has left behind, whole.
  std::vector<std::filesystem::path> outputs() const;
  std::filesystem::path move_aside(const std::vector<std::filesystem::path>& files) const;

  std::filesystem::path path_;
  Made made_;
  Lock lock_;
};

}  // namespace pergola
