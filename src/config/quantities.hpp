#pragma once
// Numbers that are written with a unit: "5 Myr", "100 pc". The configuration, commands that have lengths or masses as
// options, and Python all read them here.
#include <optional>
#include <string>

#include "base/host_device.hpp"
#include "base/units.hpp"
#include "io/snapshot.hpp"

namespace pergola {

/// What numbers with a unit are counted in: the units of the run, if it has any, and whether it is one of a universe,
/// where lengths and masses are over h and the time is the scale factor.
struct QuantityUnits {
  std::optional<UnitSystem> system;
  bool universe = false;
  std::string unreadable = {};  // why a file of particles, which may state units, cannot be read; empty: it can
  /// Without a system: what would state one.
  std::string unstated = "[units] system = \"stellar\", for example, states some";
};
/// Of a file of particles.
PERGOLA_API QuantityUnits quantity_units(const std::string& file, const SnapshotHeader& header);

/// "5 Myr" as a number of these units; none: the text does not begin with a number, or nothing has this dimension.
/// `name`: what the number is, for the Error(input) of a unit that does not fit.
PERGOLA_API std::optional<double> plain_number(const std::string& text, const Dimension& dimension,
                                               const QuantityUnits& units, const std::string& name);

}  // namespace pergola
