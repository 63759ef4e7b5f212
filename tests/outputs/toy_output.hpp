#pragma once
#include "config/config.hpp"
#include "outputs/output.hpp"

namespace pergola {

/// toy.csv: the number of particles and of lines so far, every output.toy_every.
OutputEntry toy_output();
NumberKey toy_key();

}  // namespace pergola
