#pragma once
#include <memory>
#include <string>

#include "device/device.hpp"

namespace pergola {

/// For tests: a device that fails. PERGOLA_DEVICE_FAULT=KIND:N in the environment makes the N-th call of a kind fail on
/// every device that is opened, whatever its backend, with Error(device):
///   alloc   an allocation: there is no memory left
///   wait    a call that waits for the device (synchronize, copies to and from the host), as after a kernel that failed
///   gone    a call of any kind: the device has vanished
/// Memory that ended for one call may be there for the next; after the others every call fails, as on a GPU.
///
/// Without the variable this is `memory` itself. `spec` is for the messages. Throws Error(input) for another text in
/// the variable.
std::shared_ptr<DeviceMemory> with_faults(std::shared_ptr<DeviceMemory> memory, const std::string& spec);

}  // namespace pergola
