#pragma once
#include <filesystem>
#include <functional>
#include <optional>
#include <string>

#include "analysis/energy.hpp"
#include "base/profile.hpp"
#include "comm/communicator.hpp"
#include "config/config.hpp"
#include "io/checkpoint.hpp"
#include "outputs/output.hpp"

namespace pergola {

/// What a run's checkpoint holds beside the state of the integrator.
struct RunPosition {
  RunConfig config;
  Energies start;   // at the start of the run
  double time = 0;  // of the state; checkpoints of earlier versions do not say it
  double wall_seconds = 0;
  OutputMemory outputs;
  Profile profile;
};

std::string describe(const RunPosition& position);
/// Throws Error(input) on a description of another version.
RunPosition read_description(const std::string& description);

/// Throws Error(input) naming the first key that a resumed run may not change.
void check_resumable(const RunConfig& now, const RunConfig& before);

/// The newest checkpoint of a folder that can be used, with a notice where that is not the newest; nothing where none
/// was ever written. Throws Error(input) where there are some and none can be used, with what was found and what to do.
std::optional<Checkpoint> checkpoint_to_resume(const std::filesystem::path& folder,
                                               const std::function<void(const std::string&)>& notice);

/// Rank 0's checkpoint on every rank.
void share_checkpoint(Communicator& communicator, std::optional<Checkpoint>& checkpoint);

}  // namespace pergola
