#pragma once
#include <vector>

#include "comm/communicator.hpp"
#include "plasma/tile_loops.hpp"

namespace pergola::plasma {

/// With whom a rank exchanges leavers of a push. Ranks that have tiles stand in a ring, as their slabs do; partners are
/// those as near to each other there as the farthest way of any particle. A rank without tiles has none.
struct LeaverPartners {
  std::vector<int> ranks;
  bool any = false;  // some rank has leavers
};
/// `leaving`: how many go to each rank from this one. A call of all ranks.
LeaverPartners find_leaver_partners(Communicator& ranks, const TileSlab& slab,
                                    const std::vector<std::int64_t>& leaving);

/// Gives the leavers of a push that go to tiles of other ranks to these, and returns those that come, both by species:
/// rests[s] has the rests of this rank's tiles. A call of all ranks.
template <class Real>
std::vector<std::vector<Leaver<Real>>> exchange_leavers(Communicator& ranks, const TileSlab& slab,
                                                        const std::vector<const std::vector<PushRest<Real>>*>& rests);

}  // namespace pergola::plasma
