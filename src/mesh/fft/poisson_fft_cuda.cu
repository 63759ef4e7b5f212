// Poisson's equation by cuFFT on one GPU, in two or three dimensions. Transforms are in place: the field is the
// density, its modes, and then the potential. Plans share one work area, in the caller's scratch memory.
#include <algorithm>

#include "device/buffer.hpp"
#include "mesh/fft/cufft_plan.cuh"
#include "mesh/fft/line_solver.cuh"
#include "mesh/fft/mode_loops.cuh"
#include "mesh/fft/poisson_fft.hpp"

namespace pergola {

namespace cuda {

namespace {

/// cuFFT over all axes, or over planes with lines along z afterwards: the latter where line_solver.cuh has a kernel
/// that does the lines, the product with the Green factors and the lines back in one pass; in an isolated box, where
/// planes that are empty or not wanted are left out; and for spectral forces, which are differentiated along x and y
/// when lines are back, so that ranks with planes (poisson_slabs_cuda.cu) have the same bits. Modes that are kept for
/// forces are, in one pass, of planes, their lines transformed back already: −∂/∂z is one pass more over them.
template <class Real>
class PoissonFftCuda final : public PoissonSolver<Real> {
  using Complex = typename Cufft<Real>::Complex;

 public:
  PoissonFftCuda(const Device& device, const Grid& grid, const PoissonFftOptions& options)
      : device_(device),
        periodic_(grid.periodic()),
        spectral_(options.spectral_force),
        flat_(grid.dimensions == 2),
        axes_(make_fft_axes(grid, options)),
        modes_{row_modes<Real>(periodic_, spectral_, axes_.axis[0].length, axes_.axis[2].length), axes_.axis[1].length,
               axes_.axis[2].length},
        one_pass_(in_one_pass<Real>(periodic_, spectral_, modes_.nz)) {
    device_.make_current();
    if (periodic_ || spectral_) tables_ = AxisTables<Real>(device_, axes_);
    if (!periodic_) make_green();
    if (one_pass_) roots_ = Buffer<float2>(device_, roots_of_unity(modes_.nz));
    by_planes() ? make_plane_plans() : make_volume_plans(grid.dimensions);
    for (const auto* plan : {&forward_, &backward_, &backward_last_, &lines_})
      work_bytes_ = std::max(work_bytes_, plan->work_bytes());
  }

  Field<Real> layout() const override {
    const auto& [x, y, z] = axes_.axis;
    return {nullptr, x.length, y.length, z.length, 2 * std::int64_t{modes_.nx}, true};
  }
  std::int64_t scratch_bytes() const override { return kept_bytes() + static_cast<std::int64_t>(work_bytes_); }
  std::int64_t own_bytes() const override {
    return static_cast<std::int64_t>(tables_.bytes() + green_.bytes() + roots_.bytes());
  }

  /// With spectral forces the modes of the potential are kept in the scratch memory.
  void solve(const Field<Real>& field, double factor, void* scratch) override {
    Complex* const modes = reinterpret_cast<Complex*>(field.data);
    void* const work = work_area(scratch);
    with_factor(field, factor, work, [&](const auto& green) {
      multiply(modes, spectral_ ? static_cast<Complex*>(scratch) : nullptr, green, work);
    });
    if (by_planes() && !one_pass_) lines_back(modes, work);
    to_real(field, work);
  }

  void spectral_force(int axis, const Field<Real>& force, void* scratch) override {
    Field<Real> modes = layout(), spare;
    modes.data = static_cast<Real*>(scratch);
    from_modes(axis, modes, force, spare, work_area(scratch));
  }

