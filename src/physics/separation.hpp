#pragma once
#include "base/host_device.hpp"
#include "base/vec.hpp"

namespace pergola::physics {

#include "physics/separation.inl"

}  // namespace pergola::physics
