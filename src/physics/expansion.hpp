#pragma once
#include <type_traits>
#include <utility>

#include "base/host_device.hpp"
#include "base/vec.hpp"
#include "physics/multi_index.hpp"

namespace pergola::physics {

#include "physics/expansion.inl"

}  // namespace pergola::physics
