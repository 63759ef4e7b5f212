#include <numeric>

#include "device/buffer.hpp"
#include "domain/device_messages.hpp"
#include "plasma/factories.hpp"
#include "plasma/field_transforms_cuda.cuh"
#include "plasma/host_field.hpp"
#include "plasma/modes_cuda.cuh"
#include "plasma/tile_slab.hpp"

namespace pergola {

namespace cuda {

namespace {

/// The field of the box on one device. Of several ranks each gets the density of all.
template <class Real>
class PlasmaFieldCuda final : public PlasmaField<Real> {
  using Complex = typename Cufft<Real>::Complex;

 public:
  PlasmaFieldCuda(const Device& device, const PlasmaOptions& options, const std::shared_ptr<Communicator>& ranks)
      : device_(current(device)),
        dimensions_(options.dimensions),
        cells_(options.cells),
        tables_(device, options),
        transforms_(device, options),
        task_(tables_.task(options)) {
    if (ranks) {
      messages_ = std::make_unique<DeviceMessages>(device_, ranks);
      planes_ = plasma::TileSlab(plasma::TileGrid(options)).planes(*ranks);
    }
    density_ = Buffer<Real>(device_, 2 * transforms_.modes());
    density_.zero();
    modes_ = Buffer<Complex>(device_, transforms_.modes());
    electric_ = Buffer<Complex>(device_, dimensions_ * transforms_.modes());
    electric_.zero();
    modes_.zero();
    task_.density = modes_.data();
    for (int a = 0; a < dimensions_; ++a) task_.electric[a] = component(a);
  }

  Field<Real> density() override {
    Field<Real> own = field(density_.data());
    if (!messages_) return own;
    own.data += planes_.first() * layer_values();
    (dimensions_ == 3 ? own.nz : own.ny) = planes_.count();
    return own;
  }

  void solve() override {
    device_.make_current();
    if (messages_) gather_density();
    transforms_.forward(density_.data(), modes_.data());
    launch_modes<true, false>(task_, device_.stream());
    transforms_.backward(electric_.data(), true);
  }

  ElectricField<Real> electric() const override {
    ElectricField<Real> all;
    for (int a = 0; a < dimensions_; ++a)
      all[static_cast<std::size_t>(a)] = field(reinterpret_cast<const Real*>(component(a)));
    return all;
  }

  bool is_whole() const override { return true; }

  double energy() const override {
    device_.make_current();
    const auto sums = column_energies<false>(task_, device_, cells_[0]);
    return 0.5 * std::accumulate(sums.begin(), sums.end(), 0.0) / cell_count();
  }

  std::vector<double> potential() const override {
    device_.make_current();
    Buffer<Complex> modes(device_, transforms_.modes());
    ModeTask<Real> task = task_;
    task.potential = modes.data();
    launch_modes<false, false>(task, device_.stream());
    transforms_.backward(modes.data(), false);
    std::vector<Real> values(static_cast<std::size_t>(field(density_.data()).size()));
    device_.memory().to_host(values.data(), modes.data(), values.size() * sizeof(Real));
    return host_values(field(static_cast<Real*>(nullptr)), values);
  }

  std::int64_t device_bytes() const override {
    return static_cast<std::int64_t>(density_.bytes() + modes_.bytes() + electric_.bytes() + tables_.bytes()) +
           transforms_.bytes() + (messages_ ? static_cast<std::int64_t>(density_.bytes()) : 0);
  }

 private:
  static const Device& current(const Device& device) {
    device.make_current();
    return device;
  }
  double cell_count() const { return static_cast<double>(cells_[0]) * cells_[1] * cells_[2]; }
  template <class T>
  Field<T> field(T* data) const {
    return {data, cells_[0], cells_[1], cells_[2], 2 * std::int64_t{task_.nx}, true};
  }
  Complex* component(int a) const { return const_cast<Complex*>(electric_.data()) + a * transforms_.modes(); }

  /// In a layer of grid points, padded.
  std::int64_t layer_values() const { return 2 * task_.columns(); }
  /// The layers of all ranks to all.
  void gather_density() {
    const auto layers = [&](int count) { return count * layer_values() * std::int64_t{sizeof(Real)}; };
    const std::int64_t own = layers(planes_.count());
    std::byte* const out = messages_->outgoing(own);
    std::byte* next = messages_->incoming(layers(planes_.planes()) - own);
    messages_->load(out, density().data, own);
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

  Device device_;
  std::unique_ptr<DeviceMessages> messages_;  // of several ranks
  SlabPlanes planes_;                         // and who has which layers of the density
  int dimensions_;
  std::array<int, 3> cells_;
  ModeTables<Real> tables_;
  FieldTransforms<Real> transforms_;
  ModeTask<Real> task_;
  Buffer<Real> density_;
  Buffer<Complex> modes_;     // of the density, of the last solve()
  Buffer<Complex> electric_;  // modes, then values
};

}  // namespace

}  // namespace cuda

template <class Real>
std::unique_ptr<PlasmaField<Real>> make_plasma_field_cuda(const Device& device, const PlasmaOptions& options,
                                                          std::shared_ptr<Communicator> ranks) {
  if (ranks && !plasma::has_whole_field(options)) return make_plasma_field_slabs_cuda<Real>(device, options, ranks);
  return std::make_unique<cuda::PlasmaFieldCuda<Real>>(device, options, ranks);
}

template std::unique_ptr<PlasmaField<float>> make_plasma_field_cuda(const Device&, const PlasmaOptions&,
                                                                    std::shared_ptr<Communicator>);
template std::unique_ptr<PlasmaField<double>> make_plasma_field_cuda(const Device&, const PlasmaOptions&,
                                                                     std::shared_ptr<Communicator>);

}  // namespace pergola
