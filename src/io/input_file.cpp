#include "io/input_file.hpp"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>

#include "base/error.hpp"

namespace pergola {

namespace {

/// A path that names nothing is the user's error; all else is the operating system's.
[[noreturn]] void throw_read_error(const std::filesystem::path& path, int error_number) {
  const bool bad_name = error_number == ENOENT || error_number == ENOTDIR || error_number == ENAMETOOLONG;
  throw Error(bad_name ? ErrorKind::input : ErrorKind::system,
              fmt::format("{}: cannot be read: {}", path.string(), std::generic_category().message(error_number)));
}

}  // namespace

/// The kind of file is asked before it is opened: opening a pipe would wait for its other end.
InputFile::InputFile(const std::filesystem::path& path) : path_(path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) throw_read_error(path, errno);
  if (!S_ISREG(status.st_mode))
    throw Error(ErrorKind::input, fmt::format("{}: is {}, expected a regular file", path.string(),
                                              S_ISDIR(status.st_mode) ? "a directory" : "a device or pipe"));
  descriptor_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor_ < 0) throw_read_error(path, errno);
  size_ = status.st_size;
}

InputFile::~InputFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

/// pread keeps no position in the file, so that threads may read at once. It may return fewer bytes than asked for.
void InputFile::read(std::int64_t offset, void* data, std::size_t bytes) const {
  char* next = static_cast<char*>(data);
  while (bytes > 0) {
    const ssize_t got = ::pread(descriptor_, next, bytes, offset);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) throw_read_error(path_, errno);
    if (got == 0)
      throw Error(ErrorKind::input,
                  fmt::format("{}: ends after {} bytes, expected {} more", path_.string(), offset, bytes));
    next += got;
    offset += got;
    bytes -= static_cast<std::size_t>(got);
  }
}

}  // namespace pergola
