#include <unistd.h>

#include <cstring>
#include <fstream>
#include <string>

#include "device/launch.cuh"
#include "device/peer_memory.hpp"

namespace pergola {

namespace {

/// The kernel's number for this machine since its start.
void read_machine(std::uint64_t (&to)[2]) {
  std::string text;
  std::ifstream("/proc/sys/kernel/random/boot_id") >> text;
  std::size_t digit = 0;
  for (const char letter : text) {
    if (letter == '-' || digit == 32) continue;
    const int value = letter <= '9' ? letter - '0' : letter - 'a' + 10;
    to[digit / 16] = to[digit / 16] << 4 | static_cast<std::uint64_t>(value & 15);
    ++digit;
  }
}

}  // namespace

MemoryHandle ticket_for(const Device& device, const void* memory) {
  device.make_current();
  MemoryHandle ticket;
  cudaIpcMemHandle_t handle;
  static_assert(sizeof(handle) == sizeof(ticket.handle));
  // If processes may not open each other's memory, the ticket is valid within this process only.
  if (cudaIpcGetMemHandle(&handle, const_cast<void*>(memory)) == cudaSuccess)
    std::memcpy(ticket.handle, &handle, sizeof handle);
  else
    cudaGetLastError();
  read_machine(ticket.machine);
  ticket.process = getpid();
  ticket.data = static_cast<const std::byte*>(memory);
  return ticket;
}

bool PeerMemory::open(const Device& device, const MemoryHandle& ticket) {
  close();
  device.make_current();
  std::uint64_t machine[2] = {};
  read_machine(machine);
  if (std::memcmp(machine, ticket.machine, sizeof machine) != 0) return false;
  if (ticket.process == getpid()) {
    data_ = ticket.data;
    return true;
  }
  cudaIpcMemHandle_t handle;
  std::memcpy(&handle, ticket.handle, sizeof handle);
  if (cudaIpcOpenMemHandle(&mapped_, handle, cudaIpcMemLazyEnablePeerAccess) != cudaSuccess) {
    cudaGetLastError();
    mapped_ = nullptr;
    return false;
  }
  data_ = static_cast<const std::byte*>(mapped_);
  return true;
}

void PeerMemory::close() noexcept {
  if (mapped_) cudaIpcCloseMemHandle(mapped_);
  mapped_ = nullptr, data_ = nullptr;
}

}  // namespace pergola