  std::int64_t mode_work_bytes() const override { return static_cast<std::int64_t>(work_bytes_); }
  void find_modes(Field<Real>& field, Field<Real>&, double factor, void* work) override {
    check_spectral();
    work = work_bytes_ > 0 ? work : nullptr;
    with_factor(field, factor, work,
                [&](const auto& green) { multiply(reinterpret_cast<Complex*>(field.data), nullptr, green, work); });
  }
  /// Component `axis` of the force from the modes, or the potential (3), into `to`.
  void from_modes(int axis, Field<Real>& modes, const Field<Real>& to, Field<Real>&, void* work) override {
    check_spectral();
    device_.make_current();
    work = work_bytes_ > 0 ? work : nullptr;
    const auto* const from = reinterpret_cast<const Complex*>(modes.data);
    auto* const force = reinterpret_cast<Complex*>(to.data);
    const auto differentiate = [&](const Complex* of, int along) {
      each_mode("differentiate_modes", modes_, device_.stream(),
                DifferentiateModes<Real>{of, force, along < 3 ? tables_[along].wave_number : nullptr, along});
    };
    const bool lines_first = by_planes() && !one_pass_;
    if (one_pass_ && axis == 2) {
      through_lines(from, force, SlopeFactor<Real>{tables_[2].wave_number, Real(1) / static_cast<Real>(modes_.nz)});
    } else {
      differentiate(from, lines_first && axis < 2 ? 3 : axis);
      if (lines_first) lines_back(force, work);
      if (lines_first && axis < 2) differentiate(force, axis);
    }
    to_real(to, work);
  }

 private:
  void check_spectral() const {
    if (!spectral_) throw Error(ErrorKind::input, "mesh: the spectral force was not among the options of the solver");
  }
  /// Transforms a density as far as the plans go and calls use(Green factors).
  template <class Use>
  void with_factor(const Field<Real>& field, double factor, void* work, const Use& use) {
    device_.make_current();
    const double scale = factor * axes_.unit_length * axes_.unit_length;
    check(Cufft<Real>::forward(forward_.with_work(work), field.data, reinterpret_cast<Complex*>(field.data)),
          "cufftExecR2C");
    const auto& [x, y, z] = axes_.axis;
    if (periodic_)
      use(tables_.green(axes_, scale));
    else
      use(OpenSpaceFactor<Real>{green_.data(), x.cells, y.cells, z.cells, static_cast<Real>(scale), 0, y.cells + 1});
  }

  /// solve() keeps the modes of the potential in the first part of the scratch memory.
  std::int64_t kept_bytes() const {
    const std::int64_t bytes = std::int64_t{modes_.nx} * modes_.ny * modes_.nz * std::int64_t{sizeof(Complex)};
    return spectral_ ? (bytes + 255) / 256 * 256 : 0;
  }

  /// After what solve() keeps; null where no plan asks for it: the end of the scratch memory may be the beginning of
  /// the field, and cuFFT refuses a work area that is the field, also an empty one.
  void* work_area(void* scratch) const {
    return work_bytes_ > 0 ? static_cast<std::byte*>(scratch) + kept_bytes() : nullptr;
  }
  bool by_planes() const { return one_pass_ || !periodic_ || (spectral_ && !flat_); }

  /// Between the transforms: lines along z where planes were transformed, and the product with the Green factors, also
  /// into `kept` where it is not null; in one pass the lines back as well.
  template <class Factor>
  void multiply(Complex* modes, Complex* kept, const Factor& factor, void* work) {
    if (one_pass_) {
      through_lines(modes, modes, factor);
      if (kept)
        device_.memory().copy(
            kept, modes, static_cast<std::size_t>(std::int64_t{modes_.nx} * modes_.ny * modes_.nz) * sizeof(Complex));
      return;
    }
    if (by_planes()) check(Cufft<Real>::lines(lines_.with_work(work), modes, modes, CUFFT_FORWARD), "cufftExecC2C");
    each_mode("multiply_modes", modes_, device_.stream(), MultiplyModes<Real, Factor>{modes, kept, factor});
  }
  template <class Factor>
  void through_lines(const Complex* from, Complex* to, const Factor& factor) {
    if constexpr (std::is_same_v<Real, float>)
      solve_lines(modes_.nz, {from, to, modes_.nx * modes_.ny, 0, modes_.nx, roots_.data()}, factor, device_.stream());
  }
  void lines_back(Complex* modes, void* work) {
    check(Cufft<Real>::lines(lines_.with_work(work), modes, modes, CUFFT_INVERSE), "cufftExecC2C");
  }

  /// Of an isolated box only the planes of the grid and the two next to it come back.
  void to_real(const Field<Real>& field, void* work) {
    Complex* modes = reinterpret_cast<Complex*>(field.data);
    check(Cufft<Real>::backward(backward_.with_work(work), modes, field.data), "cufftExecC2R");
    if (periodic_) return;
    const std::int64_t last = field.index(0, 0, field.nz - 1);  // cell −1
    check(Cufft<Real>::backward(backward_last_.with_work(work), modes + last / 2, field.data + last), "cufftExecC2R");
  }

