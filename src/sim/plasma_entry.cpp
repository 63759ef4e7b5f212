#include <utility>

#include "sim/plasma_system.hpp"
#include "sim/system_entry.hpp"

namespace pergola {

namespace {

std::unique_ptr<System> make(const RunConfig& config, std::shared_ptr<Communicator> communicator, StateInput* state) {
  return std::make_unique<PlasmaSystem>(config, state, std::move(communicator));
}

}  // namespace

SystemEntry plasma_system_entry() {
  return {.kind = "plasma",
          .snapshots = "plasma_#.h5",
          .picture = [](const RunConfig&) -> std::string { return "plasma"; },
          .make = make};
}

}  // namespace pergola
