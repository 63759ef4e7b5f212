#pragma once
// CUDA only: a field that ranks share out, from planes to columns across them and back (mesh/fft/transposition.hpp).
#include <algorithm>
#include <array>
#include <cstddef>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

#include "device/buffer.hpp"
#include "device/launch.cuh"
#include "domain/device_messages.hpp"
#include "mesh/fft/transposition.hpp"

namespace pergola::cuda {

/// How a rank's columns stand in memory: blocks of `width` of them, each [z][column].
struct ColumnLayout {
  int width = 1, length = 1;  // length: values of a column
  PERGOLA_HD std::int64_t index(std::int64_t column, int z) const {
    return (column / width * length + z) * width + column % width;
  }
};

/// The rank that has a column; `first`: the first one of each rank, and the end.
__device__ inline int rank_of_column(const std::int64_t* first, int ranks, std::int64_t column) {
  int low = 0, high = ranks - 1;  // one of these has it
  while (low < high) {
    const int middle = (low + high) / 2;
    if (column < first[middle + 1])
      high = middle;
    else
      low = middle + 1;
  }
  return low;
}

/// Some planes of each rank that travel together, of one field: planes [first, first + count) of those that it has. A
/// rank with fewer sends fewer. Messages may hold planes of the field before, from its plane `earlier` on.
struct TurnedPlanes {
  int first = 0, count = 0;
  int earlier = -1;  // none
  int all = 0;       // planes of a message at most, of both fields
  /// Of a rank that has `planes`: how many of them travel, and how many of the field before.
  PERGOLA_HD int of(int planes) const { return planes <= first ? 0 : planes < first + count ? planes - first : count; }
  PERGOLA_HD int before(int planes) const { return earlier < 0 || planes <= earlier ? 0 : planes - earlier; }
};

/// Who has which columns and planes. Planes of a rank that travel: their number, and where the first one stands in a
/// column.
struct TurnedShares {
  const std::int64_t* first_column;  // of each rank, and the end
  const int *first_plane, *planes;   // of each rank
  int ranks, own;
  __device__ unsigned columns(int rank) const {
    return static_cast<unsigned>(first_column[rank + 1] - first_column[rank]);
  }
};

/// Between the planes of a rank and messages, which leave out what stays on this rank: on the way there that goes
/// straight to its columns.
template <class Value>
struct CarryPlanes {
  TurnedShares shares;
  TurnedPlanes now;
  ColumnLayout layout;
  Value *planes, *message, *columns;
  unsigned all;        // columns of a plane
  int message_planes;  // of this rank
  bool out;
  __device__ void operator()(std::int64_t k) const {
    const unsigned inner = static_cast<unsigned>(k) / all, column = static_cast<unsigned>(k) - inner * all;
    const int own = shares.own, rank = rank_of_column(shares.first_column, shares.ranks, column);
    const std::int64_t begin = shares.first_column[rank];
    Value& here = planes[std::int64_t{now.first + static_cast<int>(inner)} * all + column];
    if (rank == own) {
      if (out)
        columns[layout.index(column - begin, shares.first_plane[own] + now.first + static_cast<int>(inner))] = here;
      return;
    }
    const std::int64_t before = begin - (rank < own ? 0 : shares.columns(own));
    Value& away =
        message[before * message_planes +
                std::int64_t{now.before(shares.planes[own]) + static_cast<int>(inner)} * shares.columns(rank) + column -
                begin];
    if (out)
      away = here;
    else
      here = away;
  }
};

/// The same between the columns of a rank and messages, where each other rank has room for as many planes. On the way
/// back what stays goes straight to the planes.
template <class Value>
struct CarryColumns {
  TurnedShares shares;
  TurnedPlanes now;
  ColumnLayout layout;
  Value *columns, *message, *planes;
  unsigned all, count;  // columns of a plane, and of this rank
  bool out;
  __device__ void operator()(std::int64_t k) const {
    const unsigned row = static_cast<unsigned>(k) / count, column = static_cast<unsigned>(k) - row * count;
    const int slot = static_cast<int>(row) / now.count, inner = static_cast<int>(row) - slot * now.count;
    const int own = shares.own;
    const int rank = slot == shares.ranks - 1 ? own : slot < own ? slot : slot + 1;  // the own one comes last
    if (inner >= now.of(shares.planes[rank])) return;
    const int z = shares.first_plane[rank] + now.first + inner;
    Value& here = columns[layout.index(column, z < 0 ? z + layout.length : z)];
    if (rank == own) {
      planes[std::int64_t{now.first + inner} * all + shares.first_column[own] + column] = here;
      return;
    }
    Value& away = message[(std::int64_t{slot} * now.all + now.before(shares.planes[rank]) + inner) * count + column];
    if (out)
      away = here;
    else
      here = away;
  }
};

/// A Transposition between the memories of GPUs. Values travel a few planes of each rank at a time, so that message
/// buffers need not hold a whole field (DeviceMessages::most_bytes). All ranks make all calls about values together.
template <class Value>
class DeviceTransposition {
 public:
  /// `together`: ranks get multiples of this number of columns. `beyond`: as of Transposition; the plane before the
  /// first is the last value of a column.
  DeviceTransposition(std::shared_ptr<DeviceMessages> messages, const std::shared_ptr<Communicator>& ranks, int planes,
                      int unit, std::int64_t columns, int together, int beyond = 0)
      : device_(messages->device()),
        messages_(std::move(messages)),
        shares_(ranks, planes, unit, columns, together, beyond),
        all_(columns) {
    std::vector<std::int64_t> first;
    std::int64_t least = columns, most = 0;
    for (int rank = 0; rank <= size(); ++rank) first.push_back(shares_.first_column(rank));
    for (int rank = 0; rank < size(); ++rank)
      least = std::min(least, columns_of(rank)), most = std::max(most, columns_of(rank));
    first_ = Buffer<std::int64_t>(device_, first);
    // Of each rank the first plane that travels, and how many, on the way there and back.
    std::vector<int> of_ranks;
    for (const bool back : {false, true}) {
      for (int rank = 0; rank < size(); ++rank)
        of_ranks.push_back(this->planes().first(rank) - (back ? shares_.before(rank) : 0));
      for (int rank = 0; rank < size(); ++rank) of_ranks.push_back(travelling(rank, back));
    }
    planes_of_ranks_ = Buffer<int>(device_, of_ranks);
    // All ranks send as many planes at a time, and number values of theirs in 32 bits.
    plane_bytes_ = bytes(std::max(all_ - least, (size() - 1) * most));
    const std::int64_t fit = plane_bytes_ > 0 ? messages_->most_bytes() / plane_bytes_ : planes;
    at_once_ = static_cast<int>(std::clamp<std::int64_t>(
        std::min(fit, (std::int64_t{1} << 30) / std::max(all_, size() * most)), 1, planes + 2));
  }

