#pragma once
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string_view>

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
  void commit();

 private:
  std::filesystem::path path_, target_, temporary_;
  int descriptor_ = -1;
  bool reserved_ = false;
};

/// Throws the Error that an errno value of a failed write stands for.
[[noreturn]] void throw_write_error(const std::filesystem::path& path, int error_number);

/// What the names of temporary files hold; left by a process that was killed.
inline constexpr std::string_view temporary_mark = ".pergola-tmp-";

}  // namespace pergola
