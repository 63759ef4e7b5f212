#pragma once
// CUDA only: which of the compiled sweeps (mesh/multigrid/multigrid_sweep.cuh) do a pass, and how they are launched.
#include <array>
#include <cstdint>
#include <vector>

#include "device/launch.cuh"
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

  /// For so many planes of a level.
  dim3 grid(const Level<Real>& g, int count, int planes) const {
    const auto parts = [](int cells, int size) { return static_cast<unsigned>((cells + size - 1) / size); };
    return {parts(g.nx, out_x), parts(g.ny, out_y), parts(count, planes)};
  }
  static int blocks(dim3 grid) { return static_cast<int>(grid.x * grid.y * grid.z); }
  /// Sums of squares that are made of every two planes.
  int sums_of_two(const Level<Real>& g) const { return blocks(grid(g, 2, 2)) * warps; }
  /// Planes per block: few enough to have all of the device at work, many enough to keep the overlap small.
  int chunk(const Level<Real>& g, int count) const {
    int best = count;
    std::int64_t least = -1;
    for (int parts = 1; parts <= count / 2; ++parts) {
      const int planes = (count / 2 + parts - 1) / parts * 2;
      const std::int64_t rounds = (blocks(grid(g, count, planes)) + blocks_at_once - 1) / blocks_at_once;
      const std::int64_t steps = rounds * (planes + 2 * halo);
      if (least < 0 || steps < least) best = planes, least = steps;
    }
    return best;
  }

  void launch(Stream stream, SweepArguments<Real> arguments, int planes) const {
    if (arguments.planes == 0) return;
    arguments.chunk = planes;
    const dim3 size = grid(arguments.level, arguments.planes, planes);
    kernel<<<size, dim3(32, static_cast<unsigned>(warps)), shared_bytes, cuda::handle(stream)>>>(arguments);
    cuda::check(cudaGetLastError(), "multigrid sweep");
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

  template <class Body>
  void each(const Body& body) {
    for (auto& of : choices)
      for (auto& choice : of)
        for (SweepKernel<Real>& kernel : choice) body(kernel);
  }

  template <bool periodic, bool slab, int rows, int warps>
  static SweepKernels make() {
    SweepKernels result;
    const auto add = [&]<int half_sweeps, After after, bool correct>() {
      result.choices[correct][static_cast<std::size_t>(after)].push_back(
          SweepKernel<Real>::template of<Sweep<Real, half_sweeps, after, correct, periodic, slab, rows, warps>>());
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

}  // namespace pergola::multigrid
