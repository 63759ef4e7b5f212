#pragma once
#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace pergola::app {

struct Context;

/// The files that a command writes. Whatever fails after some of them are written, those that were not there before go
/// again, and so does the folder that was made for them: a command that failed leaves nothing behind. A file that was
/// replaced stays replaced, whole.
class WrittenFiles {
 public:
  /// In the order in which they will be written; one may be a folder of files, which is written as a whole.
  explicit WrittenFiles(std::vector<std::filesystem::path> files);
  ~WrittenFiles();
  WrittenFiles(const WrittenFiles&) = delete;
  WrittenFiles& operator=(const WrittenFiles&) = delete;

  /// Makes the folder that they will be in, where it is not there. Throws Error(system).
  void make_folder(const std::filesystem::path& folder);
  /// The next one is written.
  void wrote() noexcept { ++written_; }
  /// Says what was written, the text or with --json the value, and keeps the files when that has reached stdout.
  void print_and_keep(const Context& context, const std::string& text, const nlohmann::json& value);

 private:
  std::vector<std::filesystem::path> files_;
  std::vector<bool> there_before_;
  std::filesystem::path folder_;
  bool made_folder_ = false, kept_ = false;
  std::size_t written_ = 0;
};

}  // namespace pergola::app
