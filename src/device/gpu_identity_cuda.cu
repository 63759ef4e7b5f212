#include <cstring>

#include "device/gpu_identity.hpp"
#include "device/launch.cuh"

namespace pergola {

GpuIdentity gpu_identity(const Device& device) {
  cudaDeviceProp properties{};
  cuda::check(cudaGetDeviceProperties(&properties, device.ordinal()), "cudaGetDeviceProperties");
  GpuIdentity identity{};
  std::memcpy(identity.data(), properties.uuid.bytes, identity.size());
  return identity;
}

}  // namespace pergola
