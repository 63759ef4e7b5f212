#pragma once
#include <cstdint>
#include <vector>

#include "comm/communicator.hpp"

namespace pergola {

/// Tells every rank a number, to_each[r] to rank r, and returns what every rank has told this one. Numbers are passed
/// on from rank to rank, so that each sends log2 K messages and not K − 1: Bruck, Ho, Kipnis, Upfal & Weathersby 1997,
/// IEEE Trans. Parallel Distrib. Syst. 8, 1143. All ranks call it.
PERGOLA_API std::vector<std::int64_t> tell_counts(Communicator& ranks, const std::vector<std::int64_t>& to_each);

}  // namespace pergola
