#pragma once
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/atomic_file.hpp"
#include "outputs/checkpoint_output.hpp"

namespace pergola {

/// The directory of a run. It is locked as long as this object lives: another process that opens it is refused. Files
/// that no run writes are never touched.
class RunDirectory {
 public:
  /// fresh: an empty directory only; resume: any; overwrite: any, and the run clears it later.
  enum class Use { fresh, resume, overwrite };

  /// Makes the directory if there is none. Throws Error(input) if it is not empty and `use` is fresh, if it is in use
  /// (naming the process), or if it is not a directory; Error(system) if the operating system refuses. The destructor
  /// unlocks the directory, and removes it if this object made it and it is empty.
  RunDirectory(const std::filesystem::path& path, Use use);
  RunDirectory(const RunDirectory&) = delete;
  RunDirectory& operator=(const RunDirectory&) = delete;

  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path run_json() const { return path_ / "run.json"; }
  std::filesystem::path profile_csv() const { return path_ / "profile.csv"; }
  std::filesystem::path failure_json() const { return path_ / "failure.json"; }
  std::filesystem::path checkpoints() const { return path_ / checkpoint_folder; }
  std::filesystem::path tables() const { return path_ / table_folder; }

  /// Whether the directory was moved or removed while this object had it.
  bool gone() const;

  /// Does what the destructor does, for a process that ends without calling it.
  void abandon() const;
  /// Removes the outputs of a run, and nothing else.
  void clear();
  /// Moves the outputs of a run into a new folder earlier_001, earlier_002, ... and returns it; nothing if there are no
  /// outputs.
  std::optional<std::filesystem::path> set_aside();
  /// The same with files of this number only (snap_004.hdf5, power_004.csv), and a copy of run.json.
  std::optional<std::filesystem::path> set_aside(std::int64_t number);
  /// Moves tables that an earlier version has left beside the snapshots to where this one looks for them. Whether there
  /// were any.
  bool gather_tables();
  /// Removes half-written files of processes that were killed.
  void remove_temporaries();

 private:
  /// The directory and the folders above it, as far as they did not exist.
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
    /// Removes the file, if it is still the one that is locked.
    void remove() const;
    /// Whether the file that is locked is the one that the path names.
    bool in_place() const;
    std::filesystem::path file;
    int descriptor = -1;
    PassingFile passing;
  };

  /// A path below the directory as patterns of outputs have it: tables/power_000.csv.
  std::string name_of(const std::filesystem::path& path) const;
  void move(const std::filesystem::path& from, const std::filesystem::path& to) const;
  /// The complete outputs of a run.
  std::vector<std::filesystem::path> outputs() const;
  std::filesystem::path move_aside(const std::vector<std::filesystem::path>& files) const;

  std::filesystem::path path_;
  Made made_;
  Lock lock_;
};

}  // namespace pergola
