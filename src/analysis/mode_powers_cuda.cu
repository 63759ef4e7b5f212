#include <cub/device/device_reduce.cuh>

#include "analysis/mode_powers.hpp"
#include "device/buffer.hpp"
#include "device/chunk_sums.cuh"
#include "mesh/fft/cufft_plan.cuh"

namespace pergola {

namespace {

/// The densities of two meshes as the real and imaginary parts of one field.
struct JoinMeshes {
  const double *first, *second;
  double* field;
  __device__ void operator()(std::int64_t i) const { field[2 * i] = first[i], field[2 * i + 1] = second[i]; }
};

void transform(const Device& device, double* field, int cells) {
  const long long n = cells, length[3] = {n, n, n};
  const cuda::CufftLayout layout{{n, n, n}, 1, n * n * n};
  using Numbers = cuda::Cufft<double>;
  const cuda::CufftPlan plan(device.stream(), 3, length, layout, layout, Numbers::complex_to_complex, 1);
  Buffer<std::byte> work(device, static_cast<std::int64_t>(plan.work_bytes()));
  auto* const values = reinterpret_cast<Numbers::Complex*>(field);
  cuda::check(Numbers::lines(plan.with_work(work.data()), values, values, CUFFT_FORWARD), "cufftExecZ2Z");
  device.synchronize();  // the plan and its memory end here
}

/// A mass and its square.
struct MassTerms {
  static constexpr int count = 2;
  const double* mass;
  PERGOLA_HD Terms<count> operator()(std::int64_t i) const { return {{mass[i], mass[i] * mass[i]}}; }
};

double largest_of(const Device& device, std::int64_t count, const double* values) {
  Buffer<double> largest(device, 1);
  const cudaStream_t stream = cuda::handle(device.stream());
  std::size_t bytes = 0;
  cuda::check(cub::DeviceReduce::Max(nullptr, bytes, values, largest.data(), count, stream), "largest mass");
  Buffer<std::byte> scratch(device, static_cast<std::int64_t>(bytes));
  cuda::check(cub::DeviceReduce::Max(scratch.data(), bytes, values, largest.data(), count, stream), "largest mass");
  double found = 0;
  largest.to_host(&found);
  return found;
}

}  // namespace

MassSums mass_sums_cuda(const Device& device, std::int64_t count, const double* mass) {
  if (count == 0) return {};
  device.make_current();
  Terms<MassTerms::count> total;
  cuda::add_chunks("mass sums", device, count, MassTerms{mass}, total);
  return {total.value[0], total.value[1], largest_of(device, count, mass)};
}

void fold_places_cuda(const Device& device, std::int64_t count, const FoldPlace& body) {
  device.make_current();
  cuda::launch("fold places", count, device.stream(), body);
}

std::vector<double> mode_powers_cuda(const Device& device, const double* first, const double* second,
                                     const std::vector<double>& unwindow, int cells, int reach) {
  device.make_current();
  const std::int64_t n = cells, width = 2 * std::int64_t{reach} + 1;
  Buffer<double> field(device, 2 * n * n * n), powers(device, width * width * width), scales(device, unwindow);
  cuda::launch("join meshes", n * n * n, device.stream(), JoinMeshes{first, second, field.data()});
  transform(device, field.data(), cells);
  cuda::launch("mode powers", powers.size(), device.stream(),
               ModePower{field.data(), scales.data(), powers.data(), cells, reach});
  return powers.to_host();
}

}  // namespace pergola
