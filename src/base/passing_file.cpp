#include "base/passing_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <mutex>

namespace pergola {

namespace {

std::mutex mutex;
PassingFile* first = nullptr;

}  // namespace

bool names_open_file(const char* path, int descriptor) {
  struct stat open {
  }, named{};
  return ::fstat(descriptor, &open) == 0 && ::stat(path, &named) == 0 && open.st_dev == named.st_dev &&
         open.st_ino == named.st_ino;
}

int PassingFile::make(const std::filesystem::path& path) {
  const std::lock_guard lock(mutex);
  const int descriptor = ::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (descriptor >= 0) add(path, -1);
  return descriptor;
}

void PassingFile::take(const std::filesystem::path& path, int descriptor) {
  const std::lock_guard lock(mutex);
  add(path, descriptor);
}

void PassingFile::add(const std::filesystem::path& path, int descriptor) {
  path_ = path.c_str();
  descriptor_ = descriptor;
  before_ = nullptr;
  after_ = first;
  if (first) first->before_ = this;
  first = this;
}

void PassingFile::forget() {
  const std::lock_guard lock(mutex);
  if (!path_) return;
  (before_ ? before_->after_ : first) = after_;
  if (after_) after_->before_ = before_;
  path_ = nullptr;
}

void PassingFile::remove_all() {
  mutex.lock();  // for good
  for (const PassingFile* file = first; file; file = file->after_)
    if (file->descriptor_ < 0 || names_open_file(file->path_, file->descriptor_)) ::unlink(file->path_);
  for (const PassingFile* file = first; file; file = file->after_)
    if (file->descriptor_ < 0) ::rmdir(file->path_);  // a folder: now it is empty, or has what is not ours
}

}  // namespace pergola
