#pragma once
#include <string>

#include "comm/communicator.hpp"
#include "io/snapshot.hpp"

namespace pergola::app {

/// A snapshot of which each rank reads its stretch of the particles, and checks them; one rank has all. All ranks call
/// it, and where one throws all do.
Snapshot read_stretch(const std::string& file, Communicator& ranks);

}  // namespace pergola::app
