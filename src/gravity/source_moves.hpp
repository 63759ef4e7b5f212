#pragma once
#include <cstddef>
#include <cstdint>

#include "base/view.hpp"
#include "domain/device_routing.hpp"
#include "domain/routing.hpp"

namespace pergola {

/// Sources go to where they are worked on once more than one of so many would have to be sent in a step: a move, which
/// takes all fields of all of them to another place in memory, takes as long as sending that many to and fro for some
/// steps. From roots of a forest on GPUs fewer leave.
inline constexpr std::int64_t one_in_moves = 8, one_in_moves_of_forest = 128;

/// What solvers of spread particles are that work on them on other ranks than those that have them: the sources may go
/// there for good, and come back. Way: Routing, or DeviceRouting of sources on GPUs. All ranks make all calls but
/// way().
template <class Way>
class SourceMovesBy {
 public:
  virtual ~SourceMovesBy() = default;
  /// How the sources of the last prepare() or update() get from the ranks that have them to those that work on them;
  /// null: there were none.
  virtual Way* way() = 0;
  /// They go where more than one of so many would have to be sent in a step.
  virtual std::int64_t one_in() const { return one_in_moves; }
  /// They have all gone that way, and are given by their new ranks from now on: the k-th that arrived here stands at
  /// places[k], on the device, in memory that may be what it has lent.
  virtual void have_come(View<const std::uint32_t> places) = 0;
  /// After that they have left again by `home`, in the order in which they stood here: the k-th that arrived here by it
  /// stands at places[k].
  virtual void have_left(const Way& home, View<const std::uint32_t> places) = 0;
  /// Whether know_places() may say what ids of sources would.
  virtual bool takes_places() const { return false; }
  /// known: sources have no ids for a while, and are exported apart by their places in the input, which stand here by
  /// source. The same on all ranks.
  virtual void know_places([[maybe_unused]] bool known, [[maybe_unused]] const std::uint32_t* places) {}
  /// Memory of its device that it does not need before the next prepare() or update(); null: it has none to lend.
  virtual std::byte* lend([[maybe_unused]] std::int64_t bytes) { return nullptr; }
  /// Gives all such memory back to the device.
  virtual void give_back_memory() {}
  /// Of the device's memory beside device_bytes(), where not always all of n sources ask.
  virtual std::int64_t bytes_for_some([[maybe_unused]] std::int64_t n) const { return 0; }
};

using SourceMoves = SourceMovesBy<Routing>;
using DeviceSourceMoves = SourceMovesBy<DeviceRouting>;

}  // namespace pergola
