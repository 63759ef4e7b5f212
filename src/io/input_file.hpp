#pragma once
// Raw bytes of a file at any place, from any thread, with errors that name the file.
#include <cstddef>
#include <cstdint>
#include <filesystem>

namespace pergola {

/// A regular file that is open for reading. Missing, a directory or not regular: Error(input); a refusal of the
/// operating system: Error(system).
class InputFile {
 public:
  explicit InputFile(const std::filesystem::path& path);
  ~InputFile();
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;

  const std::filesystem::path& path() const { return path_; }
  std::int64_t size() const { return size_; }
  /// Exactly `bytes` bytes from `offset` on; Error(input) if the file ends before.
  void read(std::int64_t offset, void* data, std::size_t bytes) const;

 private:
  std::filesystem::path path_;
  int descriptor_ = -1;
  std::int64_t size_ = 0;
};

}  // namespace pergola
