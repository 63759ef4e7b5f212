#pragma once
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include "analysis/shown_potential.hpp"
#include "base/state_source.hpp"
#include "comm/communicator.hpp"
#include "comm/shares.hpp"
#include "domain/rank_rows.hpp"
#include "gravity/solver.hpp"
#include "particles/shown_particles.hpp"

namespace pergola {

/// A system whose ranks keep their own particles, as rank 0 reads it between two steps: piece by piece, in the
/// order of the input, while the other ranks answer.
class DistributedView {
 public:
  /// `own`: this rank's particles as they are shown; `state`: this rank's, null where it is not to be saved.
  DistributedView(Communicator& communicator, const Shares& shares, std::unique_ptr<ShownParticles> own,
                  std::unique_ptr<StateSource> state)
      : rows_(communicator, shares), own_(std::move(own)), state_(std::move(state)) {}

  /// The potentials of the particles that are shown. All ranks call it.
  void find_potentials(AnySolver& solver) { potentials_ = potentials_from(solver, *own_); }
  /// Rank 0 does `action`, which may use all of what follows; all ranks call it. What one throws all throw.
  void on_root(const std::function<void()>& action);

  std::unique_ptr<ShownParticles> shown();
  /// Those that were found. Error(input) where none were.
  KnownPotentials potentials();
  /// The state of all ranks with the names and bytes of one that has all particles. Error(input) where none was given.
  void save(StateSource& to);

 private:
  void answer(const RankRows::Request& request, std::byte* to);

  RankRows rows_;
  std::unique_ptr<ShownParticles> own_;
  std::unique_ptr<StateSource> state_;
  std::optional<KnownPotentials> potentials_;  // of this rank's
};

}  // namespace pergola
