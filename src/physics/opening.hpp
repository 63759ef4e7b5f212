#pragma once
#include "base/host_device.hpp"

namespace pergola::physics {

#include "physics/opening.inl"

}  // namespace pergola::physics
