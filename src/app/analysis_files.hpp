#pragma once
#include <memory>
#include <string>
#include <vector>

#include "analysis/analysis.hpp"

namespace pergola::app {

/// The files that `pergola analyze` was given, for an analysis: of a directory all snapshots of the run, or the last
/// one, as the entry asks. Throws Error(input) for one of another kind than the analysis needs, and for a directory
/// without snapshots. Of several `ranks` each is given its stretch of the particles.
AnalysisFiles analysis_files(const AnalysisEntry& entry, const std::vector<std::string>& given,
                             std::shared_ptr<Communicator> ranks);

}  // namespace pergola::app
