#pragma once
#include <optional>
#include <string>

#include "analysis/analysis.hpp"
#include "io/snapshot.hpp"
#include "physics/cosmology.hpp"

namespace pergola {

/// What an analysis is given of the particles of a snapshot: the same of a file as of a run that has not written it.
/// `name`: for messages. `of_run`: the universe as the run says it, with its waves; the header's own values go before
/// it.
AnalysisSnapshot analysis_snapshot(const std::string& name, const SnapshotHeader& header, Particles particles,
                                   const std::optional<physics::Cosmology>& of_run);

}  // namespace pergola
