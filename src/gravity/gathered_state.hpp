#pragma once
#include "comm/collectives.hpp"
#include "gravity/spread_state.hpp"

namespace pergola {

/// All of a state that ranks save in shares, on rank 0, for those who cannot do with pieces; the others have its names.
/// All ranks call it.
inline void gather_state(Communicator& ranks, DistributedSolverState& state, StateBlocks& blocks) {
  StateSource own;
  state.save(own);
  const StateBlocks pieces = own.blocks();
  for (const auto& [name, bytes] : pieces.blocks()) blocks.blocks()[name] = bytes;
  for (const StateRange& range : own.ranges())
    if (range.total > 0) blocks.blocks()[range.name] = gather_on_root(ranks, blocks.blocks()[range.name]);
}

}  // namespace pergola
