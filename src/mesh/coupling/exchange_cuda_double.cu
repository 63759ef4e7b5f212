#include "mesh/coupling/exchange_cuda.cuh"

namespace pergola {

template <>
std::unique_ptr<MeshExchange<double>> make_mesh_exchange_cuda<double>(const Device& device, const Grid& grid,
                                                                      const ExchangeOptions& options) {
  return std::make_unique<cuda::ExchangeCuda<double>>(device, grid, options);
}

}  // namespace pergola
