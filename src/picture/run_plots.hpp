#pragma once
#include "picture/image.hpp"
#include "picture/run_log.hpp"

namespace pergola {

/// From energy.csv: |ΔE/E| against time on a logarithmic axis, and the energies themselves.
PERGOLA_API Image plot_energy(const RunLog& energy);

/// From energy.csv: how far total momentum and angular momentum have moved from their first values.
PERGOLA_API Image plot_momentum(const RunLog& energy);

/// From audit.csv: relative force errors against time on a logarithmic axis.
PERGOLA_API Image plot_audit(const RunLog& audit);

/// From profile.csv: seconds per stage, the longest first.
PERGOLA_API Image plot_profile(const RunLog& profile);

}  // namespace pergola
