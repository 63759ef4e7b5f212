// The loops of block steps on a GPU, one thread per particle. Nothing waits for the device except census(), which the
// integrator calls once per step. Populations change by atomic additions of whole numbers, and the lowest fault wins by
// atomicMin: both have the same result in any order. The formulas are those of the CPU (time/block_loops.hpp).
#include <thrust/iterator/counting_iterator.h>

#include <cub/device/device_select.cuh>

#include "device/buffer.hpp"
#include "device/launch.cuh"
#include "time/block_loops.hpp"

namespace pergola {

namespace {

constexpr int close_threads = 256;

/// Softening lengths by species, for a kernel.
struct Lengths {
  double epsilon[species_count];
  explicit Lengths(const StepWish& wish) {
    for (std::size_t k = 0; k < wish.softening.epsilon.size(); ++k) epsilon[k] = wish.softening.epsilon[k];
  }
};

/// The lowest place wins: a fault carries its place in the higher bits (fault_at).
__device__ void note(BlockCensus* census, std::int64_t place, StepFault fault) {
  atomicMin(reinterpret_cast<long long*>(&census->fault), static_cast<long long>(fault_at(place, fault)));
}

/// Opening kick of the particles whose step begins, and the drift of all.
template <class Real>
struct OpenAndDrift {
  BlockArrays<Real> s;
  BlockStep step;
  int starting;
  Real dt;
  BlockCensus* census;
  __device__ void operator()(std::int64_t i) const {
    if (s.level[i] >= starting) kick_of_level(s, step.open, i);
    const auto& p = s.particle;
    Vec3<Real> x{p.x[i], p.y[i], p.z[i]};
    physics::drift(dt, x, {p.vx[i], p.vy[i], p.vz[i]});
    if (!is_finite(x)) note(census, i, StepFault::state_not_finite);
    p.x[i] = x.x, p.y[i] = x.y, p.z[i] = x.z;
    if (step.box.periodic()) wrap_position(s, step.box, i);
  }
};

template <class Real>
struct KickByLongRange {
  BlockArrays<Real> s;
  Real kick;
  __device__ void operator()(std::int64_t i) const { kick_by_long_range(s, kick, i); }
};

/// Ends or closes the steps of all particles early, for the last step of a run.
template <class Real>
struct EndEarly {
  BlockArrays<Real> s;
  EarlyEnd end;
  Box box;
  bool close;
  BlockCensus* census;
  __device__ void operator()(std::int64_t i) const {
    const StepFault fault = close ? close_early(s, end, i) : end_early(s, end, box, i);
    if (fault != StepFault::none) note(census, i, fault);
  }
};

struct IsActive {
  const std::int8_t* level;
  int lowest;
  __device__ bool operator()(std::int64_t i) const { return level[i] >= lowest; }
};

/// First levels, or closing kicks and next levels; blocks add up how the levels change.
template <class Real, bool first>
__global__ void __launch_bounds__(close_threads)
    close_steps(const __grid_constant__ BlockArrays<Real> s, const __grid_constant__ BlockStep step,
                const __grid_constant__ Lengths lengths, std::int64_t count, bool all, BlockCensus* census) {
  __shared__ int moved[physics::deepest_level + 1];
  for (int k = static_cast<int>(threadIdx.x); k <= physics::deepest_level; k += close_threads) moved[k] = 0;
  __syncthreads();
  for (std::int64_t t = std::int64_t{blockIdx.x} * close_threads + threadIdx.x; t < count;
       t += std::int64_t{gridDim.x} * close_threads) {
    const std::int64_t i = all ? t : s.active[t];
    const double epsilon = lengths.epsilon[s.particle.species[i]];
    int level = s.level[i];
    const StepFault fault =
        first ? first_block_level(s, step, epsilon, i, level) : close_block_step(s, step, epsilon, t, i, level);
    if (fault != StepFault::none) {
      note(census, i, fault);
      continue;
    }
    if (!first && level == s.level[i]) continue;
    if (!first) atomicSub(&moved[s.level[i]], 1);
    atomicAdd(&moved[level], 1);
    s.level[i] = static_cast<std::int8_t>(level);
  }
  __syncthreads();
  for (int k = static_cast<int>(threadIdx.x); k <= physics::deepest_level; k += close_threads)
    if (moved[k] != 0)
      atomicAdd(reinterpret_cast<unsigned long long*>(&census->population[k]),
                static_cast<unsigned long long>(static_cast<long long>(moved[k])));
}

/// The census lives on the device; the host only sees it by census().
template <class Real>
class BlockLoopsCuda final : public BlockLoops<Real> {
 public:
  explicit BlockLoopsCuda(const Device& device) : device_(device), census_(device, 1), selected_(device, 1) {}

