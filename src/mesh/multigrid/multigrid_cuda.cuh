#pragma once
#include <algorithm>
#include <array>

#include "device/buffer.hpp"
#include "mesh/multigrid/multigrid_direct.cuh"
#include "mesh/multigrid/multigrid_kernels.cuh"
#include "mesh/multigrid/multigrid_loops.hpp"
#include "mesh/multigrid/multigrid_sweep.cuh"

namespace pergola::multigrid {

/// A compiled Sweep and its shape.
template <class Real>
struct SweepKernel {
  void (*kernel)(SweepArguments<Real>) = nullptr;
  int half_sweeps = 0, halo = 0, out_x = 0, out_y = 0, warps = 0;
  std::size_t shared_bytes = 0;
  int blocks_at_once = 0;   // on the whole device
  std::vector<int> chunks;  // by level

  template <class S>
  static SweepKernel of() {
    SweepKernel result;
    result.kernel = sweep_kernel<S, Real>;
    result.half_sweeps = S::planes - 3, result.halo = S::halo;
    result.out_x = S::out_x, result.out_y = S::out_y, result.warps = S::threads / 32;
    result.shared_bytes = sizeof(typename S::Shared);
    cuda::check(cudaFuncSetAttribute(result.kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                     static_cast<int>(result.shared_bytes)),
                "multigrid sweep");
    int device = 0, units = 0, per_unit = 0;
    cuda::check(cudaGetDevice(&device), "cudaGetDevice");
    cuda::check(cudaDeviceGetAttribute(&units, cudaDevAttrMultiProcessorCount, device), "cudaDeviceGetAttribute");
    cuda::check(
        cudaOccupancyMaxActiveBlocksPerMultiprocessor(&per_unit, result.kernel, S::threads, result.shared_bytes),
        "multigrid sweep");
    result.blocks_at_once = units * per_unit;
    return result;
  }

  dim3 grid(const Level<Real>& g, int planes) const {
    const auto parts = [](int cells, int size) { return static_cast<unsigned>((cells + size - 1) / size); };
    return {parts(g.nx, out_x), parts(g.ny, out_y), parts(g.nz, planes)};
  }
  static int blocks(dim3 grid) { return static_cast<int>(grid.x * grid.y * grid.z); }
  /// Planes per block: few enough to have all of the device at work, many enough to keep the overlap small.
  int chunk(const Level<Real>& g) const {
    int best = g.nz;
    std::int64_t least = -1;
    for (int parts = 1; parts <= g.nz / 2; ++parts) {
      const int planes = (g.nz / 2 + parts - 1) / parts * 2;
      const std::int64_t rounds = (blocks(grid(g, planes)) + blocks_at_once - 1) / blocks_at_once;
      const std::int64_t steps = rounds * (planes + 2 * halo);
      if (least < 0 || steps < least) best = planes, least = steps;
    }
    return best;
  }

  /// Returns the number of blocks.
  int launch(Stream stream, SweepArguments<Real> arguments, int planes) const {
    arguments.chunk = planes;
    const dim3 size = grid(arguments.level, planes);
    kernel<<<size, dim3(32, static_cast<unsigned>(warps)), shared_bytes, cuda::handle(stream)>>>(arguments);
    cuda::check(cudaGetLastError(), "multigrid sweep");
    return blocks(size);
  }
};

/// The sweeps that one pass can do, with and without correction, by After and from the fewest to the most half-sweeps.
template <class Real>
struct SweepKernels {
  std::array<std::array<std::vector<SweepKernel<Real>>, 3>, 2> choices;

  const SweepKernel<Real>& most(bool correct, After after, int half_sweeps) const {
    const auto& choice = choices[correct][static_cast<std::size_t>(after)];
    auto found = choice.begin();
    while (found + 1 != choice.end() && (found + 1)->half_sweeps <= half_sweeps) ++found;
    return *found;
  }

