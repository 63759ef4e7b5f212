#pragma once
#include <algorithm>
#include <cstdint>
#include <vector>

#include "comm/shares.hpp"

namespace pergola {

/// Who has which of the side³ particles of a lattice, z slowest, by rank: those of its slab of whole planes
/// (mesh/slab_planes.hpp), where displacements are found, and its share (comm/shares.hpp), which it keeps. A share
/// begins in the first plane of its rank's slab, if that has any. So of a slab only particles of its first plane are
/// kept by others, and those of a share that are not in the rank's own slab stand at its end.
struct LatticeCuts {
  std::vector<Stretch> slabs, shares;
  std::vector<Stretch> given;    // of a slab, what ranks before keep
  std::vector<Stretch> fetched;  // of a share, what is in slabs of ranks behind

  LatticeCuts(int side, int ranks) {
    const std::int64_t plane = std::int64_t{side} * side;
    const Shares planes{side, ranks}, particles{plane * side, ranks};
    for (int rank = 0; rank < ranks; ++rank) {
      const Stretch slab{planes.first(rank) * plane, planes.count(rank) * plane};
      const Stretch share{particles.first(rank), particles.count(rank)};
      const std::int64_t away = std::max(share.first, slab.end());
      slabs.push_back(slab), shares.push_back(share);
      given.push_back({slab.first, std::min(share.first, slab.end()) - slab.first});
      fetched.push_back({away, share.end() - away});
    }
  }
  /// Whether particles change ranks; the same on all.
  bool any_given() const {
    return std::any_of(given.begin(), given.end(), [](const Stretch& one) { return one.count > 0; });
  }
};

}  // namespace pergola
