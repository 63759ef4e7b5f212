#include "sim/run_system.hpp"

#include <fmt/core.h>

#include "sim/gravity_run.hpp"

namespace pergola {

std::unique_ptr<RunSystem> make_run_system(const RunConfig& config, std::shared_ptr<Communicator> communicator,
                                           const StateBlocks* state) {
  return std::make_unique<GravityRun>(config, std::move(communicator), state);
}

std::string snapshot_name(const RunConfig&, int number) { return fmt::format("snap_{:03}.hdf5", number); }

}  // namespace pergola