  /// Stored with kx fastest, as the modes are.
  void make_green() {
    const auto& [x, y, z] = axes_.axis;
    const auto green = open_space_green_transform(axes_, device_.threads(), nullptr, 0, axes_.axis[0].length / 2 + 1);
    const std::int64_t px = x.cells + 1, py = y.cells + 1, pz = z.cells + 1;
    std::vector<Real> values(green.size());
    for (std::int64_t i = 0; i < px; ++i)
      for (std::int64_t j = 0; j < py; ++j)
        for (std::int64_t k = 0; k < pz; ++k)
          values[(k * py + j) * px + i] = static_cast<Real>(green[(i * py + j) * pz + k]);
    green_ = Buffer<Real>(device_, values);
  }

  /// All axes in one plan.
  void make_volume_plans(int dimensions) {
    const auto& [x, y, z] = axes_.axis;
    const long long length[3] = {z.length, y.length, x.length};
    const long long* first = length + (3 - dimensions);
    const long long count = static_cast<long long>(modes_.nx) * modes_.ny * modes_.nz;
    CufftLayout real{{z.length, y.length, 2 * modes_.nx}, 1, 2 * count},
        modes{{z.length, y.length, modes_.nx}, 1, count};
    if (dimensions == 2) real = {{y.length, 2 * modes_.nx}, 1, 2 * count}, modes = {{y.length, modes_.nx}, 1, count};
    forward_ = CufftPlan(device_.stream(), dimensions, first, real, modes, Cufft<Real>::real_to_complex, 1);
    backward_ = CufftPlan(device_.stream(), dimensions, first, modes, real, Cufft<Real>::complex_to_real, 1);
  }

  void make_plane_plans() {
    const auto& [x, y, z] = axes_.axis;
    const Stream stream = device_.stream();
    const long long plane[2] = {y.length, x.length}, line[1] = {z.length};
    const long long plane_modes = static_cast<long long>(modes_.nx) * modes_.ny;
    const CufftLayout real{{y.length, 2 * modes_.nx}, 1, 2 * plane_modes};
    const CufftLayout modes{{y.length, modes_.nx}, 1, plane_modes};
    const CufftLayout lines{{z.length}, plane_modes, 1};
    forward_ = CufftPlan(stream, 2, plane, real, modes, Cufft<Real>::real_to_complex, z.cells);
    backward_ =
        CufftPlan(stream, 2, plane, modes, real, Cufft<Real>::complex_to_real, periodic_ ? z.cells : z.cells + 1);
    if (!periodic_) backward_last_ = CufftPlan(stream, 2, plane, modes, real, Cufft<Real>::complex_to_real, 1);
    if (!one_pass_) lines_ = CufftPlan(stream, 1, line, lines, lines, Cufft<Real>::complex_to_complex, plane_modes);
  }

  Device device_;
  bool periodic_, spectral_, flat_;
  FftAxes axes_;
  ModeShape modes_;
  bool one_pass_;  // the lines along z by line_solver.cuh
  AxisTables<Real> tables_;
  Buffer<Real> green_;
  Buffer<float2> roots_;
  CufftPlan forward_, backward_;  // the volume, or the planes that hold cells; backward and isolated, one plane more
  CufftPlan backward_last_;       // isolated: the last plane
  CufftPlan lines_;               // by planes: lines along z, where not one_pass_
  std::size_t work_bytes_ = 0;
};

}  // namespace

}  // namespace cuda

template <class Real>
std::unique_ptr<PoissonSolver<Real>> make_poisson_fft_cuda(const Device& device, const Grid& grid,
                                                           const PoissonFftOptions& options) {
  if (options.ranks) return make_poisson_slabs_cuda<Real>(device, grid, options);
  return std::make_unique<cuda::PoissonFftCuda<Real>>(device, grid, options);
}

template std::unique_ptr<PoissonSolver<float>> make_poisson_fft_cuda(const Device&, const Grid&,
                                                                     const PoissonFftOptions&);
template std::unique_ptr<PoissonSolver<double>> make_poisson_fft_cuda(const Device&, const Grid&,
                                                                      const PoissonFftOptions&);

}  // namespace pergola
