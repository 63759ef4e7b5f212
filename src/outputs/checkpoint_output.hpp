#pragma once
#include "outputs/output.hpp"

namespace pergola {

/// The folder of the directory of a run that the checkpoints are in.
inline constexpr const char* checkpoint_folder = "checkpoint";

/// checkpoint/: all that is needed to go on, whenever the run pauses for it. Taken at once, written by a thread of its
/// own while the steps go on.
OutputEntry checkpoint_output();

}  // namespace pergola
