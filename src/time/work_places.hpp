#pragma once
#include <cstdint>
#include <memory>
#include <vector>

#include "comm/communicator.hpp"
#include "gravity/solver.hpp"
#include "particles/particle_store.hpp"

namespace pergola {

/// Where the particles of a run with several ranks live: at home, in the stretch of the input that a rank keeps
/// (comm/shares.hpp), or, while many steps follow one another, with the ranks that the solver has work on them, so that
/// a step need not send all of them there and their forces back. No result depends on it. All ranks make all calls but
/// the const ones.
class PERGOLA_API WorkPlaces {
 public:
  /// To go out and home again a particle takes what it sends in some three steps at home: so many at least must follow
  /// one another.
  static constexpr std::int64_t fewest_steps = 4;

  /// `ranks` null, or a solver that works where the particles are: they stay at home.
  WorkPlaces(FieldList& fields, AnySolver& solver, std::shared_ptr<Communicator> ranks);
  ~WorkPlaces();

  /// Whether they ever move.
  bool may_move() const { return moves_ != nullptr; }
  bool away() const { return away_; }
  /// While they are away: the places in the input of the particles here, rising, on their device. Null at home, and
  /// where the solver has been told of them.
  const std::uint64_t* places() const {
    return away_ && !short_ ? reinterpret_cast<const std::uint64_t*>(place_.data()) : nullptr;
  }
  /// A step is about to be taken, the first of about so many: brings the particles to their work where that pays, by
  /// counts. The values of `left` are lost. True: there are others here now.
  bool begin_step(double steps, const std::vector<const AnyField*>& left = {});
  /// Brings all back where they are away; nobody looks at them before. `failed`: the solver threw, and is given them
  /// anew.
  void go_home(bool failed = false);
  /// Of a particle by its place here (−1: there is none) the place at home, for the first such particle of all ranks,
  /// on the rank that keeps it; −1 elsewhere. All are home then, where there is one.
  std::int64_t find_at_home(std::int64_t place, std::int64_t& kind);
  /// What fails for its numbers away from home is done again there, where particles are named as one rank names them.
  template <class Action>
  void do_or_fail_at_home(const Action& action) {
    try {
      action();
    } catch (const Error& error) {
      if (!away_ || error.kind() != ErrorKind::numerics) throw;
      go_home(true);
      action();
    }
  }
  /// Throws Error(numerics) where a step has failed while they were away.
  void require_home() const;
  /// Beside the fields, for n particles here: their places in the input, on GPUs what a move leaves or has beside
  /// memory that is lent, and what fields have to spare.
  std::int64_t bytes(std::int64_t n) const;
  /// What the solver takes on GPUs besides, where not always all particles ask.
  std::int64_t bytes_for_some(std::int64_t n) const;

 private:
  enum class To { work, home };
  class Moves;
  template <class Way>
  class MovesBy;
  /// What a move of particles takes, beside memory that it has for itself.
  struct Payload;
  Payload pack(To goal);
  void follow(const std::vector<const AnyField*>& left);
  void exchange(To goal, Payload& payload, const std::vector<const AnyField*>& left);
  std::int64_t first_at_home() const;
  bool may_be_short(std::int64_t total) const;
  std::int64_t place_bytes() const { return short_ ? sizeof(std::uint32_t) : sizeof(std::uint64_t); }
  /// action(std::uint32_t{}) or action(std::uint64_t{}), as places are.
  template <class Action>
  auto with_place(const Action& action) const {
    return short_ ? action(std::uint32_t{}) : action(std::uint64_t{});
  }

  FieldList& fields_;
  std::shared_ptr<Communicator> ranks_;
  std::unique_ptr<Moves> moves_;
  bool away_ = false, stays_ = false;  // stays_: memory for moving was refused
  std::int64_t total_ = 0;             // particles on all ranks, while they are away
  std::int64_t steps_, steps_before_;  // since they were home last, and between that and the time before
  bool short_ = false;                 // places have four bytes
  Buffer<std::byte> place_;
};

}  // namespace pergola
