#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace pergola {

/// Host particles in the order of their ids; empty where that is the order in which they are. Throws Error(input) when
/// two have the same id.
std::vector<std::uint32_t> order_by_id(const std::string& species, const std::vector<std::uint64_t>& id);

}  // namespace pergola
