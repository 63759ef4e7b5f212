#pragma once
#include "comm/communicator.hpp"
#include "device/device.hpp"

namespace pergola {

/// Whether messages between these devices (domain/device_messages.hpp) are carried by kernels that wait for those of
/// other ranks, as NCCL's do where two ranks have no device in common. Two threads of a rank must not have such on
/// their way at once: what one of them has of the device, its memory above all, the other's may wait for. A call of all
/// ranks. In domain/device_messages_cuda.cu; present where cuda_built is true.
bool kernels_carry_messages(const Device& device, Communicator& ranks);

}  // namespace pergola
