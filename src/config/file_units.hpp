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
/// As a configuration states these units: [units] system = "gadget".
PERGOLA_API std::string units_statement(const FileUnits& units);

}  // namespace pergola