  void set_census(const BlockCensus& census) override { census_.from_host(&census); }
  BlockCensus census() override {
    BlockCensus census;
    census_.to_host(&census);
    return census;
  }
  void choose_first_levels(const BlockArrays<Real>& s, const BlockStep& step) override {
    close<true>(s, step, s.particle.count, true);
  }
  void begin_step(const BlockArrays<Real>& s, const BlockStep& step) override {
    device_.make_current();
    cuda::launch(
        "block drift", s.particle.count, device_.stream(),
        OpenAndDrift<Real>{s, step, physics::lowest_level_at(step.now), static_cast<Real>(step.drift), census_.data()});
  }
  void kick_by_long_range(const BlockArrays<Real>& s, double kick) override {
    device_.make_current();
    cuda::launch("long range", s.particle.count, device_.stream(), KickByLongRange<Real>{s, static_cast<Real>(kick)});
  }
  /// cub keeps the order: the list is in rising order, as on the CPU. The first call asks how much scratch it needs.
  void list_active(const BlockArrays<Real>& s, int lowest) override {
    device_.make_current();
    const thrust::counting_iterator<std::int64_t> places(0);
    const auto stream = cuda::handle(device_.stream());
    const IsActive is_active{s.level, lowest};
    std::size_t bytes = 0;
    cuda::check(
        cub::DeviceSelect::If(nullptr, bytes, places, s.active, selected_.data(), s.particle.count, is_active, stream),
        "list active");
    if (scratch_.size() < static_cast<std::int64_t>(bytes))
      scratch_ = Buffer<std::byte>(device_, static_cast<std::int64_t>(bytes));
    cuda::check(cub::DeviceSelect::If(scratch_.data(), bytes, places, s.active, selected_.data(), s.particle.count,
                                      is_active, stream),
                "list active");
  }
  void end_step(const BlockArrays<Real>& s, const BlockStep& step, std::int64_t count, bool all) override {
    close<false>(s, step, count, all);
  }
  void end_all_early(const BlockArrays<Real>& s, const EarlyEnd& end, const Box& box) override {
    device_.make_current();
    cuda::launch("end early", s.particle.count, device_.stream(), EndEarly<Real>{s, end, box, false, census_.data()});
  }
  void close_all_early(const BlockArrays<Real>& s, const EarlyEnd& end) override {
    device_.make_current();
    cuda::launch("close early", s.particle.count, device_.stream(), EndEarly<Real>{s, end, {}, true, census_.data()});
  }

  /// At most 2048 blocks: each adds its changes of the populations once.
 private:
  template <bool first>
  void close(const BlockArrays<Real>& s, const BlockStep& step, std::int64_t count, bool all) {
    if (count == 0) return;
    device_.make_current();
    const std::int64_t blocks = (count + close_threads - 1) / close_threads;
    close_steps<Real, first>
        <<<static_cast<unsigned>(blocks < 2048 ? blocks : 2048), close_threads, 0, cuda::handle(device_.stream())>>>(
            s, step, Lengths(step.wish), count, all, census_.data());
    cuda::check(cudaGetLastError(), "close block steps");
  }

  Device device_;
  Buffer<BlockCensus> census_;
  Buffer<std::int64_t> selected_;
  Buffer<std::byte> scratch_;
};

}  // namespace

template <class Real>
std::unique_ptr<BlockLoops<Real>> make_block_loops_cuda(const Device& device) {
  return std::make_unique<BlockLoopsCuda<Real>>(device);
}
template std::unique_ptr<BlockLoops<float>> make_block_loops_cuda(const Device& device);
template std::unique_ptr<BlockLoops<double>> make_block_loops_cuda(const Device& device);

}  // namespace pergola