  const SlabPlanes& planes() const { return shares_.planes(); }
  std::int64_t first_column() const { return shares_.first_column(); }
  std::int64_t first_column(int rank) const { return shares_.first_column(rank); }
  std::int64_t columns() const { return shares_.columns(); }
  /// Planes that come back, and how many of them are before the rank's first.
  int back_count() const { return shares_.back_count(); }
  int before() const { return shares_.before(); }
  /// The most planes that come back to a rank.
  int most_planes() const { return most_planes(true); }
  /// Of the device's memory.
  std::int64_t own_bytes() const { return static_cast<std::int64_t>(first_.bytes() + planes_of_ranks_.bytes()); }
  /// Of the largest message, sent or received, with `fields` fields together on the way back.
  std::int64_t message_bytes(int fields = 1) const {
    return std::min(at_once_, fields * most_planes(true)) * plane_bytes_;
  }

  /// Into other memory.
  void to_columns(Value* planes, Value* columns, const ColumnLayout& layout) {
    turn<1>({planes}, {columns}, layout, false);
  }
  /// Of one field, or of two together: the planes of a field are in other memory than its columns; those of the second
  /// one may be where the columns of the first were.
  template <std::size_t fields>
  void to_planes(const std::array<Value*, fields>& columns, const ColumnLayout& layout,
                 std::array<Value*, fields> planes) {
    for (Value*& field : planes) field -= before() * all_;
    turn<fields>(planes, columns, layout, true);
  }
  /// Of one field the planes [first, first + count) of those that come back to each rank, as far as there are any;
  /// `planes`: where the first of these is to stand.
  void some_to_planes(Value* columns, const ColumnLayout& layout, int first, int count, Value* planes) {
    turn<1>({planes - first * all_}, {columns}, layout, true, first, first + count);
  }

 private:
  static std::int64_t bytes(std::int64_t values) { return values * static_cast<std::int64_t>(sizeof(Value)); }
  int rank() const { return static_cast<int>(messages_->own_rank()); }
  int size() const { return static_cast<int>(messages_->size()); }
  std::int64_t columns_of(int rank) const { return shares_.first_column(rank + 1) - shares_.first_column(rank); }
  /// Planes that travel, of a rank, on the way there or back, and the most that one has.
  int travelling(int of, bool back) const { return back ? shares_.back_count(of) : planes().count(of); }
  int most_planes(bool back) const {
    int most = 0;
    for (int r = 0; r < size(); ++r) most = std::max(most, travelling(r, back));
    return most;
  }

