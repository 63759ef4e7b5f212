#pragma once
#include "outputs/output.hpp"
#include "run/run.hpp"

namespace pergola {

/// The report card of a system at its end, into `results`, with the force error of the latest audit. It may take a
/// while (halos of a universe): each part that does is announced in the log, and a signal ends the checks before the
/// next one. False: it did, and whoever resumes goes on from the last checkpoint. All ranks call it.
bool fill_report_card(System& system, const RunConfig& config, const RunOptions& options, RunResults& results);

}  // namespace pergola
