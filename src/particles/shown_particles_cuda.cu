#include "particles/show_cuda.cuh"

namespace pergola {

template void show_cuda(const Device&, std::int64_t, const ShowParticle<float, float, ShowAsIs>&);
template void show_cuda(const Device&, std::int64_t, const ShowParticle<float, double, ShowAsIs>&);
template void show_cuda(const Device&, std::int64_t, const ShowParticle<double, float, ShowAsIs>&);
template void show_cuda(const Device&, std::int64_t, const ShowParticle<double, double, ShowAsIs>&);

}  // namespace pergola
