#pragma once
// CUDA only: multigrid on a GPU. A pass over a level does several half-sweeps at once in shared memory
// (multigrid_sweep.cuh), so that the arrays are read and written once per pass; it may also add the correction of the
// coarser level before, and average or measure the residual after. A pass writes to `other`, which is then exchanged
// with `potential`.
// Arrays lie in device memory, x fastest; nothing but norms() waits for the device on one rank.
#include <algorithm>
#include <array>
#include <optional>

#include "device/buffer.hpp"
#include "mesh/multigrid/multigrid_kernels.cuh"
#include "mesh/multigrid/multigrid_loops.hpp"
#include "mesh/multigrid/multigrid_sweep.cuh"
#include "mesh/slab_planes.hpp"

namespace pergola::multigrid {

/// Planes around its own that a rank reads in a pass, at most: one for each half-sweep and one for the residual.
template <class Real>
constexpr int most_halo = (sizeof(Real) == 4 ? 4 : 2) + 1;

/// The loops on a GPU. Where ranks share levels out (LevelSlabs), planes are counted as on the whole grid, a rank
/// works on its own, and its arrays have room for those around. They are fetched before a pass, as many as it has
/// half-sweeps, so that no other messages are needed within it: cells near the rank's planes are relaxed by both.
template <class Real>
class LoopsCuda final : public Loops<Real> {
 public:
  LoopsCuda(const Device& device, const std::vector<Level<Real>>& levels, const std::shared_ptr<Communicator>& ranks)
      : device_(device), levels_(levels), slabs_(levels, ranks, most_halo<Real>) {
    device_.make_current();
    if (ranks) planes_.emplace(device, ranks);
    kernels_[0] = kernels<false>();
    if (ranks) kernels_[1] = kernels<true>();
    take_memory();
    const AxisModes<Real> modes = axis_modes(levels.back());
    for (std::size_t axis = 0; axis < 3; ++axis) {
      modes_[axis] = Buffer<Real>(device, modes.mode[axis]);
      eigenvalues_[axis] = Buffer<Real>(device, modes.eigenvalue[axis]);
    }
    parts_ = Buffer<double>(device, std::int64_t{levels.front().nz} * plane_parts * moment_sums);
    far_ = Buffer<physics::Multipole>(device, 1);
    mean_ = Buffer<double>(device, 1);
    int sums = 0;
    for (auto& kernels : kernels_)
      kernels.each([&](SweepKernel<Real>& kernel) {
        for (int level = 0; level <= coarsest(); ++level)
          kernel.chunks.push_back(kernel.chunk(at(level), slabs_.count(level)));
        sums = std::max(sums, kernel.sums_of_two(levels.front()));
      });
    squares_ = Buffer<double>(device, std::int64_t{3} * sums * (slabs_.count(0) / 2));
    squares_of_two_ = Buffer<double>(device, std::int64_t{3} * (levels.front().nz / 2));
  }

  int planes_around() const override { return slabs_.copies(0); }
  std::int64_t scratch_bytes() const override { return 2 * room(0) * static_cast<std::int64_t>(sizeof(Real)); }
  std::int64_t own_bytes() const override {
    std::size_t bytes =
        memory_.bytes() + parts_.bytes() + far_.bytes() + mean_.bytes() + squares_.bytes() + squares_of_two_.bytes();
    for (std::size_t axis = 0; axis < 3; ++axis) bytes += modes_[axis].bytes() + eigenvalues_[axis].bytes();
    return static_cast<std::int64_t>(bytes) + message_bytes();
  }

  void begin(const Field<Real>& field, double factor, void* scratch) override {
    device_.make_current();
    const Level<Real>& g = levels_.front();
    field_ = field.data;
    Real* const memory = static_cast<Real*>(scratch) + slabs_.copies(0) * plane(0);
    arrays_.front() = {field.data, memory, memory + room(0)};
    if (g.periodic) {
      mean_of(field.data);
    } else {
      const cudaStream_t stream = cuda::handle(device_.stream());
      if (slabs_.count(0) > 0)
        plane_moments<<<dim3(static_cast<unsigned>(slabs_.count(0)), plane_parts), 256, 0, stream>>>(
            g, field.data, parts_of_planes(plane_parts * moment_sums));
      gather_parts(plane_parts * moment_sums);
      expand_moments<<<1, dim3(16, physics::moment_count), 0, stream>>>(g, parts_.data(), factor, far_.data());
      cuda::check(cudaGetLastError(), "multipole expansion");
    }
    scale(factor, field.data, arrays_.front().source);
  }

