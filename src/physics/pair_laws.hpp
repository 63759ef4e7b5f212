#pragma once
#include "physics/pair.hpp"

namespace pergola::physics {

#include "physics/pair_laws.inl"

}  // namespace pergola::physics
