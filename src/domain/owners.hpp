#pragma once
#include <cstdint>
#include <memory>
#include <vector>

#include "comm/communicator.hpp"
#include "domain/particle_way.hpp"
#include "particles/particle_store.hpp"

namespace pergola {

/// Brings the particles of a store to their owners, and back to the ranks that were given them.
///
/// Particles are given in the order of the input, each rank a stretch of it (comm/shares.hpp for those of a run).
/// settle() moves all fields but ids to the owners; go_home() brings them back. On each rank they stand in the order of
/// the input, always. No result depends on who owns what. All ranks make all calls but the const ones.
class PERGOLA_API Owners {
 public:
  /// `ranks` null: one process, on which nothing moves. `gives_back`: carry_back() is asked for.
  Owners(FieldList& fields, std::shared_ptr<Communicator> ranks, bool gives_back = false);

  /// Whether particles are with other ranks than those that were given them.
  bool away() const { return away_; }
  /// Where the particles here stand in the input, rising, on their device; null where they are home.
  const std::uint64_t* places() const { return away_ ? place_.data() : nullptr; }
  /// The store has other particles, as they are given.
  void take_given() { away_ = false, arrived_at_ = Buffer<std::uint32_t>(); }
  /// Brings all particles to their owners. The values of `left` are lost. True: there are others here now. Where memory
  /// is refused to one rank all throw, and nothing has moved.
  bool settle(const Division& division, const std::vector<const AnyField*>& left = {});
  /// All come home. True: there are others here now.
  bool go_home();
  /// Of a particle by its place here (−1: there is none) the place at home, for the first such particle of all ranks,
  /// on the rank that was given it; −1 elsewhere. All are home then, where there is one.
  std::int64_t find_at_home(std::int64_t place, std::int64_t& kind);
  /// Throws Error(numerics) where a step has failed while they were away.
  void require_home() const;
  /// Values of the particles here, to the places from which the last settle() took them.
  void carry_back(const std::byte* here, std::byte* given, std::size_t value_bytes) const;
  /// Beside the fields, for n particles here: their places in the input, and what fields have to spare.
  std::int64_t bytes(std::int64_t n) const;

 private:
  /// What a move takes: in memory that the solver lends, or its own.
  struct Move;
  Move begin_move(ParticleWay& way);
  void exchange(Move& move, const std::vector<const AnyField*>& left);

  FieldList& fields_;
  std::shared_ptr<Communicator> ranks_;
  Division division_;
  bool gives_back_, away_ = false;
  std::int64_t total_ = 0, first_ = 0;   // particles on all ranks, and those before this rank's as they were given
  std::vector<std::int64_t> given_end_;  // of each rank, among all
  Buffer<std::uint64_t> place_;
  Buffer<std::uint32_t> arrived_at_;  // gives_back_: where each that the last settle() has brought stands here
};

}  // namespace pergola
