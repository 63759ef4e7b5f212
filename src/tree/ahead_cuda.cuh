#pragma once
// CUDA only: branches that other ranks will need, found by the rank that has them and sent before anybody asks.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "comm/communicator.hpp"
#include "device/buffer.hpp"
#include "tree/cell_messages_cuda.cuh"

namespace pergola::tree {

/// The leaves of the top, as all ranks know them.
struct TopLeaves {
  const std::uint32_t* rows = nullptr;  // `words` for each leaf: its CellRecord, then its BoxAbout
  std::int64_t words = 0;
  const std::uint32_t *cell = nullptr, *begin = nullptr;  // the cell of each leaf, and the first leaf of each rank
  std::uint32_t first_own = 0, own = 0;
};

/// An own cell that another rank has, or that is on its way there.
struct PrefetchedCell {
  std::uint32_t rank, cell;  // which rank, and its number here
  std::uint32_t place;       // among the cells that went to the rank; of the top: its number, and `of_top`
  std::uint32_t below;       // the place of its first child, or particle; `not_sent`
  std::uint32_t number;      // among the pieces of a message
  static constexpr std::uint32_t of_top = 1u << 31, not_sent = ~0u;
};

/// A message of such cells: particles, cells, a header for each piece, softening numbers.
struct PrefetchedMessage {
  std::int64_t at = 0, cells_at = 0, headers_at = 0, softening_at = 0, bytes = 0;  // from the beginning of all messages
  std::uint32_t cells = 0, particles = 0, pieces = 0, first_piece = 0;
  std::uint32_t cells_before = 0;                      // that went this way earlier
  std::uint32_t earlier = 0, to = 0, particle_to = 0;  // of one that arrives: where those are, and what it brings goes
};

/// What goes ahead to each rank, from a tree that was just built: first what the estimate of accelerations opens, by
/// the distances of cells from the boxes of the rank's leaves of the top, which is all of it but for last bits; then
/// what a walk is likely to open. All ranks make all calls but forget() and the const ones.
class PrefetchedList {
 public:
  PrefetchedList(const Device& device, std::shared_ptr<Communicator> ranks);

  /// Another tree: nothing has gone.
  void forget() { gone_ = Gone::nothing; }
  /// And its memory goes back to the device.
  void give_back_memory() {
    forget();
    list_ = Buffer<PrefetchedCell>(), pieces_out_ = Buffer<CellPiece>(), pieces_in_ = Buffer<CellPiece>();
  }
  /// Whether what the estimate opens has gone, and nothing for a walk.
  bool may_go_on() const { return gone_ == Gone::for_estimate; }
  /// `levels` of own cells, the top one of them.
  template <class T>
  void find_for_estimate(const CellMessages<T>& tree, const TopLeaves& top, int levels);
  /// acceleration: of the cells of the top; support: of the pair law.
  template <class T>
  void find_for_walk(const CellMessages<T>& tree, const TopLeaves& top, int levels, const Opening& opening,
                     const float* acceleration, double support);
  /// Ranks tell each other how much goes. What arrives goes to the cells and particles from these numbers on.
  template <class T>
  void lay_out(const CellMessages<T>& tree, std::uint32_t cells, std::uint32_t particles);
  std::int64_t out_bytes() const { return out_bytes_; }
  std::int64_t in_bytes() const { return in_bytes_; }
  std::uint32_t arriving_cells() const { return arriving_cells_; }
  std::uint32_t arriving_particles() const { return arriving_particles_; }
  std::vector<Communicator::Outgoing> messages_out(const std::byte* room) const;
  std::vector<Communicator::Incoming> messages_in(std::byte* room) const;
  /// Do not wait.
  template <class T>
  void pack(const CellMessages<T>& tree, std::byte* room);
  template <class T>
  void unpack(const CellMessages<T>& tree, const std::byte* room);

 private:
  enum class Gone { nothing, for_estimate, for_walk };
  void begin(std::int64_t first_generation);
  template <class Wants>
  void search(const CellRecord* record, const CellLink* link, int levels, const Wants& wants);
  template <class T>
  std::int64_t place_parts(const CellMessages<T>& tree, SharedBuffer<PrefetchedMessage>& letters) const;

  Device device_;
  std::shared_ptr<Communicator> ranks_;
  Gone gone_ = Gone::nothing;
  Buffer<PrefetchedCell> list_;
  std::int64_t wished_ = 0;                   // room that the list should have had
  std::uint32_t count_ = 0;                   // of the list
  Buffer<std::uint32_t> counts_;              // of the generations of a search; of each rank: cells, particles, pieces
  SharedBuffer<PrefetchedMessage> out_, in_;  // by rank
  Buffer<CellPiece> pieces_out_, pieces_in_;
  std::int64_t out_bytes_ = 0, in_bytes_ = 0;
  std::uint32_t arriving_cells_ = 0, arriving_particles_ = 0, arriving_pieces_ = 0;
};

}  // namespace pergola::tree
