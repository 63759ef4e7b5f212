#include "sim/gravity_run.hpp"
#include "sim/system_entry.hpp"

namespace pergola {

namespace {

std::unique_ptr<System> make(const RunConfig& config, std::shared_ptr<Communicator> communicator, StateInput* state) {
  return std::make_unique<GravityRun>(config, std::move(communicator), state);
}

/// After what it is a picture of.
std::string picture(const RunConfig& config) {
  if (config.cosmology) return "universe";
  if (!config.particles.parts.empty()) return "collision";
  return config.particles.file.empty() ? config.particles.model : "particles";
}

}  // namespace

SystemEntry gravity_system_entry() {
  return {
      .kind = "gravity", .snapshots = "snap_#.hdf5", .picture = picture, .starts_from_snapshots = true, .make = make};
}

}  // namespace pergola
