// Output views of the integrators on a GPU: an instance per number type of the state and of the view.
#include "particles/show_cuda.cuh"
#include "time/show_rules.hpp"

namespace pergola {

template void show_cuda(const Device&, std::int64_t, const ShowParticle<float, float, ShowLeapfrog<float>>&);
template void show_cuda(const Device&, std::int64_t, const ShowParticle<float, double, ShowLeapfrog<float>>&);
template void show_cuda(const Device&, std::int64_t, const ShowParticle<double, float, ShowLeapfrog<double>>&);
template void show_cuda(const Device&, std::int64_t, const ShowParticle<double, double, ShowLeapfrog<double>>&);

template void show_cuda(const Device&, std::int64_t, const ShowParticle<float, float, ShowBlocks<float>>&);
template void show_cuda(const Device&, std::int64_t, const ShowParticle<float, double, ShowBlocks<float>>&);
template void show_cuda(const Device&, std::int64_t, const ShowParticle<double, float, ShowBlocks<double>>&);
template void show_cuda(const Device&, std::int64_t, const ShowParticle<double, double, ShowBlocks<double>>&);

template void show_cuda(const Device&, std::int64_t, const ShowParticle<float, float, ShowHermite<float>>&);
template void show_cuda(const Device&, std::int64_t, const ShowParticle<float, double, ShowHermite<float>>&);
template void show_cuda(const Device&, std::int64_t, const ShowParticle<double, float, ShowHermite<double>>&);
template void show_cuda(const Device&, std::int64_t, const ShowParticle<double, double, ShowHermite<double>>&);

}  // namespace pergola
