// Memory that the program itself asks for, by new and aligned_alloc; what libraries take for themselves is left to
// them. malloc and its kin are theirs too: the CUDA runtime is part of the program, and crashes without memory.
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <new>

#include "faults.hpp"

extern "C" {
void* __libc_malloc(std::size_t);
void* __libc_memalign(std::size_t, std::size_t);
}

namespace {

constexpr std::size_t large = std::size_t{64} << 10;

long every() {
  static const char* text = std::getenv("PERGOLA_FAULT_EVERY");
  static const long number = text ? std::atol(text) : 0;
  return number > 0 ? number : 97;
}

bool refused(const void* caller, std::size_t bytes) {
  if (!faults::in_program(caller)) return false;
  static std::atomic<long> small{0};
  if (bytes < large && ++small % every() != 0) return false;
  char text[32];
  std::snprintf(text, sizeof text, "%zu", bytes);
  return faults::count(faults::Kind::alloc, text) != 0;
}

void* no_memory() {
  errno = ENOMEM;
  return nullptr;
}

void* or_throw(void* memory) {
  if (!memory) throw std::bad_alloc();
  return memory;
}

void* aligned(std::size_t bytes, std::align_val_t alignment) {
  return __libc_memalign(static_cast<std::size_t>(alignment), bytes ? bytes : 1);
}

}  // namespace

#define CALLER __builtin_return_address(0)

extern "C" {
void* aligned_alloc(std::size_t alignment, std::size_t bytes) noexcept {
  return refused(CALLER, bytes) ? no_memory() : __libc_memalign(alignment, bytes);
}
}

void* operator new(std::size_t bytes) {
  return or_throw(refused(CALLER, bytes) ? nullptr : __libc_malloc(bytes ? bytes : 1));
}
void* operator new[](std::size_t bytes) {
  return or_throw(refused(CALLER, bytes) ? nullptr : __libc_malloc(bytes ? bytes : 1));
}
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept {
  return refused(CALLER, bytes) ? nullptr : __libc_malloc(bytes ? bytes : 1);
}
void* operator new[](std::size_t bytes, const std::nothrow_t&) noexcept {
  return refused(CALLER, bytes) ? nullptr : __libc_malloc(bytes ? bytes : 1);
}
void* operator new(std::size_t bytes, std::align_val_t alignment) {
  return or_throw(refused(CALLER, bytes) ? nullptr : aligned(bytes, alignment));
}
void* operator new[](std::size_t bytes, std::align_val_t alignment) {
  return or_throw(refused(CALLER, bytes) ? nullptr : aligned(bytes, alignment));
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }
