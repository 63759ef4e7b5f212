#include <algorithm>
#include <numeric>

#include "comm/collectives.hpp"
#include "device/buffer.hpp"
#include "mesh/fft/transposition_cuda.cuh"
#include "plasma/factories.hpp"
#include "plasma/field_transforms_cuda.cuh"
#include "plasma/host_field.hpp"
#include "plasma/layers_back_cuda.cuh"
#include "plasma/modes_cuda.cuh"
#include "plasma/tile_slab.hpp"

namespace pergola {

namespace cuda {

namespace {

constexpr int column_unit = 32;  // columns are shared out over ranks so many at a time

/// Columns of a plan: about 2¹⁹ values, in any case the same number, whatever a rank has of them.
int columns_at_once(int length) { return std::clamp((1 << 19) / length, 64, 1024); }

/// The field of which ranks have slabs. Layers are transformed by those who have them and become columns, each rank's
/// own; of these come the modes of the components, which go back to those who want their layers, also the layers
/// around a slab. Bits are those of one device (FieldTransforms).
template <class Real>
class PlasmaFieldSlabsCuda final : public PlasmaField<Real> {
  using Complex = typename Cufft<Real>::Complex;

 public:
  PlasmaFieldSlabsCuda(const Device& device, const PlasmaOptions& options, const std::shared_ptr<Communicator>& ranks)
      : device_(current(device)),
        ranks_(ranks),
        dimensions_(options.dimensions),
        cells_(options.cells),
        slab_(plasma::TileGrid(options), static_cast<int>(options.shape), *ranks),
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
    for (int a = 0; a < dimensions_; ++a) {
      electric_[a] = Buffer<Complex>(device_, layers_.memory(back_.wanted()));
      electric_[a].zero();
    }
    task_.density = modes_.data();
  }

  Field<Real> density() override { return own(density_.data()); }

  void solve() override {
    device_.make_current();
    layers_.forward(density_.data(), planes_.data(), slab_.count, work());
    turned_.to_columns(planes_.data(), modes_.data(), task_.layout);
    lines(modes_.data(), CUFFT_FORWARD);
    back_.begin(dimensions_);
    for (int a = 0; a < dimensions_; ++a) {
      ModeTask<Real> task = task_;
      task.electric[a] = component_.data();
      launch_modes<true, true>(task, device_.stream());
      lines(component_.data(), CUFFT_INVERSE);
      back_.pack(a, component_.data(), task_.layout);
    }
    back_.exchange();
    for (int a = 0; a < dimensions_; ++a) {
      back_.unpack(a, electric_[a].data());
      layers_.backward(electric_[a].data(), back_.wanted(), work());
    }
  }

  ElectricField<Real> electric() const override {
    ElectricField<Real> all;
    for (std::size_t a = 0; a < all.size(); ++a)
      if (electric_[a].size() > 0)
        all[a] = own(reinterpret_cast<const Real*>(electric_[a].data()) + slab_.below * layer_values());
    return all;
  }

  bool is_whole() const override { return false; }

  double energy() const override {
    device_.make_current();
    auto sums = gather_on_root(*ranks_, column_energies<true>(task_, device_, cells_[0]));
    double sum = std::accumulate(sums.begin(), sums.end(), 0.0);
    ranks_->broadcast(&sum, sizeof sum);
    return 0.5 * sum / (static_cast<double>(cells_[0]) * cells_[1] * cells_[2]);
  }

  std::vector<double> potential() const override {
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
    std::vector<Real> on_host(static_cast<std::size_t>(slab_.count * layer_values()));
    if (on_host.empty()) return {};
    device_.memory().to_host(on_host.data(), reinterpret_cast<Real*>(values.data()) + slab_.below * layer_values(),
                             on_host.size() * sizeof(Real));
    return host_values(own(static_cast<Real*>(nullptr)), on_host);
  }

  std::int64_t device_bytes() const override {
    std::size_t bytes =
        density_.bytes() + planes_.bytes() + modes_.bytes() + component_.bytes() + tables_.bytes() + work_.bytes();
    for (const auto& component : electric_) bytes += component.bytes();
    return static_cast<std::int64_t>(bytes) + turned_.own_bytes() + back_.bytes() +
           messages_->bytes(std::max(turned_.message_bytes(), back_.message_bytes(dimensions_)));
  }

 private:
  static const Device& current(const Device& device) {
    device.make_current();
    return device;
  }
  static std::vector<std::int64_t> first_columns(const Communicator& ranks,
                                                 const DeviceTransposition<Complex>& turned) {
    std::vector<std::int64_t> first;
    for (int rank = 0; rank <= ranks.size(); ++rank) first.push_back(turned.first_column(rank));
    return first;
  }
  void* work() const { return work_.size() > 0 ? const_cast<std::byte*>(work_.data()) : nullptr; }
  /// In a layer of grid points, padded.
  std::int64_t layer_values() const { return 2 * layers_.modes(); }
  /// Of this rank's columns, in whole blocks.
  std::int64_t columns_size() const {
    return (task_.here + task_.layout.width - 1) / task_.layout.width * task_.layout.width * task_.layers();
  }
  /// This rank's layers.
  template <class T>
  Field<T> own(T* data) const {
    const bool planes = dimensions_ == 3;
    return {data, cells_[0], planes ? cells_[1] : slab_.count, planes ? slab_.count : 1, 2 * std::int64_t{task_.nx},
            true};
  }
  void lines(Complex* columns, int direction) const {
    const cufftHandle plan = lines_.with_work(work());
    for (std::int64_t first = 0; first < task_.here; first += task_.layout.width) {
      Complex* const block = columns + first * task_.layers();
      check(Cufft<Real>::lines(plan, block, block, direction), "cufftExecC2C");
    }
  }

  Device device_;
  std::shared_ptr<Communicator> ranks_;
  int dimensions_;
  std::array<int, 3> cells_;
  plasma::TileSlab slab_;
  ModeTables<Real> tables_;
  LayerTransforms<Real> layers_;
  ModeTask<Real> task_;
  std::shared_ptr<DeviceMessages> messages_;
  DeviceTransposition<Complex> turned_;
  mutable LayersBack<Complex> back_;
  CufftPlan lines_;
  Buffer<std::byte> work_;
  Buffer<Real> density_;
  Buffer<Complex> planes_;                   // modes of the rank's layers
  Buffer<Complex> modes_;                    // of the density, of the last solve(), in columns
  mutable Buffer<Complex> component_;        // of what goes back, one field at a time
  std::array<Buffer<Complex>, 3> electric_;  // with the layers around
};

}  // namespace

}  // namespace cuda

template <class Real>
std::unique_ptr<PlasmaField<Real>> make_plasma_field_slabs_cuda(const Device& device, const PlasmaOptions& options,
                                                                const std::shared_ptr<Communicator>& ranks) {
  return std::make_unique<cuda::PlasmaFieldSlabsCuda<Real>>(device, options, ranks);
}

template std::unique_ptr<PlasmaField<float>> make_plasma_field_slabs_cuda(const Device&, const PlasmaOptions&,
                                                                          const std::shared_ptr<Communicator>&);
template std::unique_ptr<PlasmaField<double>> make_plasma_field_slabs_cuda(const Device&, const PlasmaOptions&,
                                                                           const std::shared_ptr<Communicator>&);

}  // namespace pergola
