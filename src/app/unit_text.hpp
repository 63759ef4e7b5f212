#pragma once
#include <string>

#include "analysis/analysis_input.hpp"
#include "io/snapshot.hpp"

namespace pergola::app {

/// The units of a snapshot in words for pictures; empty where the file states none, or N-body units.
struct UnitTexts {
  std::string length;           // "kpc"
  std::string surface_density;  // "10^{10} Msun/kpc^{2}"
};
UnitTexts unit_texts(const SnapshotHeader& header);

/// "t = 1.24 Gyr" where the file states units, "t = 1.5" where not; "z = 0.5" of a cosmological snapshot.
std::string time_text(const SnapshotHeader& header);

/// The same for tables, without marks of text: "1e10 Msun", "km/s", "kpc/(km/s)".
AnalysisUnits plain_units(const SnapshotHeader& header);

}  // namespace pergola::app
