#pragma once
// What the parts of the test library share: which call is to fail, and the log of all calls.
#include <cstddef>

namespace faults {

enum class Kind { open, write, reserve, truncate, sync, close, rename, mkdir, remove, alloc, mpi };
inline constexpr int kinds = 11;

/// Counts one call of the kind, writes it to the log, and returns the errno value that it is to fail with: 0 lets it
/// pass.
int count(Kind kind, const char* detail, const char* second = nullptr);

/// Whether calls about this file are counted (PERGOLA_FAULT_UNDER).
bool counted(const char* path);

/// Whether the address lies in the program itself, not in a library.
bool in_program(const void* address);

}  // namespace faults
