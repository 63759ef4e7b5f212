#include "plasma/field.hpp"

#include <cmath>

#include "device/buffer.hpp"
#include "mesh/poisson.hpp"
#include "plasma/factories.hpp"
#include "plasma/host_field.hpp"

namespace pergola {

namespace {

/// On any device, by the FFT of the mesh with k² and the Gaussian.
template <class Real>
class PlasmaFieldByFft final : public PlasmaField<Real> {
 public:
  PlasmaFieldByFft(const Device& device, const PlasmaOptions& options)
      : device_(device),
        dimensions_(options.dimensions),
        poisson_(make_poisson_fft<Real>(device, grid_of(options), poisson_options(options))),
        layout_(poisson_->layout()),
        density_(device, layout_.size()),
        potential_(device, layout_.size()),
        scratch_(device, poisson_->scratch_bytes()) {
    density_.zero();
    for (int a = 0; a < dimensions_; ++a) electric_[axis(a)] = Buffer<Real>(device, layout_.size());
  }

  Field<Real> density() override { return on(density_); }
  void solve() override {
    device_.make_current();
    device_.memory().copy(potential_.data(), density_.data(), density_.bytes());
    poisson_->solve(on(potential_), -1.0, scratch_.data());
    for (int a = 0; a < dimensions_; ++a) poisson_->spectral_force(a, on(electric_[axis(a)]), scratch_.data());
  }
  ElectricField<Real> electric() const override {
    ElectricField<Real> field;
    for (int a = 0; a < dimensions_; ++a) {
      field[axis(a)] = {electric_[axis(a)].data(), layout_.nx, layout_.ny, layout_.nz, layout_.pitch, true};
    }
    return field;
  }
  double energy() const override {
    const auto density = host_values(layout_, density_.to_host()), potential = this->potential();
    double sum = 0;
    for (std::size_t i = 0; i < density.size(); ++i) sum += density[i] * potential[i];
    return 0.5 * sum;
  }
  std::vector<double> potential() const override { return host_values(layout_, potential_.to_host()); }
  std::int64_t device_bytes() const override {
    std::size_t bytes = density_.bytes() + potential_.bytes() + scratch_.bytes();
    for (const auto& component : electric_) bytes += component.bytes();
    return static_cast<std::int64_t>(bytes) + poisson_->own_bytes();
  }

 private:
  static std::size_t axis(int a) { return static_cast<std::size_t>(a); }
  static Grid grid_of(const PlasmaOptions& options) {
    Grid grid{options.dimensions, options.cells, {}};
    grid.box.side = {double(options.cells[0]), double(options.cells[1]), double(options.cells[2])};
    grid.box.boundary = Boundary::periodic;
    return grid;
  }
  /// The filter of the solver is exp(−(k b)²/2): with b = √2 a it is S(k)².
  static PoissonFftOptions poisson_options(const PlasmaOptions& options) {
    return {Laplacian::spectral, 0, std::sqrt(2.0) * options.smoothing, true};
  }
  Field<Real> on(Buffer<Real>& values) const {
    Field<Real> field = layout_;
    field.data = values.data();
    return field;
  }

  Device device_;
  int dimensions_;
  std::unique_ptr<PoissonSolver<Real>> poisson_;
  Field<Real> layout_;
  Buffer<Real> density_, potential_;
  std::array<Buffer<Real>, 3> electric_;
  Buffer<std::byte> scratch_;  // the transform of the potential
};

}  // namespace

template <class Real>
std::unique_ptr<PlasmaField<Real>> make_plasma_field(const Device& device, const PlasmaOptions& options) {
  if constexpr (cuda_built)
    if (device.is_cuda()) return make_plasma_field_cuda<Real>(device, options);
  return std::make_unique<PlasmaFieldByFft<Real>>(device, options);
}

template std::unique_ptr<PlasmaField<float>> make_plasma_field(const Device&, const PlasmaOptions&);
template std::unique_ptr<PlasmaField<double>> make_plasma_field(const Device&, const PlasmaOptions&);

}  // namespace pergola