  void average_source(int level) override {
    const Level<Real>&g = at(level), &c = at(level + 1);
    if (slabs_.count(level) > 0)
      launch_places("average", c.nx, c.ny, slabs_.count(level) / g.fz, device_.stream(),
                    Average<Real>{g, c, arrays(level).source, averaged(level)});
    source_is_made(level + 1);
  }

  void add_walls(int level) override {
    if (at(level).periodic) return;
    const AddWalls<Real> body{at(level), far_.data(), arrays(level).source, slabs_.first(level), slabs_.count(level)};
    cuda::launch("add walls", body.count(), device_.stream(), body);
    arrays(level).has_source_around = false;
  }

  void descend(int level, Start start, int sweeps) override {
    // Without faces a whole potential is interpolated like a correction to nothing.
    const bool in_pass = start == Start::interpolated && at(level).periodic && corrects_in_pass(level, sweeps);
    if (start == Start::interpolated && !in_pass) interpolate<true>(level);
    smooth(level, start == Start::zero || in_pass, in_pass, sweeps, After::average);
    source_is_made(level + 1);
  }

  void ascend(int level, int sweeps, bool measured) override {
    const bool in_pass = corrects_in_pass(level, sweeps);
    if (!in_pass) interpolate<false>(level);
    smooth(level, false, in_pass, sweeps, measured ? After::measure : After::nothing);
  }

  /// Up to 16 cells per axis one block does all in shared memory; larger levels take six passes of TransformAxis.
  void solve_coarsest() override {
    const int level = coarsest();
    const bool shared = slabs_.shared(level);
    const std::int64_t own = slabs_.first(level) * plane(level);
    const std::size_t bytes = static_cast<std::size_t>(slabs_.count(level) * plane(level)) * sizeof(Real);
    if (shared) {
      device_.memory().copy(whole_.source + own, arrays(level).source, bytes);
      gather(level, whole_.source, plane(level), 1);
    }
    const Arrays& a = shared ? whole_ : arrays(level);
    if (SolveDirectly<Real, true>::fills(levels_.back())) {
      solve_in_one_block<true>(a);
    } else if (SolveDirectly<Real, false>::fits(levels_.back())) {
      solve_in_one_block<false>(a);
    } else {
      transform(0, false, a.source, a.other);
      transform(1, false, a.other, a.potential);
      transform(2, false, a.potential, a.other);
      transform(2, true, a.other, a.potential);
      transform(1, true, a.potential, a.other);
      transform(0, true, a.other, a.potential);
    }
    if (shared) device_.memory().copy(arrays(level).potential, whole_.potential + own, bytes);
    arrays(level).has_potential_around = false;
  }

  Norms norms() override {
    if (levels_.size() == 1) smooth(0, false, false, 0, After::measure);
    if (slabs_.count(0) > 0)
      add_squares<<<static_cast<unsigned>(slabs_.count(0) / 2), 256, 0, cuda::handle(device_.stream())>>>(
          squares_.data(), measured_, squares_of_two_.data() + 3 * (slabs_.first(0) / 2));
    cuda::check(cudaGetLastError(), "norms");
    std::vector<double> sums = squares_of_two_.to_host();
    slabs_.gather(0, sums.data(), 3, 2);
    Norms result;
    for (std::size_t k = 0; k < sums.size(); k += 3)
      result.residual += sums[k], result.source += sums[k + 1], result.potential += sums[k + 2];
    return result;
  }

  void finish() override {
    Real* const potential = arrays_.front().potential;
    if (levels_.front().periodic) mean_of(potential);
    if (levels_.front().periodic || potential != field_) scale(1, potential, field_);
  }

 private:
  /// Addresses of the first own plane; ghost planes lie before and after.
  struct Arrays {
    Real *potential = nullptr, *other = nullptr, *source = nullptr;
    bool has_potential_around = false, has_source_around = false;  // planes of other ranks, of a level that is shared
  };
  int coarsest() const { return static_cast<int>(levels_.size()) - 1; }
  const Level<Real>& at(int level) const { return levels_[static_cast<std::size_t>(level)]; }
  Arrays& arrays(int level) { return arrays_[static_cast<std::size_t>(level)]; }
  std::int64_t plane(int level) const { return std::int64_t{at(level).nx} * at(level).ny; }
  /// Values of an array of a level, with room for planes around.
  std::int64_t room(int level) const { return (slabs_.count(level) + 2 * slabs_.copies(level)) * plane(level); }

