#include <algorithm>
#include <cstdint>
#include <cstring>
#include <limits>
#include <vector>

#include "base/stopwatch.hpp"
#include "device/buffer.hpp"
#include "device/device.hpp"
#include "device/parallel.hpp"
#include "device/simd_targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "device/ceiling.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h:
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace pergola::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

/// Twelve chains of multiply-adds: more than latency × throughput of any CPU so far. Returns the sum of all, so that
/// the compiler leaves none out.
template <class T>
double fma_chains(std::int64_t rounds) {
  const hn::ScalableTag<T> tag;
  const auto a = hn::Set(tag, T(0.999)), b = hn::Set(tag, T(0.001));
  auto c0 = hn::Set(tag, T(0)), c1 = hn::Set(tag, T(1)), c2 = hn::Set(tag, T(2)), c3 = hn::Set(tag, T(3)),
       c4 = hn::Set(tag, T(4)), c5 = hn::Set(tag, T(5)), c6 = hn::Set(tag, T(6)), c7 = hn::Set(tag, T(7)),
       c8 = hn::Set(tag, T(8)), c9 = hn::Set(tag, T(9)), c10 = hn::Set(tag, T(10)), c11 = hn::Set(tag, T(11));
  for (std::int64_t r = 0; r < rounds; ++r) {
    c0 = hn::MulAdd(a, c0, b), c1 = hn::MulAdd(a, c1, b), c2 = hn::MulAdd(a, c2, b), c3 = hn::MulAdd(a, c3, b);
    c4 = hn::MulAdd(a, c4, b), c5 = hn::MulAdd(a, c5, b), c6 = hn::MulAdd(a, c6, b), c7 = hn::MulAdd(a, c7, b);
    c8 = hn::MulAdd(a, c8, b), c9 = hn::MulAdd(a, c9, b), c10 = hn::MulAdd(a, c10, b), c11 = hn::MulAdd(a, c11, b);
  }
  const auto sum =
      hn::Add(hn::Add(hn::Add(c0, c1), hn::Add(c2, c3)),
              hn::Add(hn::Add(hn::Add(c4, c5), hn::Add(c6, c7)), hn::Add(hn::Add(c8, c9), hn::Add(c10, c11))));
  return static_cast<double>(hn::GetLane(hn::SumOfLanes(tag, sum)));
}

double fma_chains_of_floats(std::int64_t rounds) { return fma_chains<float>(rounds); }
double fma_chains_of_doubles(std::int64_t rounds) { return fma_chains<double>(rounds); }
std::int64_t lanes(bool doubles) {
  return static_cast<std::int64_t>(doubles ? hn::Lanes(hn::ScalableTag<double>())
                                           : hn::Lanes(hn::ScalableTag<float>()));
}
std::int64_t this_target() { return HWY_TARGET; }

}  // namespace pergola::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace pergola {

HWY_EXPORT(fma_chains_of_floats);
HWY_EXPORT(fma_chains_of_doubles);
HWY_EXPORT(lanes);
HWY_EXPORT(this_target);

std::string cpu_instruction_set() { return hwy::TargetName(HWY_DYNAMIC_DISPATCH(this_target)()); }

namespace {

double fma_rate_cpu(const Device& device, bool doubles) {
  constexpr std::int64_t rounds = 1 << 20, chains = 12;
  constexpr int repeats = 12;
  const int threads = device.threads();
  std::vector<double> sums(static_cast<std::size_t>(threads));
  double best = std::numeric_limits<double>::infinity();
  for (int repeat = 0; repeat < repeats; ++repeat) {
    const auto begin = Clock::now();
    parallel_for(threads, threads, [&](std::int64_t t) {
      sums[static_cast<std::size_t>(t)] = doubles ? HWY_DYNAMIC_DISPATCH(fma_chains_of_doubles)(rounds)
                                                  : HWY_DYNAMIC_DISPATCH(fma_chains_of_floats)(rounds);
    });
    const double seconds = seconds_since(begin);
    best = std::min(best, seconds);
  }
  const std::int64_t operations = rounds * chains * threads * HWY_DYNAMIC_DISPATCH(lanes)(doubles);
  return static_cast<double>(operations) / best;
}

double copy_rate_cpu(const Device& device) {
  constexpr std::int64_t bytes = std::int64_t{128} << 20, chunk = std::int64_t{1} << 20;
  constexpr int repeats = 6;
  Buffer<std::byte> from(device, bytes), to(device, bytes);
  from.zero();
  to.zero();
  double best = std::numeric_limits<double>::infinity();
  for (int repeat = 0; repeat < repeats; ++repeat) {
    const auto begin = Clock::now();
    parallel_chunks(device.threads(), bytes, chunk, [&](std::int64_t first, std::int64_t last) {
      std::memcpy(to.data() + first, from.data() + first, static_cast<std::size_t>(last - first));
    });
    const double seconds = seconds_since(begin);
    best = std::min(best, seconds);
  }
  return 2.0 * static_cast<double>(bytes) / best;
}

}  // namespace

double copy_rate(const Device& device) {
  if (device.is_cuda()) {
    if constexpr (cuda_built) return copy_rate_cuda(device);
  }
  return copy_rate_cpu(device);
}

double fma_rate(const Device& device, bool double_precision) {
  if (device.is_cuda()) {
    if constexpr (cuda_built) return fma_rate_cuda(device, double_precision);
  }
  return fma_rate_cpu(device, double_precision);
}

}  // namespace pergola
#endif
