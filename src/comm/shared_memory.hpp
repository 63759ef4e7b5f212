#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>

namespace pergola {

/// How a process finds memory of another one.
struct SharedName {
  int process = 0, file = -1;  // no file: there is none
  std::uint64_t mark = 0;      // stands behind the memory
};

/// Some bytes, all zero. Null where the system gives none.
std::shared_ptr<void> make_shared_memory(std::size_t bytes, SharedName& name);
/// The same in another process; null where it cannot be had.
std::shared_ptr<void> open_shared_memory(std::size_t bytes, const SharedName& name);
/// Called by the process that made it, when the others have it, which ends with the last one.
void forget_name(const SharedName& name);

}  // namespace pergola
