#pragma once
#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "base/atomic_file.hpp"

namespace pergola::app {

struct Context;

/// The files that a command is about to write. Whatever fails before print_and_keep() is done, those that were not
/// there before go again, and so do the folders that were made for them: a command that failed leaves nothing behind. A
/// file that was replaced stays replaced, whole. Declared before JSON values: memory may end when those are destroyed,
/// which ends the program, and then files and folders go too.
class WrittenFiles {
 public:
  /// One may be a folder of files that gets its name as a whole.
  explicit WrittenFiles(std::vector<std::filesystem::path> files);
  ~WrittenFiles();
  WrittenFiles(const WrittenFiles&) = delete;
  WrittenFiles& operator=(const WrittenFiles&) = delete;

  /// Makes the folder that they will be in, and those above it, where they are not there. Once; throws Error(system).
  void make_folder(const std::filesystem::path& folder);
  /// Says what was written, the text or with --json the value, and keeps the files when that has reached stdout.
  void print_and_keep(const Context& context, const std::string& text, const nlohmann::json& value);
  /// Of ranks that write them together, when rank 0 has said so.
  void keep() { kept_ = true; }

 private:
  std::vector<std::filesystem::path> files_;    // those that were not there before
  std::vector<std::filesystem::path> folders_;  // and the folders, from the outermost to the one that they are in
  std::vector<PassingFile> passing_, passing_folders_;
  bool kept_ = false;
};

/// The names of a snapshot in so many files.
std::vector<std::filesystem::path> files_of_snapshot(const std::filesystem::path& name, int files);

/// Throws Error(input) where `output` is one of the files that are read, by whatever name. `what` begins the message.
void refuse_input_as_output(const std::string& what, const std::string& output,
                            const std::vector<std::filesystem::path>& inputs);

}  // namespace pergola::app
