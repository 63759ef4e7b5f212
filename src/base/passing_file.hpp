#pragma once
#include <filesystem>

namespace pergola {

/// A file that must not outlive the process: a lock, contents without a name yet. Its owner removes it; remove_all()
/// does where the process ends without destroying the owner.
class PassingFile {
 public:
  PassingFile() = default;
  ~PassingFile() { forget(); }
  PassingFile(const PassingFile&) = delete;
  PassingFile& operator=(const PassingFile&) = delete;

  /// Makes a new file that nobody else has; returns its descriptor, or -1 with errno. `path` must stay as it is until
  /// forget().
  int make(const std::filesystem::path& path);
  /// Takes a file that is open, and is removed only where the path still names it; with -1 for a descriptor, whatever
  /// has the name, which may be a folder: that goes where it is empty when all files have gone. `path` must stay as it
  /// is, and the file open, until forget().
  void take(const std::filesystem::path& path, int descriptor);
  /// The file is no longer one of these: removed, or under its name.
  void forget();

  /// Removes all of them that still have their names, the last taken first. Asks for no memory. No other is made
  /// afterwards: who tries waits for the end of the process, which must follow.
  static void remove_all();

 private:
  void add(const std::filesystem::path& path, int descriptor);

  const char* path_ = nullptr;
  int descriptor_ = -1;  // to compare with; -1: the name is enough
  PassingFile *before_ = nullptr, *after_ = nullptr;
};

/// Whether the path names the file that is open.
bool names_open_file(const char* path, int descriptor);

}  // namespace pergola
