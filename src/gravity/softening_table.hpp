#pragma once
#include "particles/particles.hpp"

namespace pergola {

/// Softening as the loops over pairs know it: the pair law's numbers of the lengths (physics/pair_laws.inl), and
/// whether they look at each particle's own. Where they do not, the first one serves all.
struct SofteningTable {
  double number[species_count] = {};
  bool by_particle = false;
};

}  // namespace pergola
