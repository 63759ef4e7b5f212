#include "sim/gravity_system.hpp"
#include "sim/system_entry.hpp"

namespace pergola {

namespace {

std::unique_ptr<System> make(const RunConfig& config, std::shared_ptr<Communicator> communicator, StateInput* state) {
  if (state) return std::make_unique<GravitySystem>(config, *state, std::move(communicator));
  return std::make_unique<GravitySystem>(config, std::move(communicator));
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
