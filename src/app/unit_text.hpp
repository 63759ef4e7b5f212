#pragma once
#include <string>

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

}  // namespace pergola::app
