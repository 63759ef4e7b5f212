#include <fmt/core.h>

#include "base/error.hpp"
#include "sim/plasma_system.hpp"
#include "sim/system_entry.hpp"

namespace pergola {

namespace {

std::unique_ptr<System> make(const RunConfig& config, std::shared_ptr<Communicator> communicator, StateInput* state) {
  if (communicator->size() > 1)
    throw Error(ErrorKind::input,
                fmt::format("{}: a run with [plasma] is computed by one process, found {} MPI ranks; start it without "
                            "mpirun",
                            config.source, communicator->size()));
  return std::make_unique<PlasmaSystem>(config, state);
}

}  // namespace

SystemEntry plasma_system_entry() {
  return {.kind = "plasma",
          .snapshots = "plasma_#.h5",
          .picture = [](const RunConfig&) -> std::string { return "plasma"; },
          .make = make};
}

}  // namespace pergola
