#pragma once
/// The files that a command writes, removed again if it fails.
///
/// Order of calls: WrittenFiles with all names, then make_folder() if needed, then writing, then print_and_keep().
/// Names that exist already are left out: a command that fails after replacing one leaves the new file, which is whole.
/// refuse_input_as_output() and files_of_snapshot() serve the checks before that.
#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "base/atomic_file.hpp"
#include "io/snapshot.hpp"

namespace pergola::app {

struct Context;

/// The files that a command writes. If anything fails before print_and_keep() is done, new files and folders are
/// removed: a failed command leaves nothing behind. A replaced file stays replaced, whole. Declare it before JSON
/// values: if memory ends in their destructors, which ends the program, files and folders are removed too.
class WrittenFiles {
 public:
  /// An entry may be a folder of files that gets its name as a whole.
  explicit WrittenFiles(std::vector<std::filesystem::path> files);
  ~WrittenFiles();
  WrittenFiles(const WrittenFiles&) = delete;
  WrittenFiles& operator=(const WrittenFiles&) = delete;

  /// Makes the folder for the files, and those above it, if missing. To be called once; throws Error(system).
  void make_folder(const std::filesystem::path& folder);
  /// Prints the text, or with --json the value, and keeps the files once that has reached stdout.
  void print_and_keep(const Context& context, const std::string& text, const nlohmann::json& value);
  /// For ranks that write together, after rank 0 has printed.
  void keep() { kept_ = true; }

 private:
  std::vector<std::filesystem::path> files_;    // new ones
  std::vector<std::filesystem::path> folders_;  // new ones, from the outermost inwards
  std::vector<PassingFile> passing_, passing_folders_;
  bool kept_ = false;
};

/// The names of a snapshot in `files` files.
std::vector<std::filesystem::path> files_of_snapshot(const std::filesystem::path& name, int files);

/// Says what a written snapshot does not hold of its particles (not_carried() of io/snapshot_formats.hpp), and how a
/// run states the units that are lost; of particles from a file also that this states none. `header`: of the particles.
void note_lost(const Context& context, const std::vector<std::string>& lost, const SnapshotHeader& header,
               const std::string& from = "");

/// Throws Error(input) if `output` is one of the inputs, under any name. `what` begins the message.
void refuse_input_as_output(const std::string& what, const std::string& output,
                            const std::vector<std::filesystem::path>& inputs);

}  // namespace pergola::app
