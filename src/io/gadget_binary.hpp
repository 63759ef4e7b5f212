#pragma once
// GADGET binary snapshots, formats 1 and 2, either byte order (Springel 2005, users' guide of GADGET-2, section 6).
// A file is a row of records, each with its length before and after it. The header (256 bytes) is the first; POS, VEL,
// ID and, for types without an entry in the mass table, MASS follow. In format 2 a record of 8 bytes with the block's
// name goes before each block.
#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace pergola {

/// Whether the first bytes of a file are those of a GADGET binary snapshot: format 1 (a record of 256 bytes) or 2 (a
/// record of 8 bytes that says HEAD), in either byte order.
bool starts_like_gadget(std::string_view start);

namespace gadget {

static_assert(std::endian::native == std::endian::little);

inline constexpr std::uint32_t header_bytes = 256;

// Places in the header.
inline constexpr std::size_t at_counts = 0, at_masses = 24, at_time = 72, at_redshift = 80, at_totals = 96,
                             at_files = 124, at_box = 128, at_omega0 = 136, at_lambda = 144, at_hubble = 152,
                             at_totals_high = 168;

template <class T>
T swapped(T value) {
  char bytes[sizeof(T)];
  std::memcpy(bytes, &value, sizeof(T));
  std::reverse(bytes, bytes + sizeof(T));
  std::memcpy(&value, bytes, sizeof(T));
  return value;
}

}  // namespace gadget

}  // namespace pergola
