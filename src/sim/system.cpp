#include "sim/system.hpp"

#include <fmt/core.h>

#include "base/error.hpp"
#include "sim/gravity_run.hpp"
#include "sim/plasma_simulation.hpp"

namespace pergola {

std::unique_ptr<System> make_system(const RunConfig& config, std::shared_ptr<Communicator> communicator,
                                    const StateBlocks* state) {
  if (config.is_plasma()) {
    if (communicator->size() > 1)
      throw Error(
          ErrorKind::input,
          fmt::format("{}: a run with [plasma] is computed by one process, found {} MPI ranks; start it without "
                      "mpirun",
                      config.source, communicator->size()));
    return std::make_unique<PlasmaSimulation>(config, state);
  }
  return std::make_unique<GravityRun>(config, std::move(communicator), state);
}

std::string snapshot_name(const RunConfig& config, int number) {
  return config.is_plasma() ? fmt::format("plasma_{:03}.h5", number) : fmt::format("snap_{:03}.hdf5", number);
}

}  // namespace pergola
