#pragma once
#include <string>
#include <vector>

#include "comm/communicator.hpp"

namespace pergola {

/// Something on which all ranks must agree.
struct Fact {
  std::string key, value;
};

/// Compares the facts of all ranks, which all call this. Throws Error(input) on every rank where one differs, naming
/// the rank, the key and both values.
PERGOLA_API void require_agreement(Communicator& communicator, const std::vector<Fact>& facts);

}  // namespace pergola
