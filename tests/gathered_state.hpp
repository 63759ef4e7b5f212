#pragma once
#include "base/state_source.hpp"
#include "comm/collectives.hpp"
#include "gravity/solver.hpp"

namespace pergola {

/// What a solver saves, on rank 0 with the fields of all ranks in the order of the input. All ranks call it.
inline StateBlocks gathered_state(Communicator& ranks, AnySolver& solver) {
  StateSource own;
  solver.save(own);
  StateBlocks all = own.blocks();
  for (const StateRange& range : own.ranges())
    if (range.per_particle) all.blocks()[range.name] = gather_on_root(ranks, all.blocks()[range.name]);
  return all;
}
inline StateBlocks saved_state(AnySolver& solver) { return gathered_state(*serial_communicator(), solver); }

/// restore() from blocks.
inline bool restore_from(AnySolver& solver, const StateBlocks& blocks, std::int64_t count) {
  BlocksInput from(blocks);
  return solver.restore(from, count);
}

}  // namespace pergola
