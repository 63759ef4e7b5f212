#pragma once
#include <filesystem>
#include <functional>
#include <optional>
#include <string>

#include "config/config.hpp"
#include "outputs/schedule.hpp"
#include "run/run_directory.hpp"

// Steps before a run goes on: (1) find the checkpoint, (2) compare the configuration with that of the run so far,
// (3) keep outputs that the longer run would not have. Rank 0 does this, before anything changes.
namespace pergola {

/// Takes over what the run so far has chosen and the configuration does not state: the longest step, which may depend
/// on the end.
void keep_choices(RunConfig& now, const RunConfig& before);
/// Throws Error(input) naming the first key that a resumed run may not change.
void check_resumable(const RunConfig& now, const RunConfig& before);
/// The same for a branch (run/fork.hpp), which may also change the accuracy of forces and steps.
void check_forkable(const RunConfig& now, const RunConfig& before);

/// The newest checkpoint of a folder that can be used, with a notice if an older one has to be; none if none was ever
/// written. If there are some and none can be used: throws Error(input) with what was found and what to do.
std::optional<std::filesystem::path> checkpoint_to_resume(const std::filesystem::path& folder,
                                                          const std::function<void(const std::string&)>& notice);

/// For --resume where no checkpoint was ever written: moves the outputs there are into a folder of their own. Returns
/// the sentence for the user.
std::string keep_all(RunDirectory& directory);

/// For a finished run that is to go on until `end`. If the longer run has no snapshot at the former end (`times`
/// knows), keeps the last snapshot, the files of its number, and run.json. Returns the sentence for the user; empty:
/// nothing was kept.
std::string keep_shorter_end(RunDirectory& directory, SnapshotTimes times, double end);

}  // namespace pergola