  /// Planes from `from` on to `until` of all that travel, counted through the fields.
  template <std::size_t fields>
  void turn(const std::array<Value*, fields>& planes, const std::array<Value*, fields>& columns,
            const ColumnLayout& layout, bool back, int from = 0, int until = std::numeric_limits<int>::max()) {
    static_assert(fields <= 2);
    const int each = most_planes(back), all = std::min(static_cast<int>(fields) * each, until);
    const bool alone = size() == 1;  // nothing travels
    for (int begin = from; begin < all; begin += at_once_) {
      const int end = std::min(all, begin + at_once_);
      // Of each field the planes that travel now.
      std::array<TurnedPlanes, fields> now;
      for (int f = 0; f < static_cast<int>(fields); ++f) {
        const int first = std::clamp(begin - f * each, 0, each), last = std::clamp(end - f * each, 0, each);
        now[static_cast<std::size_t>(f)] = {first, last - first, f > 0 && begin < each ? begin : -1, end - begin};
      }
      const auto in_message = [&](int rank) {
        int sum = 0;
        for (const TurnedPlanes& one : now) sum += one.of(travelling(rank, back));
        return sum;
      };
      const std::int64_t in_planes = (all_ - this->columns()) * in_message(rank()),
                         in_columns = (size() - 1) * this->columns() * (end - begin);
      Value *out = nullptr, *in = nullptr;
      if (!alone) {
        out = reinterpret_cast<Value*>(messages_->outgoing(bytes(back ? in_columns : in_planes)));
        in = reinterpret_cast<Value*>(messages_->incoming(bytes(back ? in_planes : in_columns)));
      }
      const auto carry_planes = [&](std::size_t f, Value* message) {
        launch("planes of a slab", all_ * now[f].of(travelling(rank(), back)), device_.stream(),
               CarryPlanes<Value>{shares(back), now[f], layout, planes[f], message, columns[f],
                                  static_cast<unsigned>(all_), in_message(rank()), !back});
      };
      const auto carry_columns = [&](std::size_t f, Value* message) {
        launch("columns of a slab", this->columns() * now[f].count * (back ? size() : size() - 1), device_.stream(),
               CarryColumns<Value>{shares(back), now[f], layout, columns[f], message, planes[f],
                                   static_cast<unsigned>(all_), static_cast<unsigned>(this->columns()), back});
      };
      for (std::size_t f = 0; f < fields; ++f) back ? carry_columns(f, out) : carry_planes(f, out);
      if (alone) continue;
      exchange(out, in, back, end - begin, in_message);
      for (std::size_t f = 0; f < fields; ++f) back ? carry_planes(f, in) : carry_columns(f, in);
    }
  }
  TurnedShares shares(bool back) const {
    const int* const of_ranks = planes_of_ranks_.data() + (back ? 2 * size() : 0);
    return {first_.data(), of_ranks, of_ranks + size(), size(), rank()};
  }

  /// planes(rank): of a rank in this exchange, of at most `room`.
  template <class Planes>
  void exchange(const Value* out, Value* in, bool back, int room, const Planes& planes) {
    std::vector<Communicator::Outgoing> sent;
    std::vector<Communicator::Incoming> got;
    for (int r = 0; r < size(); ++r) {
      if (r == rank()) continue;
      const std::int64_t from_planes = columns_of(r) * planes(rank()), from_columns = columns() * planes(r);
      const std::int64_t leaving = back ? from_columns : from_planes, coming = back ? from_planes : from_columns;
      if (leaving > 0) sent.push_back({r, out, static_cast<std::size_t>(bytes(leaving))});
      if (coming > 0) got.push_back({r, in, static_cast<std::size_t>(bytes(coming))});
      out += back ? columns() * room : from_planes, in += back ? from_planes : columns() * room;
    }
    messages_->exchange(sent, got);
  }

  Device device_;
  std::shared_ptr<DeviceMessages> messages_;
  Transposition<Value> shares_;
  std::int64_t all_;  // columns of a plane
  Buffer<std::int64_t> first_;
  Buffer<int> planes_of_ranks_;
  std::int64_t plane_bytes_ = 0;  // of messages of a rank with a plane of each rank, at most
  int at_once_ = 1;               // planes of each rank in one exchange
};

}  // namespace pergola::cuda
