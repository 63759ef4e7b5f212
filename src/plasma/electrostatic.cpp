// The electrostatic field on the CPU, and the choice of the implementation by device: see electrostatic.hpp.
#include "plasma/electrostatic.hpp"

#include <cmath>
#include <numeric>
#include <utility>

#include "device/buffer.hpp"
#include "mesh/poisson.hpp"
#include "plasma/host_field.hpp"
#include "plasma/tiles.hpp"

namespace pergola {

namespace {

/// On the CPU, by the FFT of the mesh with k² and the Gaussian. Each rank has a slab of all fields.
template <class Real>
class ElectrostaticCpu final : public PlasmaField<Real> {
  using Base = PlasmaField<Real>;
  using Base::device_, Base::options_, Base::ranks_, Base::slab_;

 public:
  ElectrostaticCpu(const Device& device, const PlasmaOptions& options, std::shared_ptr<Communicator> ranks)
      : Base(device, options, std::move(ranks)),
        poisson_(make_poisson_fft<Real>(device, plasma_grid(options), poisson_options(options, ranks_))),
        layout_(poisson_->layout()),
        density_(device, layout_.size()),
        potential_(device, layout_.size()),
        scratch_(device, poisson_->scratch_bytes()) {
    density_.zero();
    first_ = (slab_.below * layer() + aligned - 1) / aligned * aligned;
    const std::int64_t size = slab_.count > 0 ? first_ + layout_.size() + slab_.above * layer() : 0;
    for (int a = 0; a < options.dimensions; ++a) electric_[axis(a)] = Buffer<Real>(device, size);
    if (ranks_) around_ = PlanesAround(*ranks_, slab_.planes(*ranks_), slab_.below, slab_.above);
  }

  DepositedFields<Real> deposited() override { return {on(density_)}; }
  void start() override {
    if (density_.bytes() > 0) device_.memory().copy(potential_.data(), density_.data(), density_.bytes());
    poisson_->solve_for_forces(on(potential_), -1.0, scratch_.data());
    has_potential_ = false;
    for (int a = 0; a < options_.dimensions; ++a) {
      Real* const own = slab_.count > 0 ? electric_[axis(a)].data() + first_ : nullptr;
      poisson_->spectral_force(a, with_data(own), scratch_.data());
      if (ranks_)
        around_.fetch(*ranks_, device_, reinterpret_cast<std::byte*>(own),
                      static_cast<std::size_t>(layer()) * sizeof(Real));
    }
  }
  void advance(double /*step*/) override { start(); }
  GatheredFields<Real> gathered() override {
    GatheredFields<Real> fields{{}, slab_.window};
    for (int a = 0; a < options_.dimensions; ++a) {
      const Real* const first = slab_.count > 0 ? electric_[axis(a)].data() + first_ - slab_.below * layer() : nullptr;
      fields.electric[axis(a)] = this->layers(first, slab_.window.count, layout_.pitch);
    }
    return fields;
  }
  double energy() override {
    // Layer by layer, so that the order of the sums is the same for any slab.
    std::vector<double> sums(static_cast<std::size_t>(slab_.count));
    const auto density = values(PlasmaFieldPart::density), potential = values(PlasmaFieldPart::potential);
    const auto layer = static_cast<std::size_t>(slab_.rows_in_layer()) * static_cast<std::size_t>(layout_.nx);
    for (std::size_t i = 0; i < density.size(); ++i) sums[i / layer] += density[i] * potential[i];
    if (ranks_) sums = gather_layers(*ranks_, slab_, sums, 1);
    return 0.5 * std::accumulate(sums.begin(), sums.end(), 0.0);
  }
  std::vector<double> values(PlasmaFieldPart part) override {
    if (part != PlasmaFieldPart::potential) return Base::values(part);
    if (!std::exchange(has_potential_, true)) poisson_->spectral_force(3, on(potential_), scratch_.data());
    return values_on_host(device_, on(potential_).read_only());
  }
  std::int64_t device_bytes() const override {
    std::size_t bytes = density_.bytes() + potential_.bytes() + scratch_.bytes();
    for (const auto& component : electric_) bytes += component.bytes();
    return static_cast<std::int64_t>(bytes) + poisson_->own_bytes();
  }

 private:
  static std::size_t axis(int a) { return static_cast<std::size_t>(a); }
  /// Values in a layer of grid points, with padding.
  std::int64_t layer() const { return slab_.rows_in_layer() * layout_.pitch; }
  /// The filter of the solver is exp(−(k b)²/2): with b = √2 a it is S(k)².
  static PoissonFftOptions poisson_options(const PlasmaOptions& options, std::shared_ptr<Communicator> ranks) {
    PoissonFftOptions found;
    found.laplacian = Laplacian::spectral;
    found.smoothing = std::sqrt(2.0) * options.smoothing;
    found.spectral_force = true;
    found.ranks = std::move(ranks);
    found.slab_unit = plasma::slab_unit(options.dimensions);
    return found;
  }
  Field<Real> with_data(Real* data) const {
    Field<Real> field = layout_;
    field.data = data;
    return field;
  }
  Field<Real> on(Buffer<Real>& values) const { return with_data(values.data()); }

  static constexpr std::int64_t aligned = 64 / sizeof(Real);

  PlanesAround around_;
  std::unique_ptr<PoissonSolver<Real>> poisson_;
  Field<Real> layout_;
  Buffer<Real> density_;
  Buffer<Real> potential_;  // the solver's modes; transformed when the potential is first wanted
  bool has_potential_ = true;
  std::array<Buffer<Real>, 3> electric_;  // with the layers around
  std::int64_t first_ = 0;                // the first value of the rank's own layers
  Buffer<std::byte> scratch_;             // of the transforms
};

}  // namespace

template <class Real>
std::unique_ptr<PlasmaField<Real>> make_electrostatic(const Device& device, const PlasmaOptions& options,
                                                      std::shared_ptr<Communicator> ranks) {
  if constexpr (cuda_built)
    if (device.is_cuda()) return make_electrostatic_cuda<Real>(device, options, std::move(ranks));
  return std::make_unique<ElectrostaticCpu<Real>>(device, options, std::move(ranks));
}

template std::unique_ptr<PlasmaField<float>> make_electrostatic(const Device&, const PlasmaOptions&,
                                                                std::shared_ptr<Communicator>);
template std::unique_ptr<PlasmaField<double>> make_electrostatic(const Device&, const PlasmaOptions&,
                                                                 std::shared_ptr<Communicator>);

}  // namespace pergola
