#include "sim/rank_device.hpp"

#include <fmt/core.h>

#include <string>

namespace pergola {

Device open_rank_device(const RunConfig& config, const Communicator& communicator) {
  std::string spec = config.run.device;
  if (cuda_built && communicator.size() > 1 && (spec == "auto" || spec == "cuda")) {
    int usable = 0;
    for (const auto& report : list_devices()) usable += report.usable && report.spec.starts_with("cuda:");
    if (usable > 0) spec = fmt::format("cuda:{}", communicator.rank() % usable);
  }
  return Device::open(spec, config.run.threads);
}

}  // namespace pergola
