#pragma once
// Files that appear whole or not at all, and those that must not outlive the process.
//
// `AtomicFile` writes beside the name, syncs and renames. `PassingFile` is an entry in the list of files without a name
// yet, or of locks. If the process ends early, `PassingFile::remove_all()` removes them.
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <vector>

namespace pergola {

/// A file that must not outlive the process: a lock, or contents without a name yet. Its owner removes it. remove_all()
/// removes it if the process ends without destroying the owner.
class PassingFile {
 public:
  PassingFile() = default;
  ~PassingFile() { forget(); }
  PassingFile(const PassingFile&) = delete;
  PassingFile& operator=(const PassingFile&) = delete;

  /// Makes a new file, which no other process has; returns its descriptor, or -1 with errno. `path` must stay as it is
  /// until forget().
  int make(const std::filesystem::path& path);
  /// Takes a file that is open, and is removed only where the path still names it; with -1 for a descriptor, whatever
  /// has the name, which may be a folder: that goes where it is empty when all files have gone. `path` must stay as it
  /// is, and the file open, until forget().
  void take(const std::filesystem::path& path, int descriptor);
  /// The file is no longer one of these: removed, or under its name.
  void forget();

  /// Removes all of them that still have their names, the last taken first. Asks for no memory. No file is made
  /// afterwards: a thread that tries waits for the end of the process, which must follow.
  static void remove_all();

 private:
  void add(const std::filesystem::path& path, int descriptor);

  const char* path_ = nullptr;
  int descriptor_ = -1;  // to compare with; -1: the name is enough
  PassingFile *before_ = nullptr, *after_ = nullptr;
};

/// Whether the path names the file that is open.
bool names_open_file(const char* path, int descriptor);

/// A file that appears under its name only when it is complete: written beside the name, brought to disk and renamed
/// by commit(). Without commit() nothing is left behind. Refusals of the operating system throw Error(system) with the
/// path and the system's reason; a path that cannot name a file throws Error(input).
class AtomicFile {
 public:
  explicit AtomicFile(const std::filesystem::path& path);
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  /// Where the contents go until commit(); for a library that writes by name.
  const std::filesystem::path& temporary() const { return temporary_; }
  void write(const void* data, std::size_t bytes);
  void write(std::string_view text) { write(text.data(), text.size()); }
  /// At a place; what lies between and was not written holds zeros.
  void write_at(std::int64_t offset, const void* data, std::size_t bytes);
  /// Reserves this many bytes in the file system, so that a full disk is found before the work is done. The size of the
  /// file does not change. If the file system cannot reserve, its free bytes are compared.
  void reserve(std::int64_t bytes);
  /// The file is on disk under its name, and so is the name, when this returns. Where only the name may not outlast a
  /// power cut it throws too, and takes back a file that was not there before.
  void commit();

 private:
  std::filesystem::path path_, target_, temporary_;
  PassingFile passing_;
  int descriptor_ = -1;
  bool reserved_ = false;
};

/// A whole file of this text.
void write_text(const std::filesystem::path& path, std::string_view text);

/// Throws the Error that an errno value of a failed write stands for.
[[noreturn]] void throw_write_error(const std::filesystem::path& path, int error_number);

/// Makes a folder and the missing folders above it, and syncs their names to disk. Returns the folders that it made,
/// outermost first. If one is refused, none is left.
std::vector<std::filesystem::path> make_directories(const std::filesystem::path& path, std::error_code& error);

/// Brings the names in a folder to disk. 0, or the errno value of a refusal; a folder that may be written and not read,
/// and a file system that knows no such thing, are none.
int sync_directory(const std::filesystem::path& directory);

/// What the names of temporary files hold; left by a process that was killed.
inline constexpr std::string_view temporary_mark = ".pergola-tmp-";

}  // namespace pergola
