#pragma once
// CUDA only: a field that ranks share out, from planes to columns across them and back (mesh/fft/transposition.hpp).
#include <algorithm>
#include <array>
#include <cstddef>
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

/// Where the values of a plane are in a message, which leaves out those that stay on this rank.
struct PlaneParts {
  const std::int64_t* first;  // column of each rank, and the end
  int ranks, own;
  std::int64_t planes;  // of this rank

  /// The place of a value: in the message, or, where it stays, among those that do.
  struct Place {
    std::int64_t at;
    bool stays;
  };
  __device__ Place operator()(std::int64_t plane, std::int64_t column) const {
    const int rank = rank_of_column(first, ranks, column);
    const std::int64_t begin = first[rank], count = first[rank + 1] - begin, inner = plane * count + column - begin;
    if (rank == own) return {inner, true};
    const std::int64_t before = rank < own ? begin : begin - (first[own + 1] - first[own]);
    return {before * planes + inner, false};
  }
};

/// Values between the planes of a rank, and a message and what stays, where those of several fields stand together.
template <class Value, int fields>
struct CarryPlanes {
  Value* planes[fields];
  Value *message, *staying;
  PlaneParts parts;
  std::int64_t columns;  // of a plane
  bool out;
  __device__ void operator()(std::int64_t k) const {
    const std::int64_t plane = k / columns;
    const auto place = parts(plane, k - plane * columns);
    Value* const away = (place.stays ? staying : message) + fields * place.at;
    for (int f = 0; f < fields; ++f) {
      if (out)
        away[f] = planes[f][k];
      else
        planes[f][k] = away[f];
    }
  }
};

/// The same between the columns of a rank, and a message and what stays.
template <class Value, int fields>
struct CarryColumns {
  Value* columns[fields];
  Value *message, *staying;
  ColumnLayout layout;
  std::int64_t count;         // of this rank's columns
  int own_first, own_planes;  // among those that travel
  int beyond;                 // of those that travel come before the first
  bool out;
  __device__ void operator()(std::int64_t k) const {
    const int plane = static_cast<int>(k / count), from_own = plane - own_first;
    const std::int64_t column = k - plane * count;
    const bool stays = from_own >= 0 && from_own < own_planes;
    const std::int64_t at = (stays ? from_own : plane < own_first ? plane : plane - own_planes) * count + column;
    Value* const away = (stays ? staying : message) + fields * at;
    const int z = plane - beyond;
    const std::int64_t here = layout.index(column, z < 0 ? z + layout.length : z);
    for (int f = 0; f < fields; ++f) {
      if (out)
        away[f] = columns[f][here];
      else
        columns[f][here] = away[f];
    }
  }
};

/// All calls about values are of all ranks. Planes and columns may be in the same memory.
template <class Value>
class DeviceTransposition {
 public:
  /// `together`: columns are shared out in so many at a time. `beyond`: as of Transposition; the plane before the first
  /// is the last value of a column.
  DeviceTransposition(const Device& device, const std::shared_ptr<Communicator>& ranks, int planes, int unit,
                      std::int64_t columns, int together, int beyond = 0)
      : device_(device),
        messages_(device, ranks),
        shares_(ranks, planes, unit, columns, together, beyond),
        all_(columns),
        beyond_(beyond) {
    std::vector<std::int64_t> first;
    for (int rank = 0; rank <= ranks->size(); ++rank) first.push_back(shares_.first_column(rank));
    first_ = Buffer<std::int64_t>(device_, first);
  }

  const SlabPlanes& planes() const { return shares_.planes(); }
  std::int64_t first_column() const { return shares_.first_column(); }
  std::int64_t first_column(int rank) const { return shares_.first_column(rank); }
  std::int64_t columns() const { return shares_.columns(); }
  /// Planes that come back, and how many of them are before the rank's first.
  int back_count() const { return shares_.back_count(); }
  int before() const { return shares_.before(); }
  /// Values of a field that stay on this rank: the caller has room for them.
  std::int64_t staying() const { return columns() * back_count(); }
  /// Of the device's memory, with the rooms of its messages: of so many fields together on the way back.
  std::int64_t own_bytes(int fields = 1) const {
    return static_cast<std::int64_t>(first_.bytes()) +
           2 * fields * bytes(std::max(plane_message(true), column_message(true)));
  }

