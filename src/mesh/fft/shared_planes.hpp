#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "comm/counted_communicator.hpp"
#include "comm/one_machine.hpp"
#include "mesh/fft/transposition.hpp"

namespace pergola {

/// Planes of some fields in memory that all ranks of a machine share, in place of messages: each rank packs its planes
/// as for a Transposition without planes beyond, and after meet() every rank finds its columns where they stand, and
/// leaves there what it makes of them; after another one the planes can be unpacked.
template <class Value>
class SharedPlanes {
 public:
  /// A call of all ranks. Without memory, is_there() is false on all.
  SharedPlanes(Communicator& ranks, const Transposition<Value>& shares, std::int64_t columns, int fields)
      : ranks_(ranks) {
    const SlabPlanes& planes = shares.planes();
    std::vector<std::int64_t> first;  // of each rank's planes
    std::int64_t size = 0;
    for (int rank = 0; rank < ranks.size(); ++rank) {
      first.push_back(size);
      size += (columns * planes.count(rank) + 7) / 8 * 8;
    }
    const auto bytes = static_cast<std::size_t>(fields * size) * sizeof(Value);
    memory_ = share_memory(ranks, bytes);
    if (!memory_) return;
    const std::int64_t own_columns = shares.columns();
    for (int field = 0; field < fields; ++field) {
      Value* const values = static_cast<Value*>(memory_.get()) + field * size;
      own_.push_back(values + first[static_cast<std::size_t>(ranks.rank())]);
      std::vector<Value*>& of = columns_.emplace_back();
      for (int plane = 0; plane < planes.planes(); ++plane) {
        const int rank = planes.owner(plane);
        of.push_back(values + first[static_cast<std::size_t>(rank)] + shares.first_column() * planes.count(rank) +
                     (plane - planes.first(rank)) * own_columns);
      }
    }
    const auto value = static_cast<std::int64_t>(sizeof(Value));
    to_columns_ = (columns - own_columns) * planes.count() * value;
    to_planes_ = own_columns * (planes.planes() - planes.count()) * value;
  }

  bool is_there() const { return memory_ != nullptr; }
  /// This rank's planes, as a message has them.
  Value* own(int field) const { return own_[static_cast<std::size_t>(field)]; }
  /// This rank's columns: those of each plane, one after the other.
  Value* const* columns(int field) const { return columns_[static_cast<std::size_t>(field)].data(); }
  /// All ranks have packed their planes; have left their columns. What others read counts as sent.
  void meet_for_columns() { meet(to_columns_, to_planes_); }
  void meet_for_planes(int fields) { meet(fields * to_planes_, fields * to_columns_); }

 private:
  void meet(std::int64_t sent, std::int64_t received) {
    ranks_.barrier();
    count_other_way(ranks_, sent, received, ranks_.size() - 1, 0);
  }

  Communicator& ranks_;
  std::shared_ptr<void> memory_;
  std::vector<Value*> own_;
  std::vector<std::vector<Value*>> columns_;  // by field and plane
  std::int64_t to_columns_ = 0, to_planes_ = 0;
};

}  // namespace pergola
