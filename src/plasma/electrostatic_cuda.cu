// The electrostatic field on GPUs: see electrostatic.hpp for the equations and field_modes_cuda.cuh for the transforms.
//
// ElectrostaticCuda: the whole box on each device; with ranks, every rank receives the density of all layers.
// ElectrostaticSlabsCuda: layers of a slab, (1) transformed within layers, (2) exchanged into columns, (3) transformed
// across layers and solved, (4) exchanged back into layers, with those around the slab, (5) transformed to values. Both
// give the same bits. Units as in options.hpp: cells, and densities relative to n₀.
#include <algorithm>
#include <memory>
#include <numeric>
#include <vector>

#include "comm/collectives.hpp"
#include "device/buffer.hpp"
#include "device/launch.cuh"
#include "domain/device_messages.hpp"
#include "mesh/fft/transposition_cuda.cuh"
#include "plasma/electrostatic.hpp"
#include "plasma/field_modes_cuda.cuh"
#include "plasma/host_field.hpp"
#include "plasma/tiles.hpp"

namespace pergola {

namespace cuda {

/// Packs this rank's columns into messages, to each rank as [wanted layer][field][column].
template <class Value>
struct PackLayers {
  const Value* columns;
  ColumnLayout layout;
  std::int64_t count;  // columns
  const int* layers;   // wanted by all ranks, one rank after the other
  int fields, field;
  Value* message;
  __device__ void operator()(std::int64_t k) const {
    const std::int64_t layer = k / count, column = k - layer * count;
    message[(layer * fields + field) * count + column] = columns[layout.index(column, layers[layer])];
  }
};

/// Unpacks one field of the layers that this rank wants from the messages of all ranks.
template <class Value>
struct UnpackLayers {
  const Value *arrived, *own;  // own: the message of this rank to itself
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

/// From columns across the layers of the box, which are distributed over the ranks, to the layers that each rank wants:
/// those of its slab and those around (TileSlab::window). One message has several fields. All calls are collective.
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
  /// Memory on the device without messages, and the longer of the messages out and in.
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

namespace {

/// The field of the box on one device. With several ranks each receives the density of all.
template <class Real>
class ElectrostaticCuda final : public PlasmaField<Real> {
  using Complex = typename Cufft<Real>::Complex;
  using Base = PlasmaField<Real>;
  using Base::device_, Base::options_, Base::slab_;

 public:
  ElectrostaticCuda(const Device& device, const PlasmaOptions& options, const std::shared_ptr<Communicator>& ranks)
      : Base(device, options, ranks),
        tables_(device, options),
        transforms_(device, options),
        task_(tables_.task(options)) {
    if (ranks) {
      messages_ = std::make_unique<DeviceMessages>(device_, ranks);
      planes_ = slab_.planes(*ranks);
    }
    density_ = Buffer<Real>(device_, 2 * transforms_.modes());
    density_.zero();
    modes_ = Buffer<Complex>(device_, transforms_.modes());
    electric_ = Buffer<Complex>(device_, options_.dimensions * transforms_.modes());
    electric_.zero();
    modes_.zero();
    task_.density = modes_.data();
    for (int a = 0; a < options_.dimensions; ++a) task_.electric[a] = component(a);
  }

  DepositedFields<Real> deposited() override {
    return {this->layers(density_.data() + slab_.first * layer_values(), slab_.count, row_values())};
  }

  void start() override {
    device_.make_current();
    if (messages_) gather_density();
    transforms_.forward(density_.data(), modes_.data());
    launch_modes<true, false>(task_, device_.stream());
    transforms_.backward(electric_.data(), true);
  }
  void advance(double /*step*/) override { start(); }

  GatheredFields<Real> gathered() override {
    const int all = slab_.window.cells;
    GatheredFields<Real> fields{{}, {all, 0, all}};
    for (int a = 0; a < options_.dimensions; ++a)
      fields.electric[static_cast<std::size_t>(a)] =
          this->layers(reinterpret_cast<const Real*>(component(a)), all, row_values());
    return fields;
  }

  double energy() override {
    device_.make_current();
    const auto sums = column_energies<false>(task_, device_, options_.cells[0]);
    return 0.5 * std::accumulate(sums.begin(), sums.end(), 0.0) / static_cast<double>(options_.cell_count());
  }

  std::vector<double> values(PlasmaFieldPart part) override {
    if (part != PlasmaFieldPart::potential) return Base::values(part);
    device_.make_current();
    Buffer<Complex> modes(device_, transforms_.modes());
    ModeTask<Real> task = task_;
    task.potential = modes.data();
    launch_modes<false, false>(task, device_.stream());
    transforms_.backward(modes.data(), false);
    const auto* const own = reinterpret_cast<const Real*>(modes.data()) + slab_.first * layer_values();
    return values_on_host(device_, this->layers(own, slab_.count, row_values()));
  }

  std::int64_t device_bytes() const override {
    return static_cast<std::int64_t>(density_.bytes() + modes_.bytes() + electric_.bytes() + tables_.bytes()) +
           transforms_.bytes() + (messages_ ? static_cast<std::int64_t>(density_.bytes()) : 0);
  }

