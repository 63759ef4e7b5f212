#include "mesh/coupling/exchange_cuda.cuh"

namespace pergola {

template <>
std::unique_ptr<MeshExchange<float>> make_mesh_exchange_cuda<float>(const Device& device, const Grid& grid,
                                                                    const ExchangeOptions& options) {
  return std::make_unique<cuda::ExchangeCuda<float>>(device, grid, options);
}

}  // namespace pergola