  template <bool periodic, int rows, int warps>
  static SweepKernels make() {
    SweepKernels result;
    const auto add = [&]<int half_sweeps, After after, bool correct>() {
      result.choices[correct][static_cast<std::size_t>(after)].push_back(
          SweepKernel<Real>::template of<Sweep<Real, half_sweeps, after, correct, periodic, rows, warps>>());
    };
    add.template operator()<0, After::average, false>();
    add.template operator()<0, After::measure, false>();
    const auto add_all = [&]<int half_sweeps>() {
      add.template operator()<half_sweeps, After::nothing, false>();
      add.template operator()<half_sweeps, After::nothing, true>();
      add.template operator()<half_sweeps, After::average, false>();
      if constexpr (periodic) add.template operator()<half_sweeps, After::average, true>();
      add.template operator()<half_sweeps, After::measure, false>();
      add.template operator()<half_sweeps, After::measure, true>();
    };
    add_all.template operator()<2>();
    if constexpr (sizeof(Real) == 4) add_all.template operator()<4>();
    return result;
  }
};

template <class Real>
class LoopsCuda final : public Loops<Real> {
 public:
  LoopsCuda(const Device& device, const std::vector<Level<Real>>& levels) : device_(device), levels_(levels) {
    device_.make_current();
    constexpr int warps = sizeof(Real) == 4 ? 16 : 8;
    kernels_ = levels.front().periodic ? SweepKernels<Real>::template make<true, 4, warps>()
                                       : SweepKernels<Real>::template make<false, 4, warps>();
    std::int64_t coarse = 0;
    for (std::size_t l = 1; l < levels.size(); ++l) coarse += 3 * levels[l].cells();
    memory_ = Buffer<Real>(device, coarse);
    arrays_.resize(levels.size());
    Real* next = memory_.data();
    for (std::size_t l = 1; l < levels.size(); ++l) {
      const std::int64_t cells = levels[l].cells();
      arrays_[l] = {next, next + cells, next + 2 * cells};
      next += 3 * cells;
    }
    const AxisModes<Real> modes = axis_modes(levels.back());
    for (std::size_t axis = 0; axis < 3; ++axis) {
      modes_[axis] = Buffer<Real>(device, modes.mode[axis]);
      eigenvalues_[axis] = Buffer<Real>(device, modes.eigenvalue[axis]);
    }
    parts_ = Buffer<double>(
        device, std::max<std::int64_t>(sum_blocks, std::int64_t{levels.front().nz} * moment_parts * moment_sums));
    far_ = Buffer<physics::Multipole>(device, 1);
    sums_ = Buffer<double>(device, 4);
    int blocks = 0;
    for (auto& choices : kernels_.choices)
      for (auto& choice : choices)
        for (SweepKernel<Real>& kernel : choice) {
          for (const Level<Real>& level : levels) kernel.chunks.push_back(kernel.chunk(level));
          blocks = std::max(blocks, kernel.blocks(kernel.grid(levels.front(), kernel.chunks.front())));
        }
    squares_ = Buffer<double>(device, 3 * blocks);
  }

  std::int64_t scratch_bytes() const override {
    return 2 * levels_.front().cells() * static_cast<std::int64_t>(sizeof(Real));
  }
  std::int64_t own_bytes() const override {
    std::size_t bytes = memory_.bytes() + parts_.bytes() + far_.bytes() + sums_.bytes() + squares_.bytes();
    for (std::size_t axis = 0; axis < 3; ++axis) bytes += modes_[axis].bytes() + eigenvalues_[axis].bytes();
    return static_cast<std::int64_t>(bytes);
  }

  void begin(const Field<Real>& field, double factor, void* scratch) override {
    device_.make_current();
    const Level<Real>& g = levels_.front();
    field_ = field.data;
    Real* const memory = static_cast<Real*>(scratch);
    arrays_.front() = {field.data, memory, memory + g.cells()};
    if (g.periodic) {
      mean_of(field.data);
    } else {
      plane_moments<<<dim3(static_cast<unsigned>(g.nz), moment_parts), 256, 0, cuda::handle(device_.stream())>>>(
          g, field.data, parts_.data());
      expand_moments<<<1, dim3(16, physics::moment_count), 0, cuda::handle(device_.stream())>>>(g, parts_.data(),
                                                                                                factor, far_.data());
      cuda::check(cudaGetLastError(), "multipole expansion");
    }
    scale(factor, field.data, arrays_.front().source);
  }

