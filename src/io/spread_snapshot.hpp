#pragma once
#include <filesystem>

#include "comm/communicator.hpp"
#include "io/snapshot_writer.hpp"

namespace pergola {

/// Writes the particles of all ranks; each rank has the next range in the order of the input.
///
/// Rank 0 writes one file, or several ranks write the files of a set at once, each file by one rank. The bytes are
/// those that one process writes. Steps: (1) all ranks learn how many particles of each species every rank has; (2)
/// round by round each writer receives the next piece of its file from the ranks that own it; (3) all files are ended;
/// (4) they get their names, the first file of a set last. No rank holds more than its own particles and a piece.
/// `path` is that of rank 0; accelerations are not allowed. Collective. When it returns, all files have their names; if
/// one rank fails, all throw and no file is left.
PERGOLA_API void write_distributed_snapshot(Communicator& ranks, const std::filesystem::path& path,
                                            const SnapshotHeader& header, ParticleSource& own,
                                            const WriteOptions& options = {});

}  // namespace pergola
