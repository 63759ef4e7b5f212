#pragma once
/// The files of a run as commands read them: series of numbered snapshots, run.json, and a rank's range of a snapshot.
///
/// A series is a set of files that differ in the number of their names only. Nothing here needs a configuration:
/// commands work on any directory with such files, also on those of other programs. Only read_stretch() is collective;
/// the other functions read names or small files on the calling rank.
#include <nlohmann/json.hpp>

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "comm/communicator.hpp"
#include "io/snapshot.hpp"

namespace pergola::app {

/// This file and the files beside it whose names differ in the number only, by number. A name without a number is a
/// series by itself.
std::vector<std::filesystem::path> series_of(const std::filesystem::path& file);

/// The snapshots in the directory of a run: snap_000.hdf5, … or plasma_000000.h5, … Throws Error(input) if there are
/// none.
std::vector<std::filesystem::path> snapshots_in(const std::filesystem::path& directory);

/// Up to 16 of the files, at equal distances from the first to the last.
std::vector<std::string> spread_over(const std::vector<std::string>& files);

/// Names as text.
std::vector<std::string> text_of(const std::vector<std::filesystem::path>& files);

/// run.json of a directory; an empty object if there is none that can be read.
nlohmann::json run_json(const std::filesystem::path& directory);

/// Reads and checks this rank's range of the particles of a snapshot. Collective; if one rank throws, all do.
Snapshot read_stretch(const std::string& file, Communicator& ranks);

}  // namespace pergola::app