  void average_source(int level) override {
    const Level<Real>& c = at(level + 1);
    launch_places("average", c.nx, c.ny, c.nz, device_.stream(),
                  Average<Real>{at(level), at(level + 1), arrays(level).source, arrays(level + 1).source});
  }

  void add_walls(int level) override {
    if (at(level).periodic) return;
    const AddWalls<Real> body{at(level), far_.data(), arrays(level).source};
    cuda::launch("add walls", body.count(), device_.stream(), body);
  }

  void descend(int level, Start start, int sweeps) override {
    // Without faces a whole potential is interpolated like a correction to nothing.
    const bool in_pass = start == Start::interpolated && at(level).periodic && corrects_in_pass(level, sweeps);
    if (start == Start::interpolated && !in_pass) interpolate<true>(level);
    smooth(level, start == Start::zero || in_pass, in_pass, sweeps, After::average);
  }

  void ascend(int level, int sweeps, bool measured) override {
    const bool in_pass = corrects_in_pass(level, sweeps);
    if (!in_pass) interpolate<false>(level);
    smooth(level, false, in_pass, sweeps, measured ? After::measure : After::nothing);
  }

  void solve_coarsest() override {
    Arrays& a = arrays_.back();
    if (SolveDirectly<Real, true>::fills(levels_.back())) return solve_in_one_block<true>();
    if (SolveDirectly<Real, false>::fits(levels_.back())) return solve_in_one_block<false>();
    transform(0, false, a.source, a.other);
    transform(1, false, a.other, a.potential);
    transform(2, false, a.potential, a.other);
    transform(2, true, a.other, a.potential);
    transform(1, true, a.potential, a.other);
    transform(0, true, a.other, a.potential);
  }

  Norms norms() override {
    if (levels_.size() == 1) smooth(0, false, false, 0, After::measure);
    add_squares<<<1, 256, 0, cuda::handle(device_.stream())>>>(squares_.data(), measured_, sums_.data() + 1);
    cuda::check(cudaGetLastError(), "norms");
    const std::vector<double> sums = sums_.to_host();
    return {sums[1], sums[2], sums[3]};
  }

  void finish() override {
    Real* const potential = arrays_.front().potential;
    if (levels_.front().periodic) mean_of(potential);
    if (levels_.front().periodic || potential != field_) scale(1, potential, field_);
  }

 private:
  struct Arrays {
    Real *potential = nullptr, *other = nullptr, *source = nullptr;
  };
  const Level<Real>& at(int level) const { return levels_[static_cast<std::size_t>(level)]; }
  Arrays& arrays(int level) { return arrays_[static_cast<std::size_t>(level)]; }

  template <bool full>
  void solve_in_one_block() {
    using Body = SolveDirectly<Real, full>;
    const Body body{levels_.back(),
                    {modes_[0].data(), modes_[1].data(), modes_[2].data()},
                    {eigenvalues_[0].data(), eigenvalues_[1].data(), eigenvalues_[2].data()},
                    arrays_.back().source,
                    arrays_.back().potential};
    constexpr int bytes = sizeof(typename Body::Shared);
    if (bytes > 48 * 1024)
      cuda::check(cudaFuncSetAttribute(solve_directly<Body>, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes),
                  "solve directly");
    solve_directly<<<1, Body::threads, bytes, cuda::handle(device_.stream())>>>(body);
    cuda::check(cudaGetLastError(), "solve directly");
  }

  bool corrects_in_pass(int level, int sweeps) const {
    return sweeps > 0 && at(level).fx * at(level).fy * at(level).fz == 8;
  }

  SweepArguments<Real> sweep_arguments(int level, bool from_zero) {
    SweepArguments<Real> result;
    result.level = at(level);
    result.potential = from_zero ? nullptr : arrays(level).potential;
    result.source = arrays(level).source;
    result.out = arrays(level).other;
    result.squares = squares_.data();
    if (level + 1 < static_cast<int>(levels_.size())) {
      result.coarse = at(level + 1);
      result.correction = arrays(level + 1).potential;
      result.coarse_source = arrays(level + 1).source;
    }
    return result;
  }

