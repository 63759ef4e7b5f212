#include "sim/gravity_run.hpp"
#include "sim/system_entry.hpp"

namespace pergola {

namespace {

std::unique_ptr<System> make(const RunConfig& config, std::shared_ptr<Communicator> communicator,
                             const StateBlocks* state) {
  return std::make_unique<GravityRun>(config, std::move(communicator), state);
}

}  // namespace

SystemEntry gravity_system_entry() {
  return {
      .kind = "gravity", .snapshots = "snap_#.hdf5", .picture = "cluster", .starts_from_snapshots = true, .make = make};
}

}  // namespace pergola
