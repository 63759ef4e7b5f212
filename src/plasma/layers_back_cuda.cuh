#pragma once
// CUDA only: from columns across the layers of a plasma's box, which ranks share out, to the layers that each wants.
#include <memory>
#include <vector>

#include "device/buffer.hpp"
#include "device/launch.cuh"
#include "domain/device_messages.hpp"
#include "mesh/fft/transposition_cuda.cuh"
#include "plasma/tile_slab.hpp"

namespace pergola::cuda {

/// Columns of this rank into messages: to each rank [layer that it wants][field][column].
template <class Value>
struct PackLayers {
  const Value* columns;
  ColumnLayout layout;
  std::int64_t count;  // columns
  const int* layers;   // that all ranks want, one rank after the other
  int fields, field;
  Value* message;
  __device__ void operator()(std::int64_t k) const {
    const std::int64_t layer = k / count, column = k - layer * count;
    message[(layer * fields + field) * count + column] = columns[layout.index(column, layers[layer])];
  }
};

/// Of the messages of all ranks a field of the layers that this one wants.
template <class Value>
struct UnpackLayers {
  const Value *arrived, *own;  // own: what this rank would send itself
  const std::int64_t* first;   // column of each rank, and the end
  int ranks, own_rank;
  std::int64_t columns, wanted;  // columns and layers
  int fields, field;
  Value* to;
  __device__ void operator()(std::int64_t k) const {
    const std::int64_t layer = k / columns, column = k - layer * columns;
    const int rank = rank_of_column(first, ranks, column);
    const std::int64_t begin = first[rank], count = first[rank + 1] - begin;
    const Value* const from = rank == own_rank ? own : arrived + wanted * fields * begin;
    to[k] = from[(layer * fields + field) * count + column - begin];
  }
};

/// Each rank wants its layers and those around (TileSlab::window). Several fields travel in one message. All calls are
/// of all ranks.
template <class Value>
class LayersBack {
 public:
  /// `columns`: the first one of each rank, and the end.
  LayersBack(std::shared_ptr<DeviceMessages> messages, const plasma::TileSlab& slab,
             const std::vector<std::int64_t>& columns)
      : device_(messages->device()),
        messages_(std::move(messages)),
        columns_(columns),
        begin_{0},
        first_(device_, columns) {
    const Communicator& ranks = messages_->ranks();
    const SlabPlanes planes = slab.planes(ranks);
    std::vector<int> layers;
    for (int rank = 0; rank < ranks.size(); ++rank) {
      const int count = planes.count(rank);
      for (int place = -slab.below; count > 0 && place < count + slab.above; ++place)
        layers.push_back(((planes.first(rank) + place) % planes.planes() + planes.planes()) % planes.planes());
      begin_.push_back(std::ssize(layers));
    }
    layers_ = Buffer<int>(device_, layers);
  }

  std::int64_t wanted() const { return begin_[own() + 1] - begin_[own()]; }
  /// Of the device, and of a message with so many fields, out or in.
  std::int64_t bytes() const { return static_cast<std::int64_t>(layers_.bytes() + first_.bytes()); }
  std::int64_t message_bytes(int fields) const {
    return fields * std::max(begin_.back() * count(own()), wanted() * columns_.back()) * std::int64_t{sizeof(Value)};
  }

  /// pack() of each field, then exchange(), then unpack() of each.
  void begin(int fields) {
    fields_ = fields;
    out_ = reinterpret_cast<Value*>(messages_->outgoing(size(begin_.back() * count(own()))));
    in_ = reinterpret_cast<Value*>(messages_->incoming(size(wanted() * columns_.back())));
  }
  void pack(int field, const Value* columns, const ColumnLayout& layout) {
    launch("columns to layers", begin_.back() * count(own()), device_.stream(),
           PackLayers<Value>{columns, layout, count(own()), layers_.data(), fields_, field, out_});
  }
  void exchange() {
    std::vector<Communicator::Outgoing> sent;
    std::vector<Communicator::Incoming> got;
    for (std::size_t r = 0; r < messages_->size(); ++r) {
      if (r == own()) continue;
      const std::int64_t leaving = size((begin_[r + 1] - begin_[r]) * count(own())), coming = size(wanted() * count(r));
      const int rank = static_cast<int>(r);
      if (leaving > 0)
        sent.push_back({rank, out_ + fields_ * begin_[r] * count(own()), static_cast<std::size_t>(leaving)});
      if (coming > 0) got.push_back({rank, in_ + fields_ * wanted() * columns_[r], static_cast<std::size_t>(coming)});
    }
    messages_->exchange(sent, got);
  }
  void unpack(int field, Value* to) {
    launch("layers from columns", wanted() * columns_.back(), device_.stream(),
           UnpackLayers<Value>{in_, out_ + fields_ * begin_[own()] * count(own()), first_.data(),
                               static_cast<int>(messages_->size()), static_cast<int>(own()), columns_.back(), wanted(),
                               fields_, field, to});
  }

 private:
  std::size_t own() const { return messages_->own_rank(); }
  std::int64_t count(std::size_t rank) const { return columns_[rank + 1] - columns_[rank]; }
  std::int64_t size(std::int64_t values) const { return fields_ * values * std::int64_t{sizeof(Value)}; }

  Device device_;
  std::shared_ptr<DeviceMessages> messages_;
  std::vector<std::int64_t> columns_;  // first of each rank, and the end
  std::vector<std::int64_t> begin_;    // of each rank's layers in layers_, and the end
  Buffer<std::int64_t> first_;
  Buffer<int> layers_;
  Value *out_ = nullptr, *in_ = nullptr;
  int fields_ = 1;
};

}  // namespace pergola::cuda
