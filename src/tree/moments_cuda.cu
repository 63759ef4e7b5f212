#include "tree/moments_cuda.cuh"

#include "device/launch.cuh"
#include "physics/expansion.hpp"
#include "tree/shape.hpp"

namespace pergola::tree {

namespace {

template <int order, class T>
__device__ void multipoles_of_leaf(const UpwardPassCuda<T>& pass, std::uint32_t cell) {
  constexpr int terms = physics::expansion_terms(order);
  const CellLink link = pass.link[cell];
  const CellShape& s = pass.shape[cell];
  const T inverse = T(-1) / pass.scale[cell];
  T sum[terms];
#pragma unroll
  for (int t = 0; t < terms; ++t) sum[t] = 0;
  for (std::uint32_t k = link.first; k < link.first + link.count; ++k) {
    const T dx = static_cast<T>(pass.x[k] - s.x), dy = static_cast<T>(pass.y[k] - s.y),
            dz = static_cast<T>(pass.z[k] - s.z), mass = static_cast<T>(pass.mass[k]);
    pass.rx[k] = dx, pass.ry[k] = dy, pass.rz[k] = dz, pass.rmass[k] = mass;
    if (pass.repsilon2) pass.repsilon2[k] = static_cast<T>(pass.epsilon2[k]);
    const physics::Monomials<order, T> t({dx * inverse, dy * inverse, dz * inverse}, mass);
#pragma unroll
    for (int i = 0; i < terms; ++i) sum[i] += t.value[i];
  }
  T* const to = pass.multipole + std::int64_t{cell} * multipole_stride(order);
#pragma unroll
  for (int t = 0; t < terms; ++t) to[t] = sum[t];
}

template <int order, class T>
__device__ void multipoles_of_parent(const UpwardPassCuda<T>& pass, std::uint32_t cell) {
  constexpr int terms = physics::expansion_terms(order);
  const CellLink link = pass.link[cell];
  const CellShape& s = pass.shape[cell];
  const T inverse = T(1) / pass.scale[cell];
  T sum[terms];
#pragma unroll
  for (int t = 0; t < terms; ++t) sum[t] = 0;
  for (std::uint32_t c = link.child; c < link.child + link.children; ++c) {
    const CellShape& child = pass.shape[c];
    const Vec3<T> away{static_cast<T>(s.x - child.x) * inverse, static_cast<T>(s.y - child.y) * inverse,
                       static_cast<T>(s.z - child.z) * inverse};
    T moments[terms];
    const T* const from = pass.multipole + std::int64_t{c} * multipole_stride(order);
#pragma unroll
    for (int t = 0; t < terms; ++t) moments[t] = from[t];
    physics::shift_multipole<order>(away, pass.scale[c] * inverse, moments, sum);
  }
  T* const to = pass.multipole + std::int64_t{cell} * multipole_stride(order);
#pragma unroll
  for (int t = 0; t < terms; ++t) to[t] = sum[t];
}

template <int order, class T>
__global__ void __launch_bounds__(128) upward_kernel(UpwardPassCuda<T> pass, std::uint32_t begin, std::uint32_t end) {
  const std::uint32_t cell = begin + blockIdx.x * blockDim.x + threadIdx.x;
  if (cell >= end) return;
  const bool leaf = pass.link[cell].children == 0;
  if (leaf)
    shape_of_leaf(pass, pass.link, cell);
  else
    shape_of_parent(pass, pass.link, cell);
  finish_shape<order>(pass, cell);
  if (leaf)
    multipoles_of_leaf<order>(pass, cell);
  else
    multipoles_of_parent<order>(pass, cell);
}

}  // namespace

template <class T>
void upward_cuda(const UpwardPassCuda<T>& pass, int order, std::uint32_t begin, std::uint32_t end, Stream stream) {
  if (begin == end) return;
  constexpr unsigned threads = 128;
  const unsigned blocks = (end - begin + threads - 1) / threads;
  const auto s = cuda::handle(stream);
  static_assert(lowest_order == 2 && highest_order == 5);
  switch (order) {
    case 2:
      upward_kernel<2><<<blocks, threads, 0, s>>>(pass, begin, end);
      break;
    case 3:
      upward_kernel<3><<<blocks, threads, 0, s>>>(pass, begin, end);
      break;
    case 4:
      upward_kernel<4><<<blocks, threads, 0, s>>>(pass, begin, end);
      break;
    default:
      upward_kernel<5><<<blocks, threads, 0, s>>>(pass, begin, end);
  }
  cuda::check(cudaGetLastError(), "tree moments");
}

template void upward_cuda(const UpwardPassCuda<float>&, int, std::uint32_t, std::uint32_t, Stream);
template void upward_cuda(const UpwardPassCuda<double>&, int, std::uint32_t, std::uint32_t, Stream);

}  // namespace pergola::tree
