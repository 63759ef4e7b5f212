#pragma once
#include "base/host_device.hpp"
#include "base/vec.hpp"
#include "physics/number.hpp"
#include "physics/softening.hpp"

namespace pergola::physics {

#include "physics/pair.inl"

}  // namespace pergola::physics