 private:
  Complex* component(int a) { return electric_.data() + a * transforms_.modes(); }

  /// Values in a row and in a layer of grid points, with padding.
  std::int64_t row_values() const { return 2 * std::int64_t{task_.nx}; }
  std::int64_t layer_values() const { return 2 * task_.columns(); }
  /// Every rank sends its layers to all others.
  /// Messages go between devices where MPI can do so, else through the host (DeviceMessages).
  void gather_density() {
    const auto layers = [&](int count) { return count * layer_values() * std::int64_t{sizeof(Real)}; };
    const std::int64_t own = layers(planes_.count());
    std::byte* const out = messages_->outgoing(own);
    std::byte* next = messages_->incoming(layers(planes_.planes()) - own);
    messages_->load(out, deposited().density.data, own);
    std::vector<Communicator::Outgoing> sent;
    std::vector<Communicator::Incoming> got;
    const Communicator& ranks = messages_->ranks();
    for (int rank = 0; rank < ranks.size(); ++rank) {
      if (rank == ranks.rank()) continue;
      const std::int64_t bytes = layers(planes_.count(rank));
      if (own > 0) sent.push_back({rank, out, static_cast<std::size_t>(own)});
      if (bytes > 0) got.push_back({rank, next, static_cast<std::size_t>(bytes)});
      next += bytes;
    }
    messages_->exchange(sent, got);
    for (const auto& one : got)
      messages_->unload(density_.data() + planes_.first(one.rank) * layer_values(), one.data,
                        static_cast<std::int64_t>(one.bytes));
  }

  std::unique_ptr<DeviceMessages> messages_;  // of several ranks
  SlabPlanes planes_;                         // and the layers of each rank
  ModeTables<Real> tables_;
  FieldTransforms<Real> transforms_;
  ModeTask<Real> task_;
  Buffer<Real> density_;
  Buffer<Complex> modes_;     // of the density that was solved for
  Buffer<Complex> electric_;  // modes, then values
};

constexpr int column_unit = 32;  // ranks have whole blocks of this number of columns

/// Columns of a plan: about 2¹⁹ values. The number does not depend on the number of ranks.
int columns_at_once(int length) { return std::clamp((1 << 19) / length, 64, 1024); }

/// The field in slabs. A rank transforms its layers; a transposition turns them into columns, some on each rank. The
/// modes of the components are found in columns and go back as layers, also those around a slab. The bits are those of
/// one device (FieldTransforms).
template <class Real>
class ElectrostaticSlabsCuda final : public PlasmaField<Real> {
  using Complex = typename Cufft<Real>::Complex;
  using Base = PlasmaField<Real>;
  using Base::device_, Base::options_, Base::ranks_, Base::slab_;

 public:
  ElectrostaticSlabsCuda(const Device& device, const PlasmaOptions& options, const std::shared_ptr<Communicator>& ranks)
      : Base(device, options, ranks),
        tables_(device, options),
        layers_(device.stream(), options),
        task_(tables_.task(options)),
        messages_(make_device_messages(device, ranks)),
        turned_(messages_, ranks, task_.layers(), plasma::slab_unit(options.dimensions), task_.columns(), column_unit),
        back_(messages_, slab_, first_columns(*ranks, turned_)) {
    task_.first = turned_.first_column(), task_.here = turned_.columns();
    task_.layout = {columns_at_once(task_.layers()), task_.layers()};
    const long long length[1] = {task_.layers()}, width = task_.layout.width;
    lines_ = CufftPlan(device_.stream(), 1, length, {{length[0]}, width, 1}, {{length[0]}, width, 1},
                       Cufft<Real>::complex_to_complex, width);
    work_ = Buffer<std::byte>(device_, static_cast<std::int64_t>(std::max(layers_.work_bytes(), lines_.work_bytes())));
    density_ = Buffer<Real>(device_, 2 * layers_.memory(slab_.count));
    planes_ = Buffer<Complex>(device_, layers_.memory(slab_.count));
    modes_ = Buffer<Complex>(device_, columns_size());
    component_ = Buffer<Complex>(device_, columns_size());
    density_.zero(), planes_.zero(), modes_.zero(), component_.zero();
    for (int a = 0; a < options_.dimensions; ++a) {
      electric_[a] = Buffer<Complex>(device_, layers_.memory(back_.wanted()));
      electric_[a].zero();
    }
    task_.density = modes_.data();
  }

  DepositedFields<Real> deposited() override { return {this->layers(density_.data(), slab_.count, row_values())}; }

  void start() override {
    device_.make_current();
    layers_.forward(density_.data(), planes_.data(), slab_.count, work());
    turned_.to_columns(planes_.data(), modes_.data(), task_.layout);
    lines(modes_.data(), CUFFT_FORWARD);
    back_.begin(options_.dimensions);
    for (int a = 0; a < options_.dimensions; ++a) {
      ModeTask<Real> task = task_;
      task.electric[a] = component_.data();
      launch_modes<true, true>(task, device_.stream());
      lines(component_.data(), CUFFT_INVERSE);
      back_.pack(a, component_.data(), task_.layout);
    }
    back_.exchange();
    for (int a = 0; a < options_.dimensions; ++a) {
      back_.unpack(a, electric_[a].data());
      layers_.backward(electric_[a].data(), back_.wanted(), work());
    }
  }

