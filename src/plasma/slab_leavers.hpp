#pragma once
#include <vector>

#include "comm/communicator.hpp"
#include "plasma/tile_loops.hpp"

namespace pergola::plasma {

/// Gives the leavers of a push that go to tiles of other ranks to these, and returns those that come, both by species:
/// rests[s] has the rests of this rank's tiles. A call of all ranks; only ranks as near to each other as the farthest
/// way of a particle exchange messages.
template <class Real>
std::vector<std::vector<Leaver<Real>>> exchange_leavers(Communicator& ranks, const TileSlab& slab,
                                                        const std::vector<const std::vector<PushRest<Real>>*>& rests);

}  // namespace pergola::plasma
