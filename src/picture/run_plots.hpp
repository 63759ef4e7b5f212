#pragma once
#include <string>

#include "picture/drawing.hpp"
#include "picture/run_log.hpp"

namespace pergola {

/// What the numbers of a log are in; empty: not known.
struct LogUnits {
  std::string time, energy, momentum;  // momentum: of angular momentum a length more
  std::string potential = {};          // of a plasma's field
  std::string length = {};
  std::string clock = "time";  // what the time is called
};

/// From energy.csv: |ΔE/E| against time on a logarithmic axis, and the energies themselves; of a plasma, whose log has
/// kinetic energies by species, also the energy of the field on a logarithmic axis, where waves grow along lines.
PERGOLA_API Drawing plot_energy(const RunLog& energy, const LogUnits& units = {});

/// From energy.csv: how far total momentum and angular momentum have moved from their first values.
PERGOLA_API Drawing plot_momentum(const RunLog& energy, const LogUnits& units = {});

/// From audit.csv: relative force errors against time on a logarithmic axis.
PERGOLA_API Drawing plot_audit(const RunLog& audit, const LogUnits& units = {});

/// From lagrangian.csv: the radii that hold parts of the mass against time, on a logarithmic axis.
PERGOLA_API Drawing plot_radii(const RunLog& radii, const LogUnits& units = {});

/// From profile.csv: seconds per stage, the longest first.
PERGOLA_API Drawing plot_profile(const RunLog& profile);

}  // namespace pergola
