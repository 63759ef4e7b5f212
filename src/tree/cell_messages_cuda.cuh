#pragma once
// CUDA only: children of cells and particles of leaves as they go from the rank that has them to one that asks.
//
// Order of calls on both sides: lay_out() gives each piece its place in the buffer of its rank; pack() fills the
// buffers; after the exchange, unpack() appends cells and particles and links them to their parents.
#include <cstddef>
#include <cstdint>
#include <vector>

#include "device/buffer.hpp"
#include "tree/search_cuda.cuh"

namespace pergola::tree {

/// Children or particles of one cell in a message.
struct CellPiece {
  std::int64_t at, softening_at;  // bytes from the beginning of all messages
  std::uint32_t cell;             // whose they are, by its number here
  std::uint32_t children, particles;
  std::uint32_t to, rank;  // of one that arrives: the first cell or particle here, and who has it
};

/// Messages of pieces, one for each rank: particles, then cells, then softening numbers.
struct CellBuffers {
  std::vector<std::int64_t> at, bytes;  // by rank
  std::int64_t cells = 0, particles = 0, all_bytes = 0;
};

/// The arrays of a tree that messages are made of, and go into.
template <class T>
struct CellMessages {
  CellRecord* record = nullptr;
  CellLink* link = nullptr;
  T* row = nullptr;
  PlacedMass<T>* particle = nullptr;
  T* softening = nullptr;  // null: particles have none of their own
  Origin* origin = nullptr;
  std::uint32_t top = 0, own_end = 0;  // where `origin` has cells from own_end on
  std::int64_t row_chunks = 0;         // of sixteen bytes
  static constexpr std::int64_t record_chunks = sizeof(CellRecord) / 16;
  std::int64_t cell_bytes() const { return 16 * (record_chunks + row_chunks); }

  /// Where pieces stand in the messages, which they are exported; pieces are in the order of ranks.
  CellBuffers lay_out(std::vector<CellPiece>& pieces, std::size_t ranks) const;
  /// `pieces` in memory that the device reaches. Do not wait.
  void pack(const Device& device, const CellPiece* pieces, std::int64_t count, std::byte* room) const;
  /// Cells get their children or particles, also cells that come with other pieces.
  void unpack(const Device& device, const CellPiece* pieces, std::int64_t count, const std::byte* room) const;
};

}  // namespace pergola::tree
