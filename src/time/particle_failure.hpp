#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include "base/error.hpp"
#include "base/vec.hpp"
#include "gravity/solver.hpp"

namespace pergola {

/// One particle at a moment, for the record of a failure.
struct ParticleState {
  std::uint64_t id = 0;
  double mass = 0;
  Vec3<double> position{}, velocity{}, acceleration{}, jerk{};
  double time = 0;  // of this state
};

/// A particle whose next step cannot be taken: its force is not a number, it left the range of the number type, or its
/// step fell below the shortest one. Carries its latest state, so that it can be written down.
class PERGOLA_API ParticleFailure : public Error {
 public:
  ParticleFailure(std::string_view reason, double time, const ParticleState& state);
  /// When the step that failed would have ended.
  double time() const { return time_; }
  const std::string& reason() const { return reason_; }
  const ParticleState& state() const { return state_; }

 private:
  std::string reason_;
  double time_;
  ParticleState state_;
};

/// The same collision with the ids of the two particles and the time in its message.
CoincidentParticles with_ids(const CoincidentParticles& collision, std::uint64_t first, std::uint64_t second,
                             double time);

}  // namespace pergola