  /// One buffer for all coarser levels. The finest level uses the caller's field and scratch.
  void take_memory() {
    const std::int64_t whole = slabs_.shared(coarsest()) ? levels_.back().cells() : 0;
    std::int64_t coarse = 0;
    for (int level = 1; level <= coarsest(); ++level) coarse += room(level);
    memory_ = Buffer<Real>(device_, 3 * (coarse + whole));
    arrays_.resize(levels_.size());
    Real* next = memory_.data();
    const auto take = [&](std::int64_t size, std::int64_t before) {
      const Arrays taken{next + before, next + size + before, next + 2 * size + before};
      next += 3 * size;
      return taken;
    };
    for (int level = 1; level <= coarsest(); ++level)
      arrays(level) = take(room(level), slabs_.copies(level) * plane(level));
    if (whole > 0) whole_ = take(whole, 0);
  }

  /// The rooms of the largest messages: planes around both arrays of the finest level and the potential of the next,
  /// or all of a source.
  std::int64_t message_bytes() const {
    if (!planes_) return 0;
    int whole = 0;  // the first level that is
    while (whole < coarsest() && slabs_.shared(whole)) ++whole;
    std::int64_t around = 4 * slabs_.copies(0) * plane(0);
    if (coarsest() > 0) around += 2 * slabs_.copies(1) * plane(1);
    const std::int64_t values = std::max(around, at(whole).cells());
    return 2 * values * static_cast<std::int64_t>(sizeof(Real));
  }

  /// Planes of other ranks that are not here yet, for a pass over a level, in one exchange.
  void fetch_around(int level, bool potential, bool source, bool coarse) {
    std::vector<DevicePlanes::Wanted> wanted;
    const auto want = [&](int of, Real* values, bool& is_here) {
      if (slabs_.shared(of) && !is_here)
        wanted.push_back({&slabs_.around(of), reinterpret_cast<std::byte*>(values),
                          static_cast<std::size_t>(plane(of)) * sizeof(Real)});
      is_here = true;
    };
    if (potential) want(level, arrays(level).potential, arrays(level).has_potential_around);
    if (source) want(level, arrays(level).source, arrays(level).has_source_around);
    if (coarse) want(level + 1, arrays(level + 1).potential, arrays(level + 1).has_potential_around);
    if (!wanted.empty()) planes_->fetch(wanted);
  }
  /// What ranks have of every `per` planes of a shared level, on all.
  void gather(int level, Real* all, std::int64_t values, int per) {
    planes_->gather(reinterpret_cast<std::byte*>(all), slabs_.template pieces<Real>(level, values, per));
  }
  /// Where the planes of the next level begin that a rank makes of those of this one.
  Real* averaged(int level) {
    const int first = slabs_.first(level) / at(level).fz - slabs_.first(level + 1);
    return arrays(level + 1).source + first * plane(level + 1);
  }
  /// Each rank has made its planes.
  void source_is_made(int level) {
    arrays(level).has_source_around = false;
    if (slabs_.shared(level - 1) && !slabs_.shared(level))
      gather(level - 1, arrays(level).source, plane(level), at(level - 1).fz);
  }

  /// Sums by plane of the finest level, `values` for each: where those of this rank begin; and gathers all on all
  /// ranks.
  double* parts_of_planes(int values) { return parts_.data() + std::int64_t{slabs_.first(0)} * values; }
  void gather_parts(int values) {
    if (!slabs_.shared(0)) return;
    std::vector<double> all(static_cast<std::size_t>(levels_.front().nz * values));
    device_.memory().to_host(all.data(), parts_.data(), all.size() * sizeof(double));
    slabs_.gather(0, all.data(), values);
    device_.memory().from_host(parts_.data(), all.data(), all.size() * sizeof(double));
  }

  /// Shared memory above 48 KiB must be asked for.
  template <bool full>
  void solve_in_one_block(const Arrays& a) {
    using Body = SolveDirectly<Real, full>;
    const Body body{levels_.back(),
                    {modes_[0].data(), modes_[1].data(), modes_[2].data()},
                    {eigenvalues_[0].data(), eigenvalues_[1].data(), eigenvalues_[2].data()},
                    a.source,
                    a.potential};
    constexpr int bytes = sizeof(typename Body::Shared);
    if (bytes > 48 * 1024)
      cuda::check(cudaFuncSetAttribute(solve_directly<Body>, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes),
                  "solve directly");
    solve_directly<<<1, Body::threads, bytes, cuda::handle(device_.stream())>>>(body);
    cuda::check(cudaGetLastError(), "solve directly");
  }

  /// Only where all axes are halved does the sweep kernel interpolate the correction itself.
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
    result.first = slabs_.first(level), result.planes = slabs_.count(level);
    if (level < coarsest()) {
      result.coarse = at(level + 1);
      result.correction = arrays(level + 1).potential;
      result.coarse_source = arrays(level + 1).source;
      result.coarse_first = slabs_.first(level + 1), result.coarse_slab = slabs_.shared(level + 1);
    }
    return result;
  }

