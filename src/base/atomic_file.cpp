#include "base/atomic_file.hpp"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <mutex>
#include <system_error>

#include "base/error.hpp"

namespace pergola {

namespace {

std::mutex passing_mutex;
PassingFile* first_passing = nullptr;

}  // namespace

bool names_open_file(const char* path, int descriptor) {
  struct stat open {
  }, named{};
  return ::fstat(descriptor, &open) == 0 && ::stat(path, &named) == 0 && open.st_dev == named.st_dev &&
         open.st_ino == named.st_ino;
}

int PassingFile::make(const std::filesystem::path& path) {
  const std::lock_guard lock(passing_mutex);
  const int descriptor = ::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (descriptor >= 0) add(path, -1);
  return descriptor;
}

void PassingFile::take(const std::filesystem::path& path, int descriptor) {
  const std::lock_guard lock(passing_mutex);
  add(path, descriptor);
}

void PassingFile::add(const std::filesystem::path& path, int descriptor) {
  path_ = path.c_str();
  descriptor_ = descriptor;
  before_ = nullptr;
  after_ = first_passing;
  if (first_passing) first_passing->before_ = this;
  first_passing = this;
}

void PassingFile::forget() {
  const std::lock_guard lock(passing_mutex);
  if (!path_) return;
  (before_ ? before_->after_ : first_passing) = after_;
  if (after_) after_->before_ = before_;
  path_ = nullptr;
}

void PassingFile::remove_all() {
  passing_mutex.lock();  // for good
  for (const PassingFile* file = first_passing; file; file = file->after_)
    if (file->descriptor_ < 0 || names_open_file(file->path_, file->descriptor_)) ::unlink(file->path_);
  for (const PassingFile* file = first_passing; file; file = file->after_)
    if (file->descriptor_ < 0) ::rmdir(file->path_);  // a folder: now it is empty, or has what is not ours
}

namespace fs = std::filesystem;

void throw_write_error(const fs::path& path, int error_number) {
  const bool bad_name =
      error_number == ENOENT || error_number == ENOTDIR || error_number == EISDIR || error_number == ENAMETOOLONG;
  throw Error(bad_name ? ErrorKind::input : ErrorKind::system,
              fmt::format("{}: cannot be written: {}", path.string(), std::generic_category().message(error_number)));
}

namespace {

/// The file that `path` stands for: through a symbolic link, and never a directory or a device.
fs::path resolve(const fs::path& path) {
  std::error_code error;
  fs::path target = path;
  if (fs::is_symlink(fs::symlink_status(path, error))) {
    target = fs::weakly_canonical(path, error);
    if (error) throw_write_error(path, error.value());
  }
  const auto status = fs::status(target, error);
  if (fs::is_directory(status) || !target.has_filename()) throw_write_error(path, EISDIR);
  if (fs::exists(status) && !fs::is_regular_file(status))
    throw Error(ErrorKind::system, fmt::format("{}: cannot be written: it is not a regular file", path.string()));
  return target;
}

fs::path folder_of(const fs::path& file) { return file.has_parent_path() ? file.parent_path() : fs::path("."); }

}  // namespace

int sync_directory(const fs::path& directory) {
  const int descriptor = ::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) return errno == EACCES ? 0 : errno;
  const int error = ::fsync(descriptor) == 0 || errno == EINVAL || errno == ENOTSUP ? 0 : errno;
  ::close(descriptor);
  return error;
}

std::vector<fs::path> make_directories(const fs::path& path, std::error_code& error) {
  std::vector<fs::path> missing, made;
  fs::path at = fs::absolute(path, error);
  if (error) return made;
  if (!at.has_filename()) at = at.parent_path();  // of a name that ends with a slash
  std::error_code ignored;
  for (; !at.empty() && at != at.parent_path() && !fs::exists(at, ignored); at = at.parent_path())
    missing.push_back(at);
  for (auto next = missing.rbegin(); next != missing.rend() && !error; ++next) {
    if (fs::create_directory(*next, error)) made.push_back(*next);
    if (const int refused = error ? 0 : sync_directory(next->parent_path()))
      error = std::error_code(refused, std::generic_category());
  }
  if (error)
    while (!made.empty()) {
      fs::remove(made.back(), ignored);
      made.pop_back();
    }
  return made;
}

AtomicFile::AtomicFile(const fs::path& path) : path_(path), target_(resolve(path)) {
  static std::atomic<unsigned> counter{0};
  for (int attempt = 0; attempt < 100; ++attempt) {
    temporary_ = target_;
    temporary_.replace_filename(
        fmt::format(".{}{}{}-{}", target_.filename().string(), temporary_mark, ::getpid(), counter++));
    descriptor_ = passing_.make(temporary_);
    if (descriptor_ >= 0) return;
    if (errno != EEXIST) break;
  }
  throw_write_error(path_, errno);
}

AtomicFile::~AtomicFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
}

void AtomicFile::write(const void* data, std::size_t bytes) {
  const char* next = static_cast<const char*>(data);
  while (bytes > 0) {
    const ssize_t written = ::write(descriptor_, next, bytes);
    if (written < 0) {
      if (errno == EINTR) continue;
      throw_write_error(path_, errno);
    }
    next += written;
    bytes -= static_cast<std::size_t>(written);
  }
}

void AtomicFile::write_at(std::int64_t offset, const void* data, std::size_t bytes) {
  const char* next = static_cast<const char*>(data);
  while (bytes > 0) {
    const ssize_t written = ::pwrite(descriptor_, next, bytes, offset);
    if (written < 0) {
      if (errno == EINTR) continue;
      throw_write_error(path_, errno);
    }
    next += written;
    offset += written;
    bytes -= static_cast<std::size_t>(written);
  }
}

void AtomicFile::reserve(std::int64_t bytes) {
  if (bytes <= 0) return;
  int status = 0;
  do status = ::fallocate(descriptor_, FALLOC_FL_KEEP_SIZE, 0, bytes);
  while (status != 0 && errno == EINTR);
  if (status == 0) {
    reserved_ = true;
    return;
  }
  if (errno != EOPNOTSUPP && errno != ENOSYS && errno != EINVAL) throw_write_error(path_, errno);
  struct statvfs room {};
  if (::fstatvfs(descriptor_, &room) == 0 &&
      static_cast<double>(room.f_bavail) * static_cast<double>(room.f_frsize) < static_cast<double>(bytes))
    throw_write_error(path_, ENOSPC);
}

void AtomicFile::commit() {
  struct stat status {};
  if (reserved_ && (::fstat(descriptor_, &status) != 0 || ::ftruncate(descriptor_, status.st_size) != 0))
    throw_write_error(path_, errno);  // gives back what was reserved and not used
  if (::fsync(descriptor_) != 0 && errno != EINVAL) throw_write_error(path_, errno);
  const int closed = ::close(descriptor_);
  descriptor_ = -1;
  if (closed != 0) throw_write_error(path_, errno);
  std::error_code ignored;
  const bool replaces = fs::exists(target_, ignored);
  if (::rename(temporary_.c_str(), target_.c_str()) != 0) throw_write_error(path_, errno);
  passing_.forget();
  temporary_.clear();
  if (const int error = sync_directory(folder_of(target_))) {
    if (!replaces) ::unlink(target_.c_str());
    throw_write_error(path_, error);
  }
}

void write_text(const std::filesystem::path& path, std::string_view text) {
  AtomicFile file(path);
  file.write(text);
  file.commit();
}

}  // namespace pergola
