// The CUDA side of the suite `mesh` (app/bench_mesh.cpp): a pair of transforms by cuFFT, in place, in single precision.
// The result is checked once before timing. `seconds` is per pair, over 20 pairs that follow each other without
// waiting.
#include "app/bench.hpp"
#include "device/buffer.hpp"
#include "mesh/fft/cufft_plan.cuh"

namespace pergola::app {

double fft_pair_seconds_cuda(const Device& device, int n, double budget) {
  device.make_current();
  Buffer<float> values(device, fft_pair_values(n));
  auto* modes = reinterpret_cast<cufftComplex*>(values.data());
  const long long lengths[3] = {n, n, n};
  const long long row = fft_pair_row(n);
  const cuda::CufftLayout reals{{n, n, row}, 1, row * n * n}, halves{{n, n, row / 2}, 1, row / 2 * n * n};
  const cuda::CufftPlan forward(device.stream(), 3, lengths, reals, halves, CUFFT_R2C, 1);
  const cuda::CufftPlan back(device.stream(), 3, lengths, halves, reals, CUFFT_C2R, 1);
  Buffer<std::byte> work(device, static_cast<std::int64_t>(std::max(forward.work_bytes(), back.work_bytes())));
  const auto first = forward.with_work(work.data()), second = back.with_work(work.data());
  const auto pair = [&] {
    cuda::check(cufftExecR2C(first, values.data(), modes), "cufftExecR2C");
    cuda::check(cufftExecC2R(second, modes, values.data()), "cufftExecC2R");
  };
  pair();
  check_fft_pair(n, values.to_host());
  values.zero();  // a pair multiplies by n³, and these stay finite
  constexpr int pairs = 20;
  const double seconds = fastest(budget, 3, [&] {
    for (int k = 0; k < pairs; ++k) pair();
    device.synchronize();
  });
  return seconds / pairs;
}

}  // namespace pergola::app