  /// Variants of the sweep for this boundary; slab: planes are those of a rank, with ghost planes.
  template <bool slab>
  SweepKernels<Real> kernels() const {
    constexpr int warps = sizeof(Real) == 4 ? 16 : 8;
    return levels_.front().periodic ? SweepKernels<Real>::template make<true, slab, 4, warps>()
                                    : SweepKernels<Real>::template make<false, slab, 4, warps>();
  }

  /// `correct`: the first pass adds the interpolated potential of the next level.
  void smooth(int level, bool from_zero, bool correct, int sweeps, After after) {
    const SweepKernels<Real>& kernels = kernels_[slabs_.shared(level)];
    if (sweeps == 0 && from_zero) {
      device_.memory().zero(arrays(level).potential,
                            static_cast<std::size_t>(slabs_.count(level) * plane(level)) * sizeof(Real));
      arrays(level).has_potential_around = false;
    }
    if (sweeps == 0 && after != After::nothing) pass(level, kernels.most(false, after, 0), from_zero, false);
    for (int left = 2 * sweeps; left > 0; from_zero = correct = false) {
      const bool last = kernels.most(correct, after, left).half_sweeps == left;
      const SweepKernel<Real>& kernel = kernels.most(correct, last ? after : After::nothing, left);
      pass(level, kernel, from_zero, correct);
      std::swap(arrays(level).potential, arrays(level).other);
      arrays(level).has_potential_around = false;
      left -= kernel.half_sweeps;
    }
  }
  /// One launch, after the ghost planes that it reads have been fetched.
  void pass(int level, const SweepKernel<Real>& kernel, bool from_zero, bool correct) {
    fetch_around(level, !from_zero, true, correct);
    kernel.launch(device_.stream(), sweep_arguments(level, from_zero), kernel.chunks[static_cast<std::size_t>(level)]);
    measured_ = kernel.sums_of_two(at(level));
  }

  /// whole: the potential is interpolated in place of what is there; else a correction is added.
  template <bool whole>
  void interpolate(int level) {
    const Level<Real>&g = at(level), &c = at(level + 1);
    fetch_around(level, false, false, true);
    const int height = c.cells() < 100000 ? 1 : 8, count = slabs_.count(level) / g.fz;
    const CoarseValues<Real> coarse{arrays(level + 1).potential, c, far_.data(), slabs_.first(level + 1),
                                    slabs_.shared(level + 1)};
    if (count > 0)
      launch_places(
          "interpolate", c.nx, c.ny, (count + height - 1) / height, device_.stream(),
          Interpolate<Real, whole>{g, coarse, arrays(level).potential, height, slabs_.first(level) / g.fz, count});
    arrays(level).has_potential_around = false;
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

  /// The mean of all cells, left on the device.
  void mean_of(const Real* values) {
    const Level<Real>& g = levels_.front();
    const cudaStream_t stream = cuda::handle(device_.stream());
    if (slabs_.count(0) > 0)
      add_planes<<<dim3(static_cast<unsigned>(slabs_.count(0)), plane_parts), 256, 0, stream>>>(
          plane(0) / 2, reinterpret_cast<const Pair<Real>*>(values), parts_of_planes(plane_parts));
    gather_parts(plane_parts);
    find_mean<<<1, 256, 0, stream>>>(parts_.data(), g.nz * plane_parts, static_cast<double>(g.cells()), mean_.data());
    cuda::check(cudaGetLastError(), "mean");
  }

  void scale(double factor, const Real* from, Real* to) {
    cuda::launch("scale", slabs_.count(0) * plane(0) / 2, device_.stream(),
                 Scale<Real>{factor, levels_.front().periodic ? mean_.data() : nullptr,
                             reinterpret_cast<const Pair<Real>*>(from), reinterpret_cast<Pair<Real>*>(to)});
  }

  Device device_;
  std::vector<Level<Real>> levels_;
  LevelSlabs<Real> slabs_;
  std::optional<DevicePlanes> planes_;         // with ranks
  std::array<SweepKernels<Real>, 2> kernels_;  // for whole levels, and for those that ranks share out
  Buffer<Real> memory_;
  std::vector<Arrays> arrays_;
  Arrays whole_;  // of the coarsest level, where that is shared
  std::array<Buffer<Real>, 3> modes_, eigenvalues_;
  Buffer<double> parts_;  // of sums over the planes
  Buffer<physics::Multipole> far_;
  Buffer<double> mean_;
  Buffer<double> squares_, squares_of_two_;  // of the last pass, and added up by two planes
  int measured_ = 0;                         // how many of the former to one of the latter
  Real* field_ = nullptr;
};

}  // namespace pergola::multigrid
