#pragma once
#include "base/host_device.hpp"

namespace pergola {

/// "0.1.0".
PERGOLA_API const char* version();
/// The commit that was built, with "-changed" when the sources differed from it, or "unknown" outside git.
PERGOLA_API const char* build_commit();

}  // namespace pergola
