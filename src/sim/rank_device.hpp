#pragma once
#include "comm/communicator.hpp"
#include "config/config.hpp"
#include "device/device.hpp"

namespace pergola {

/// The device of a rank of a run. With several ranks and no number given, the GPUs are dealt out in turn.
Device open_rank_device(const RunConfig& config, const Communicator& communicator);

}  // namespace pergola
