#pragma once
#include <utility>

#include "base/host_device.hpp"
#include "base/vec.hpp"
#include "physics/multi_index.hpp"
#include "physics/number.hpp"

namespace pergola::physics {

#include "physics/expansion.inl"

}  // namespace pergola::physics