  void advance(double /*step*/) override { start(); }

  GatheredFields<Real> gathered() override {
    GatheredFields<Real> fields{{}, slab_.window};
    for (std::size_t a = 0; a < fields.electric.size(); ++a)
      if (electric_[a].size() > 0)
        fields.electric[a] =
            this->layers(reinterpret_cast<const Real*>(electric_[a].data()), slab_.window.count, row_values());
    return fields;
  }

  double energy() override {
    device_.make_current();
    auto sums = gather_on_root(*ranks_, column_energies<true>(task_, device_, options_.cells[0]));
    double sum = std::accumulate(sums.begin(), sums.end(), 0.0);
    ranks_->broadcast(&sum, sizeof sum);
    return 0.5 * sum / static_cast<double>(options_.cell_count());
  }

  std::vector<double> values(PlasmaFieldPart part) override {
    if (part != PlasmaFieldPart::potential) return Base::values(part);
    device_.make_current();
    ModeTask<Real> task = task_;
    task.potential = component_.data();
    launch_modes<false, true>(task, device_.stream());
    lines(component_.data(), CUFFT_INVERSE);
    back_.begin(1);
    back_.pack(0, component_.data(), task_.layout);
    back_.exchange();
    Buffer<Complex> values(device_, layers_.memory(back_.wanted()));
    values.zero();
    back_.unpack(0, values.data());
    layers_.backward(values.data(), back_.wanted(), work());
    const auto* const own = reinterpret_cast<const Real*>(values.data()) + slab_.below * layer_values();
    return values_on_host(device_, this->layers(own, slab_.count, row_values()));
  }

  std::int64_t device_bytes() const override {
    std::size_t bytes =
        density_.bytes() + planes_.bytes() + modes_.bytes() + component_.bytes() + tables_.bytes() + work_.bytes();
    for (const auto& component : electric_) bytes += component.bytes();
    return static_cast<std::int64_t>(bytes) + turned_.own_bytes() + back_.bytes() +
           messages_->bytes(std::max(turned_.message_bytes(), back_.message_bytes(options_.dimensions)));
  }

 private:
  static std::vector<std::int64_t> first_columns(const Communicator& ranks,
                                                 const DeviceTransposition<Complex>& turned) {
    std::vector<std::int64_t> first;
    for (int rank = 0; rank <= ranks.size(); ++rank) first.push_back(turned.first_column(rank));
    return first;
  }
  void* work() { return work_.size() > 0 ? work_.data() : nullptr; }
  /// Values in a row and in a layer of grid points, with padding.
  std::int64_t row_values() const { return 2 * std::int64_t{task_.nx}; }
  std::int64_t layer_values() const { return 2 * layers_.modes(); }
  /// Values of this rank's columns, in whole blocks.
  std::int64_t columns_size() const {
    return (task_.here + task_.layout.width - 1) / task_.layout.width * task_.layout.width * task_.layers();
  }
  /// Transforms across the layers, block by block of columns, in place.
  void lines(Complex* columns, int direction) {
    const cufftHandle plan = lines_.with_work(work());
    for (std::int64_t first = 0; first < task_.here; first += task_.layout.width) {
      Complex* const block = columns + first * task_.layers();
      check(Cufft<Real>::lines(plan, block, block, direction), "cufftExecC2C");
    }
  }

  ModeTables<Real> tables_;
  LayerTransforms<Real> layers_;
  ModeTask<Real> task_;
  std::shared_ptr<DeviceMessages> messages_;
  DeviceTransposition<Complex> turned_;
  LayersBack<Complex> back_;
  CufftPlan lines_;
  Buffer<std::byte> work_;
  Buffer<Real> density_;
  Buffer<Complex> planes_;                   // modes of the rank's layers
  Buffer<Complex> modes_;                    // of the density that was solved for, in columns
  Buffer<Complex> component_;                // the field that goes back
  std::array<Buffer<Complex>, 3> electric_;  // with the layers around
};

}  // namespace

}  // namespace cuda

template <class Real>
std::unique_ptr<PlasmaField<Real>> make_electrostatic_cuda(const Device& device, const PlasmaOptions& options,
                                                           std::shared_ptr<Communicator> ranks) {
  if (ranks && !plasma::has_whole_field(options))
    return std::make_unique<cuda::ElectrostaticSlabsCuda<Real>>(device, options, ranks);
  return std::make_unique<cuda::ElectrostaticCuda<Real>>(device, options, ranks);
}

template std::unique_ptr<PlasmaField<float>> make_electrostatic_cuda(const Device&, const PlasmaOptions&,
                                                                     std::shared_ptr<Communicator>);
template std::unique_ptr<PlasmaField<double>> make_electrostatic_cuda(const Device&, const PlasmaOptions&,
                                                                      std::shared_ptr<Communicator>);

}  // namespace pergola