  /// `correct`: the first pass adds the interpolated potential of the next level.
  void smooth(int level, bool from_zero, bool correct, int sweeps, After after) {
    if (sweeps == 0 && from_zero)
      device_.memory().zero(arrays(level).potential, static_cast<std::size_t>(at(level).cells()) * sizeof(Real));
    if (sweeps == 0 && after != After::nothing) pass(level, kernels_.most(false, after, 0), from_zero);
    for (int left = 2 * sweeps; left > 0; from_zero = correct = false) {
      const bool last = kernels_.most(correct, after, left).half_sweeps == left;
      const SweepKernel<Real>& kernel = kernels_.most(correct, last ? after : After::nothing, left);
      pass(level, kernel, from_zero);
      std::swap(arrays(level).potential, arrays(level).other);
      left -= kernel.half_sweeps;
    }
  }
  void pass(int level, const SweepKernel<Real>& kernel, bool from_zero) {
    measured_ = kernel.launch(device_.stream(), sweep_arguments(level, from_zero),
                              kernel.chunks[static_cast<std::size_t>(level)]);
  }

  template <bool whole>
  void interpolate(int level) {
    const Level<Real>& c = at(level + 1);
    const int height = c.cells() < 100000 ? 1 : 8;
    launch_places("interpolate", c.nx, c.ny, (c.nz + height - 1) / height, device_.stream(),
                  Interpolate<Real, whole>{
                      at(level), {arrays(level + 1).potential, c, far_.data()}, arrays(level).potential, height});
  }

  void transform(std::size_t axis, bool back, const Real* from, Real* to) {
    const Level<Real>& g = levels_.back();
    const std::int64_t n = axis == 0 ? g.nx : axis == 1 ? g.ny : g.nz;
    const Real* const forth = modes_[axis].data();
    TransformAxis<Real> body{g,
                             static_cast<int>(axis),
                             back ? forth + n * n : forth,
                             back ? forth : forth + n * n,
                             nullptr,
                             nullptr,
                             nullptr,
                             from,
                             to};
    if (axis == 2 && !back) {
      body.eigen_x = eigenvalues_[0].data();
      body.eigen_y = eigenvalues_[1].data();
      body.eigen_z = eigenvalues_[2].data();
    }
    launch_places("transform", g.nx, g.ny, g.nz, device_.stream(), body);
  }

  void mean_of(const Real* values) {
    const std::int64_t cells = levels_.front().cells();
    const cudaStream_t stream = cuda::handle(device_.stream());
    add_parts<<<sum_blocks, 256, 0, stream>>>(cells / 2, reinterpret_cast<const Pair<Real>*>(values), parts_.data());
    find_mean<<<1, 256, 0, stream>>>(parts_.data(), static_cast<double>(cells), sums_.data());
    cuda::check(cudaGetLastError(), "mean");
  }

  void scale(double factor, const Real* from, Real* to) {
    const Level<Real>& g = levels_.front();
    cuda::launch("scale", g.cells() / 2, device_.stream(),
                 Scale<Real>{factor, g.periodic ? sums_.data() : nullptr, reinterpret_cast<const Pair<Real>*>(from),
                             reinterpret_cast<Pair<Real>*>(to)});
  }

  Device device_;
  std::vector<Level<Real>> levels_;
  SweepKernels<Real> kernels_;
  Buffer<Real> memory_;
  std::vector<Arrays> arrays_;
  std::array<Buffer<Real>, 3> modes_, eigenvalues_;
  Buffer<double> parts_;  // of a sum over the cells
  Buffer<physics::Multipole> far_;
  Buffer<double> sums_;     // the mean, three norms
  Buffer<double> squares_;  // per block of the last pass
  int measured_ = 0;        // those blocks
  Real* field_ = nullptr;
};

}  // namespace pergola::multigrid
