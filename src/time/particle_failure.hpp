#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "base/error.hpp"
#include "base/vec.hpp"
#include "comm/communicator.hpp"
#include "comm/shares.hpp"
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

/// A particle that cannot go on: its place in memory, −1 where there is none, what is wrong with it, from 0 to 3, and
/// when.
struct ParticleFault {
  std::int64_t place = -1;
  std::int64_t kind = 0;
  double time = 0;
};
/// Throws ParticleFailure if this rank, or with `ranks`, which all call it, one of them has a faulty particle. All
/// ranks throw the same one: of the first rank with a fault, with reason(kind) and the state() of that rank.
void fail_where(const ParticleFault& fault, const char* (*reason)(std::int64_t kind),
                const std::function<ParticleState()>& state, Communicator* ranks);

/// The id of a particle of a ParticleStore at a place in memory. With `ranks` it is the place among the particles of
/// all ranks, and all call.
template <class Store>
std::uint64_t id_of(const Store& store, std::int64_t place, std::int64_t total, Communicator* ranks) {
  if (!ranks) return store.id_at(place);
  const Shares shares{total, ranks->size()};
  int keeper = 0;
  while (shares.first(keeper + 1) <= place) ++keeper;
  std::uint64_t found = keeper == ranks->rank() ? store.id_at(place - shares.first(keeper)) : 0;
  ranks->broadcast(&found, sizeof found, keeper);
  return found;
}

/// The error of a run that is longer than block times can count.
Error too_many_ticks(double time);

/// The same collision with the ids of the two particles and the time in its message.
PERGOLA_API CoincidentParticles with_ids(const CoincidentParticles& collision, std::uint64_t first,
                                         std::uint64_t second, double time);

}  // namespace pergola
