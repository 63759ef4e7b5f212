#pragma once
#include <algorithm>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "comm/communicator.hpp"
#include "comm/shares.hpp"
#include "mesh/slab_planes.hpp"

namespace pergola {

/// From planes that ranks share out to columns across all planes, of which each rank has a share too, and back, with
/// one message between every two ranks. A plane has its columns one after the other. Planes are shared out in whole
/// units (SlabPlanes). Shares of columns are made of whole batches: a column has the same place in its batch on any
/// number of ranks, and so the same bits. `beyond`: 0 or 1 planes before the first and after the last come back too, to
/// the ranks with the first and the last plane.
template <class Value>
class Transposition {
 public:
  Transposition(std::shared_ptr<Communicator> ranks, int planes, int unit, std::int64_t columns, int batch,
                int beyond = 0)
      : ranks_(std::move(ranks)), planes_(*ranks_, planes, unit), beyond_(beyond) {
    const Shares batches{(columns + batch - 1) / batch, ranks_->size()};
    for (int rank = 0; rank <= ranks_->size(); ++rank)
      column_.push_back(std::min(columns, batches.first(rank) * batch));
  }

  const SlabPlanes& planes() const { return planes_; }
  /// This rank's columns, and the first of any rank's; of the number of ranks, the end.
  std::int64_t first_column() const { return column_[own()]; }
  std::int64_t first_column(int rank) const { return column_[static_cast<std::size_t>(rank)]; }
  std::int64_t columns() const { return column_[own() + 1] - column_[own()]; }
  /// Planes before the first of a rank that come back, and all that do.
  int before(int rank) const { return planes_.count(rank) > 0 && planes_.first(rank) == 0 ? beyond_ : 0; }
  int back_count(int rank) const {
    const bool last = planes_.count(rank) > 0 && planes_.first(rank) + planes_.count(rank) == planes_.planes();
    return before(rank) + planes_.count(rank) + (last ? beyond_ : 0);
  }
  int before() const { return before(ranks_->rank()); }
  int back_count() const { return back_count(ranks_->rank()); }
  /// Values that the memory of the columns needs, [plane][column], and with that of a message. Columns begin with the
  /// first plane of all; what is beyond stands around.
  std::int64_t columns_size() const { return whole(columns() * (planes_.planes() + 2 * beyond_)); }
  std::int64_t size() const { return columns_size() + whole(column_.back() * back_count()); }
  std::int64_t columns_before() const { return beyond_ * columns(); }

  /// Between a plane of this rank and a message: the columns of each rank together, plane after plane.
  void pack(std::int64_t plane, const Value* from, Value* message) const {
    each_part(plane, planes_.count(), [&](std::int64_t column, std::int64_t count, std::int64_t at) {
      std::copy_n(from + column, count, message + at);
    });
  }
  /// The plane is counted from the first that comes back.
  void unpack(std::int64_t plane, const Value* message, Value* to) const {
    each_part(plane, back_count(), [&](std::int64_t column, std::int64_t count, std::int64_t at) {
      std::copy_n(message + at, count, to + column);
    });
  }

  /// Calls of all ranks.
  void to_columns(const Value* message, Value* columns) {
    ranks_->all_to_all(message, planes_bytes(planes_.count()), columns,
                       columns_bytes([&](int rank) { return planes_.count(rank); }));
  }
  void to_planes(const Value* columns, Value* message) {
    ranks_->all_to_all(columns - columns_before(), columns_bytes([&](int rank) { return back_count(rank); }), message,
                       planes_bytes(back_count()));
  }
  /// Of two fields at once.
  void to_planes(const Value* first, Value* first_message, const Value* second, Value* second_message) {
    std::vector<Communicator::Outgoing> out;
    std::vector<Communicator::Incoming> in;
    const auto add = [&](const Value* from, Value* to) {
      from -= columns_before();
      for (int rank = 0; rank < ranks_->size(); ++rank) {
        const std::int64_t sent = columns() * back_count(rank),
                           got = (first_column(rank + 1) - first_column(rank)) * back_count();
        if (sent > 0) out.push_back({rank, std::exchange(from, from + sent), bytes_of(sent)});
        if (got > 0) in.push_back({rank, std::exchange(to, to + got), bytes_of(got)});
      }
    };
    add(first, first_message), add(second, second_message);
    ranks_->exchange(out, in);
  }

 private:
  std::size_t own() const { return static_cast<std::size_t>(ranks_->rank()); }
  /// Memory of several parts stands at multiples of 64 bytes.
  static std::int64_t whole(std::int64_t count) { return (count + 7) / 8 * 8; }
  template <class Body>
  void each_part(std::int64_t plane, std::int64_t planes, const Body& body) const {
    for (std::size_t rank = 0; rank + 1 < column_.size(); ++rank) {
      const std::int64_t first = column_[rank], count = column_[rank + 1] - first;
      body(first, count, first * planes + plane * count);
    }
  }
  /// What a rank has of its planes for each rank, and of its columns.
  std::vector<std::size_t> planes_bytes(std::int64_t planes) const {
    std::vector<std::size_t> bytes;
    for (std::size_t rank = 0; rank + 1 < column_.size(); ++rank)
      bytes.push_back(bytes_of((column_[rank + 1] - column_[rank]) * planes));
    return bytes;
  }
  template <class Planes>
  std::vector<std::size_t> columns_bytes(const Planes& planes) const {
    std::vector<std::size_t> bytes;
    for (int rank = 0; rank < ranks_->size(); ++rank) bytes.push_back(bytes_of(columns() * planes(rank)));
    return bytes;
  }
  static std::size_t bytes_of(std::int64_t count) { return static_cast<std::size_t>(count) * sizeof(Value); }

  std::shared_ptr<Communicator> ranks_;
  SlabPlanes planes_;
  int beyond_;
  std::vector<std::int64_t> column_;  // the first one of each rank, and the end
};

}  // namespace pergola
