#include "app/fft_pair.hpp"

#include <fftw3.h>
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <mutex>
#include <type_traits>

#include "app/bench.hpp"
#include "base/error.hpp"

namespace pergola::app {

namespace {

struct DestroyPlan {
  void operator()(fftwf_plan plan) const { fftwf_destroy_plan(plan); }
};
using Plan = std::unique_ptr<std::remove_pointer_t<fftwf_plan>, DestroyPlan>;
struct FreeMemory {
  void operator()(float* memory) const { fftwf_free(memory); }
};

double fft_pair_seconds_cpu(const Device& device, int n, double budget) {
  static std::once_flag once;
  std::call_once(once, [] { fftwf_init_threads(); });
  fftwf_plan_with_nthreads(device.threads());
  const auto given = fft_pair_values(n);
  const std::unique_ptr<float, FreeMemory> memory(fftwf_alloc_real(given.size()));
  if (!memory) throw Error(ErrorKind::device, fmt::format("bench: no memory for a transform of {}^3 values", n));
  float* values = memory.get();
  auto* modes = reinterpret_cast<fftwf_complex*>(values);
  const Plan forward(fftwf_plan_dft_r2c_3d(n, n, n, values, modes, FFTW_MEASURE));
  const Plan back(fftwf_plan_dft_c2r_3d(n, n, n, modes, values, FFTW_MEASURE));
  // Nothing of this may reach the plans of the mesh solver, which are made for one thread without measuring.
  fftwf_plan_with_nthreads(1);
  fftwf_forget_wisdom();
  const auto pair = [&] {
    fftwf_execute(forward.get());
    fftwf_execute(back.get());
  };
  std::copy(given.begin(), given.end(), values);
  pair();
  check_fft_pair(n, std::vector<float>(values, values + given.size()));
  std::fill(values, values + given.size(), 0.0f);  // a pair multiplies by n³, and these stay finite
  return fastest(budget, 3, pair);
}

}  // namespace

std::vector<float> fft_pair_values(int n) {
  std::vector<float> values(static_cast<std::size_t>(fft_pair_row(n)) * static_cast<std::size_t>(n) *
                            static_cast<std::size_t>(n));
  for (std::size_t k = 0; k < values.size(); ++k)
    values[k] = static_cast<float>((k * 2654435761u >> 8) % 1024) / 1024 - 0.5f;
  return values;
}

void check_fft_pair(int n, const std::vector<float>& back) {
  const auto given = fft_pair_values(n);
  const auto row = static_cast<std::size_t>(fft_pair_row(n));
  const double modes = std::pow(n, 3);
  double worst = 0;
  for (std::size_t k = 0; k < given.size(); ++k)
    if (k % row < static_cast<std::size_t>(n))
      worst = std::max(worst, std::abs(static_cast<double>(back[k]) / modes - static_cast<double>(given[k])));
  if (!(worst < 1e-4))
    throw Error(ErrorKind::numerics,
                fmt::format("bench: mesh/fft-pair/{}: values come back with an error of {:.1e}", n, worst));
}

double fft_pair_seconds(const Device& device, int n, double budget) {
  if (device.is_cuda()) {
    if constexpr (cuda_built) return fft_pair_seconds_cuda(device, n, budget);
  }
  return fft_pair_seconds_cpu(device, n, budget);
}

}  // namespace pergola::app
