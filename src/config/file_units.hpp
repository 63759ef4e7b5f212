#pragma once
// What the numbers in files of particles mean: whether anybody states it, and how a configuration does.
// take_file_units() and with_file_units() (config/config.hpp) take over what files state.
#include <string>
#include <vector>

#include "base/host_device.hpp"
#include "config/config.hpp"

namespace pergola {

/// The files of particles of a run whose units nobody states, neither the files nor units.system: it takes G = 1. After
/// with_file_units(). Empty: units are stated, or there are no files.
PERGOLA_API std::vector<std::string> files_without_units(const RunConfig& config);
/// "m81.g2: states no units: the run takes G = 1; ...": the sentence for a run whose units are assumed.
PERGOLA_API std::string assumed_units_text(const std::string& file);
/// What a written file does not hold of its particles, not_carried() of io/snapshot_formats.hpp, as a sentence; with
/// lost units it says how a run of the file states them: [units] system = "gadget". `header`: of the particles.
PERGOLA_API std::string lost_text(const std::vector<std::string>& lost, const SnapshotHeader& header);

}  // namespace pergola
