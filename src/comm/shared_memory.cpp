#include "comm/shared_memory.hpp"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <cstring>

namespace pergola {

namespace {

constexpr std::size_t line = 64;

std::size_t with_mark(std::size_t bytes) { return (bytes + line - 1) / line * line + line; }
std::byte* mark_in(const std::shared_ptr<void>& memory, std::size_t bytes) {
  return static_cast<std::byte*>(memory.get()) + with_mark(bytes) - line;
}

std::shared_ptr<void> mapped(int file, std::size_t bytes) {
  void* const memory = mmap(nullptr, with_mark(bytes), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (memory == MAP_FAILED) return nullptr;
  return {memory, [size = with_mark(bytes)](void* data) { munmap(data, size); }};
}

}  // namespace

/// A file without a name, which no limit of a folder holds for and nobody has to remove.
std::shared_ptr<void> make_shared_memory(std::size_t bytes, SharedName& name) {
  const int file = memfd_create("pergola", MFD_CLOEXEC);
  if (file < 0) return nullptr;
  // Taken from the system now: a page that it cannot give later would end the process.
  const bool given = posix_fallocate(file, 0, static_cast<off_t>(with_mark(bytes))) == 0;
  auto memory = given ? mapped(file, bytes) : nullptr;
  if (!memory) {
    close(file);
    return nullptr;
  }
  const auto now = std::chrono::steady_clock::now().time_since_epoch().count();
  name = {getpid(), file, static_cast<std::uint64_t>(now) * 0x9E3779B97F4A7C15u + static_cast<std::uint64_t>(getpid())};
  std::memcpy(mark_in(memory, bytes), &name.mark, sizeof name.mark);
  return memory;
}

/// In another container the number may be that of another process: what is not ours is not touched.
std::shared_ptr<void> open_shared_memory(std::size_t bytes, const SharedName& name) {
  if (name.file < 0) return nullptr;
  const int file =
      open(fmt::format("/proc/{}/fd/{}", name.process, name.file).c_str(), O_RDWR | O_CLOEXEC | O_NONBLOCK);
  if (file < 0) return nullptr;
  struct stat found {};
  const bool fits =
      fstat(file, &found) == 0 && S_ISREG(found.st_mode) && static_cast<std::size_t>(found.st_size) == with_mark(bytes);
  auto memory = fits ? mapped(file, bytes) : nullptr;
  close(file);
  if (memory && std::memcmp(mark_in(memory, bytes), &name.mark, sizeof name.mark) != 0) memory = nullptr;
  return memory;
}

void forget_name(const SharedName& name) {
  if (name.file >= 0) close(name.file);
}

}  // namespace pergola
