#pragma once
#include "base/host_device.hpp"

namespace pergola {

/// Cores that this process may use.
PERGOLA_API int available_cores();

}  // namespace pergola
