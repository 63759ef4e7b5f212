#pragma once
#include "base/host_device.hpp"
#include "base/vec.hpp"

namespace pergola::physics {

#include "physics/pair.inl"

}  // namespace pergola::physics