  void to_columns(Value* planes, Value* columns, const ColumnLayout& layout, Value* staying) {
    Value* const out = reinterpret_cast<Value*>(messages_.outgoing(bytes(plane_message(false))));
    Value* const in = reinterpret_cast<Value*>(messages_.incoming(bytes(column_message(false))));
    carry_planes<1>({planes}, out, staying, false);
    exchange(out, false, in, 1);
    carry_columns<1>({columns}, in, layout, staying, false);
  }
  /// Of one field, or of several in one message.
  template <std::size_t fields>
  void to_planes(const std::array<Value*, fields>& columns, const ColumnLayout& layout,
                 const std::array<Value*, fields>& planes, Value* staying) {
    Value* const out = reinterpret_cast<Value*>(messages_.outgoing(std::int64_t{fields} * bytes(column_message(true))));
    Value* const in = reinterpret_cast<Value*>(messages_.incoming(std::int64_t{fields} * bytes(plane_message(true))));
    carry_columns(columns, out, layout, staying, true);
    exchange(out, true, in, fields);
    carry_planes(planes, in, staying, true);
  }
  void to_planes(Value* columns, const ColumnLayout& layout, Value* planes, Value* staying) {
    to_planes<1>({columns}, layout, {planes}, staying);
  }

 private:
  static std::int64_t bytes(std::int64_t values) { return values * static_cast<std::int64_t>(sizeof(Value)); }
  int rank() const { return static_cast<int>(messages_.own_rank()); }
  /// Planes that travel, of a rank and of all, on the way there or back.
  std::int64_t travelling(int of, bool back) const { return back ? shares_.back_count(of) : planes().count(of); }
  std::int64_t travelling(bool back) const { return planes().planes() + (back ? 2 * beyond_ : 0); }
  /// Values of this rank's planes that others have as columns, and the other way.
  std::int64_t plane_message(bool back) const { return (all_ - columns()) * travelling(rank(), back); }
  std::int64_t column_message(bool back) const { return columns() * (travelling(back) - travelling(rank(), back)); }

  template <std::size_t fields>
  void carry_planes(const std::array<Value*, fields>& values, Value* message, Value* staying, bool back) {
    const std::int64_t count = travelling(rank(), back);
    const PlaneParts parts{first_.data(), static_cast<int>(messages_.size()), rank(), count};
    CarryPlanes<Value, static_cast<int>(fields)> carry{{}, message, staying, parts, all_, !back};
    for (std::size_t f = 0; f < fields; ++f) carry.planes[f] = values[f] - (back ? before() * all_ : 0);
    launch("planes of a slab", all_ * count, device_.stream(), carry);
  }
  template <std::size_t fields>
  void carry_columns(const std::array<Value*, fields>& values, Value* message, const ColumnLayout& layout,
                     Value* staying, bool back) {
    const int beyond = back ? beyond_ : 0, first = planes().first() + beyond - (back ? before() : 0);
    CarryColumns<Value, static_cast<int>(fields)> carry{
        {}, message, staying, layout, columns(), first, static_cast<int>(travelling(rank(), back)), beyond, back};
    for (std::size_t f = 0; f < fields; ++f) carry.columns[f] = values[f];
    launch("columns of a slab", columns() * travelling(back), device_.stream(), carry);
  }

  void exchange(const Value* out, bool back, Value* in, std::int64_t fields) {
    std::vector<Communicator::Outgoing> sent;
    std::vector<Communicator::Incoming> got;
    for (int r = 0; r < static_cast<int>(messages_.size()); ++r) {
      if (r == rank()) continue;
      const std::int64_t from_planes =
          (shares_.first_column(r + 1) - shares_.first_column(r)) * travelling(rank(), back);
      const std::int64_t from_columns = columns() * travelling(r, back);
      const std::int64_t leaving = fields * (back ? from_columns : from_planes),
                         coming = fields * (back ? from_planes : from_columns);
      if (leaving > 0) sent.push_back({r, out, static_cast<std::size_t>(bytes(leaving))});
      if (coming > 0) got.push_back({r, in, static_cast<std::size_t>(bytes(coming))});
      out += leaving, in += coming;
    }
    messages_.exchange(sent, got);
  }

  Device device_;
  DeviceMessages messages_;
  Transposition<Value> shares_;
  std::int64_t all_;  // columns of a plane
  int beyond_;
  Buffer<std::int64_t> first_;
};

}  // namespace pergola::cuda
