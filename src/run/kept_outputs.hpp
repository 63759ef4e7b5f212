#pragma once
#include <string>

#include "outputs/schedule.hpp"
#include "run/run_directory.hpp"

namespace pergola {

/// Asked to resume where no checkpoint was ever written: what is there stays, out of the way. What is to be said.
std::string keep_all(RunDirectory& directory);

/// A finished run is to go on until `end`: where it had ended there may be no snapshot due, which `times` knows. That
/// of the shorter run, and what was measured of it, is then kept, with its run.json. What is to be said; empty:
/// nothing.
std::string keep_shorter_end(RunDirectory& directory, SnapshotTimes times, double end);

}  // namespace pergola
