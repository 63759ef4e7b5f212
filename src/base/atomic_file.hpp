#pragma once
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <vector>

#include "base/passing_file.hpp"

namespace pergola {

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
  /// Takes room for this many bytes from the file system, so that a full disk is found before the work is done. The
  /// file's size stays as it is. Where the file system cannot do that, its free room is compared.
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

/// Makes a folder and those above it that are missing, and brings their names to disk; returns those that it made,
/// outermost first. Where it is refused none is left.
std::vector<std::filesystem::path> make_directories(const std::filesystem::path& path, std::error_code& error);

/// Brings the names in a folder to disk. 0, or the errno value of a refusal; a folder that may be written and not read,
/// and a file system that knows no such thing, are none.
int sync_directory(const std::filesystem::path& directory);

/// What the names of temporary files hold; left by a process that was killed.
inline constexpr std::string_view temporary_mark = ".pergola-tmp-";

}  // namespace pergola
