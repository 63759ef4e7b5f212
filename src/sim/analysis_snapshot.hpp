#pragma once
#include <optional>
#include <string>

#include "analysis/analysis.hpp"
#include "config/config.hpp"
#include "io/snapshot.hpp"
#include "models/model.hpp"

namespace pergola {

/// What an analysis is given of the particles of a snapshot: the same of a file as of a run that has not written it.
/// `name`: for messages. `of_run`: the run that wrote it, for its static potentials and its universe with its waves
/// (the header's own values go before those); null: not known.
AnalysisSnapshot analysis_snapshot(const std::string& name, const SnapshotHeader& header, Particles particles,
                                   const RunConfig* of_run);

/// The waves that the box of a run began with: of its model, or of the [cosmology] that it states. None if they are not
/// known, or their table cannot be read any more; `why_not`, if given, then says why.
std::optional<ModelWaves> waves_at_start(const RunConfig& run, std::string* why_not = nullptr);

}  // namespace pergola
