#pragma once
#include <filesystem>

#include "comm/communicator.hpp"
#include "io/snapshot_writer.hpp"

namespace pergola {

/// Writes the particles of all ranks, of which each has the next stretch in the order of the input: as one file, by
/// rank 0, or as the files of a set, each by one rank, all ranks at once. They have the bytes of those that one process
/// writes. A file's particles come from the ranks that have them, some at a time: no rank has more than its own and a
/// piece. `path` is that of rank 0; no accelerations. All ranks call it. When it returns all files have their names;
/// where a rank fails all throw, and none is left.
PERGOLA_API void write_spread_snapshot(Communicator& ranks, const std::filesystem::path& path,
                                       const SnapshotHeader& header, ParticleSource& own,
                                       const WriteOptions& options = {});

}  // namespace pergola
