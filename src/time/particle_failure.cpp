// Errors that name a particle by its id, with its last state. With ranks, the one with the lowest number that has found
// a fault decides; it broadcasts the state, and all ranks throw the same error.
#include "time/particle_failure.hpp"

#include <fmt/core.h>

#include "base/text.hpp"
#include "physics/block_steps.hpp"

namespace pergola {

namespace {

std::string vector_text(const Vec3<double>& v) {
  return fmt::format("({}, {}, {})", to_text(v.x), to_text(v.y), to_text(v.z));
}

}  // namespace

ParticleFailure::ParticleFailure(std::string_view reason, double time, const ParticleState& state)
    : Error(ErrorKind::numerics,
            fmt::format("particle id {} at time {}: {}; its state at time {}: position {}, velocity {}", state.id,
                        to_text(time), reason, to_text(state.time), vector_text(state.position),
                        vector_text(state.velocity))),
      reason_(reason),
      time_(time),
      state_(state) {}

void fail_where(const ParticleFault& fault, const char* (*reason)(std::int64_t kind),
                const std::function<ParticleState()>& state, Communicator* ranks) {
  if (!ranks) {
    if (fault.place >= 0) throw ParticleFailure(reason(fault.kind), fault.time, state());
    return;
  }
  // Rank and kind of the fault in one number: the minimum is that of the lowest rank.
  const std::int64_t none = 4 * std::int64_t{ranks->size()};
  std::int64_t found = fault.place >= 0 ? 4 * std::int64_t{ranks->rank()} + fault.kind : none;
  ranks->all_reduce(&found, 1, Reduction::minimum);
  if (found == none) return;
  const auto keeper = static_cast<int>(found / 4);
  struct {
    double time = 0;
    ParticleState state;
  } lowest;
  if (keeper == ranks->rank()) lowest = {fault.time, state()};
  ranks->broadcast(&lowest, sizeof lowest, keeper);
  throw ParticleFailure(reason(found % 4), lowest.time, lowest.state);
}

Error too_many_ticks(double time) {
  return Error(ErrorKind::input, fmt::format("run.end_time: expected at most {} steps of time.step_max, found {}",
                                             physics::last_tick >> physics::deepest_level, to_text(time)));
}

CoincidentParticles with_ids(const CoincidentParticles& collision, std::uint64_t first, std::uint64_t second,
                             double time) {
  return {collision.first(), collision.second(),
          fmt::format("particles with ids {} and {} are in one place, or too close for the precision, at time {} and "
                      "the softening is zero: set gravity.softening > 0 or move one of them",
                      first, second, to_text(time))};
}

}  // namespace pergola
