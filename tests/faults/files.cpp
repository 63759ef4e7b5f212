// Calls that change files. A path that is not absolute is not counted: the tests give absolute ones.
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstdarg>
#include <cstdio>
#include <cstring>

#include "faults.hpp"

using faults::count;
using faults::counted;
using faults::Kind;

namespace {

template <class Function>
Function* next(Function*, const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

/// The regular file or folder that a descriptor stands for, if calls about it count.
bool path_of(int descriptor, char (&path)[PATH_MAX]) {
  const int before = errno;
  char link[64];
  std::snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
  const ssize_t length = readlink(link, path, sizeof path - 1);
  errno = before;
  if (length <= 0) return false;
  path[length] = 0;
  return path[0] == '/' && counted(path) && std::strncmp(path, "/dev/", 5) != 0 && std::strncmp(path, "/proc/", 6) != 0;
}

int refused(Kind kind, int descriptor) {
  char path[PATH_MAX];
  return path_of(descriptor, path) ? count(kind, path) : 0;
}

int refused_open(const char* path, int flags) {
  if ((flags & O_ACCMODE) == O_RDONLY || path[0] != '/' || !counted(path)) return 0;
  return count(Kind::open, path);
}

int fail(int error) {
  errno = error;
  return -1;
}

mode_t mode_in(int flags, va_list& list) { return flags & (O_CREAT | O_TMPFILE) ? va_arg(list, mode_t) : 0; }

}  // namespace

#define OPEN(name)                                                       \
  int name(const char* path, int flags, ...) {                           \
    va_list list;                                                        \
    va_start(list, flags);                                               \
    const mode_t mode = mode_in(flags, list);                            \
    va_end(list);                                                        \
    if (const int error = refused_open(path, flags)) return fail(error); \
    static const auto real = next(&name, #name);                         \
    return real(path, flags, mode);                                      \
  }
#define FOPEN(name)                                                                             \
  FILE* name(const char* path, const char* how) {                                               \
    if (const int error = refused_open(path, std::strpbrk(how, "wa+") ? O_WRONLY : O_RDONLY)) { \
      errno = error;                                                                            \
      return nullptr;                                                                           \
    }                                                                                           \
    static const auto real = next(&name, #name);                                                \
    return real(path, how);                                                                     \
  }
// Half of what was to be written is in the file when the call fails.
#define PWRITE(name, Offset)                                                    \
  ssize_t name(int descriptor, const void* data, size_t bytes, Offset offset) { \
    static const auto real = next(&name, #name);                                \
    if (const int error = refused(Kind::write, descriptor)) {                   \
      if (bytes > 1) real(descriptor, data, bytes / 2, offset);                 \
      return fail(error);                                                       \
    }                                                                           \
    return real(descriptor, data, bytes, offset);                               \
  }
#define BY_DESCRIPTOR(kind, name)                                              \
  int name(int descriptor) {                                                   \
    if (const int error = refused(Kind::kind, descriptor)) return fail(error); \
    static const auto real = next(&name, #name);                               \
    return real(descriptor);                                                   \
  }
#define TRUNCATE(name, Offset)                                                     \
  int name(int descriptor, Offset length) noexcept {                               \
    if (const int error = refused(Kind::truncate, descriptor)) return fail(error); \
    static const auto real = next(&name, #name);                                   \
    return real(descriptor, length);                                               \
  }
#define RESERVE(name, Offset)                                                     \
  int name(int descriptor, int mode, Offset offset, Offset length) {              \
    if (const int error = refused(Kind::reserve, descriptor)) return fail(error); \
    static const auto real = next(&name, #name);                                  \
    return real(descriptor, mode, offset, length);                                \
  }
#define REMOVE(name)                                                       \
  int name(const char* path) noexcept {                                    \
    if (path[0] == '/' && counted(path))                                   \
      if (const int error = count(Kind::remove, path)) return fail(error); \
    static const auto real = next(&name, #name);                           \
    return real(path);                                                     \
  }

extern "C" {

OPEN(open)
OPEN(open64)
FOPEN(fopen)
FOPEN(fopen64)
PWRITE(pwrite, off_t)
PWRITE(pwrite64, off64_t)
BY_DESCRIPTOR(sync, fsync)
BY_DESCRIPTOR(sync, fdatasync)
TRUNCATE(ftruncate, off_t)
TRUNCATE(ftruncate64, off64_t)
RESERVE(fallocate, off_t)
RESERVE(fallocate64, off64_t)
REMOVE(unlink)
REMOVE(rmdir)
REMOVE(remove)

ssize_t write(int descriptor, const void* data, size_t bytes) {
  static const auto real = next(&write, "write");
  if (const int error = refused(Kind::write, descriptor)) {
    if (bytes > 1) real(descriptor, data, bytes / 2);
    return fail(error);
  }
  return real(descriptor, data, bytes);
}

ssize_t writev(int descriptor, const iovec* parts, int number) {
  static const auto real = next(&writev, "writev");
  if (const int error = refused(Kind::write, descriptor)) {
    if (number > 1) real(descriptor, parts, number / 2);
    return fail(error);
  }
  return real(descriptor, parts, number);
}

/// Only of files that can be written; the descriptor is closed in any case, as Linux does.
int close(int descriptor) {
  static const auto real = next(&close, "close");
  const int before = errno, flags = fcntl(descriptor, F_GETFL);
  errno = before;
  const int error = flags >= 0 && (flags & O_ACCMODE) != O_RDONLY ? refused(Kind::close, descriptor) : 0;
  const int result = real(descriptor);
  return error ? fail(error) : result;
}

int rename(const char* from, const char* to) noexcept {
  if (to[0] == '/' && counted(to))
    if (const int error = count(Kind::rename, from, to)) return fail(error);
  static const auto real = next(&rename, "rename");
  return real(from, to);
}

int mkdir(const char* path, mode_t mode) noexcept {
  if (path[0] == '/' && counted(path))
    if (const int error = count(Kind::mkdir, path)) return fail(error);
  static const auto real = next(&mkdir, "mkdir");
  return real(path, mode);
}

/// Of a file in an open folder: std::filesystem::remove_all().
int unlinkat(int folder, const char* name, int flags) noexcept {
  char path[PATH_MAX], whole[2 * PATH_MAX];
  static const auto real = next(&unlinkat, "unlinkat");
  if (name[0] == '/' || folder == AT_FDCWD) {
    if (name[0] == '/' && counted(name))
      if (const int error = count(Kind::remove, name)) return fail(error);
  } else if (path_of(folder, path)) {
    std::snprintf(whole, sizeof whole, "%s/%s", path, name);
    if (const int error = count(Kind::remove, whole)) return fail(error);
  }
  return real(folder, name, flags);
}

}  // extern "C"
