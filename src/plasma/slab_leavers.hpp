#pragma once
/// Particles that a push takes out of a rank's slab, and their way to the ranks that own their tiles.
///
/// The ranks with tiles form a ring, as their slabs do. A push rarely moves a particle far, so a rank exchanges
/// messages only with ranks as near in the ring as the farthest displacement of any particle requires. Received
/// particles are ordered by sender; all functions are collective.
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>
#include <vector>

#include "comm/communicator.hpp"
#include "plasma/tile_loops.hpp"

namespace pergola::plasma {

/// Sends out[p][k], the items of kind k for partners[p]. Returns the received items by kind, in the order of the
/// partners. Collective; partnership is mutual, and a rank may be its own partner.
template <class Thing>
std::vector<std::vector<Thing>> hand_to_ranks(Communicator& ranks, const std::vector<int>& partners, std::size_t kinds,
                                              const std::vector<std::vector<std::vector<Thing>>>& out) {
  static_assert(std::is_trivially_copyable_v<Thing>);
  const std::size_t numbers = partners.size() * kinds;
  std::vector<std::int64_t> sent(numbers), coming(numbers);
  std::vector<Communicator::Outgoing> send;
  std::vector<Communicator::Incoming> receive;
  for (std::size_t p = 0; p < partners.size(); ++p) {
    for (std::size_t k = 0; k < kinds; ++k) sent[p * kinds + k] = std::ssize(out[p][k]);
    send.push_back({partners[p], sent.data() + p * kinds, kinds * sizeof(std::int64_t)});
    receive.push_back({partners[p], coming.data() + p * kinds, kinds * sizeof(std::int64_t)});
  }
  ranks.exchange(send, receive);
  send.clear(), receive.clear();
  std::vector<std::vector<Thing>> arrived(kinds);
  for (std::size_t k = 0; k < kinds; ++k) {
    std::int64_t count = 0;
    for (std::size_t p = 0; p < partners.size(); ++p) count += coming[p * kinds + k];
    arrived[k].resize(static_cast<std::size_t>(count));
  }
  std::vector<std::size_t> at(kinds);
  for (std::size_t p = 0; p < partners.size(); ++p)
    for (std::size_t k = 0; k < kinds; ++k) {
      const auto& list = out[p][k];
      const auto count = static_cast<std::size_t>(coming[p * kinds + k]);
      if (!list.empty()) send.push_back({partners[p], list.data(), list.size() * sizeof(Thing)});
      if (count > 0) receive.push_back({partners[p], arrived[k].data() + at[k], count * sizeof(Thing)});
      at[k] += count;
    }
  ranks.exchange(send, receive);
  return arrived;
}

/// The ranks with which a rank exchanges the leavers of a push: those within the farthest displacement of any particle
/// in the ring. A rank without tiles has none.
struct LeaverPartners {
  std::vector<int> ranks;
  bool any = false;  // some rank has leavers
};
/// `leaving`: the number of particles that go from this rank to each rank.
LeaverPartners find_leaver_partners(Communicator& ranks, const TileSlab& slab,
                                    const std::vector<std::int64_t>& leaving);

/// Sends the leavers of a push to the ranks of their tiles and returns the received ones by species. rests[s] has the
/// rests of this rank's tiles.
template <class Real>
std::vector<std::vector<Leaver<Real>>> exchange_leavers(Communicator& ranks, const TileSlab& slab,
                                                        const std::vector<const std::vector<PushRest<Real>>*>& rests);

}  // namespace pergola::plasma
