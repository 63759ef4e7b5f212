// Leavers between the slabs of ranks: see slab_leavers.hpp. One sum over ranks finds how far the messages must go.
#include "plasma/slab_leavers.hpp"

#include <algorithm>
#include <cstdlib>

namespace pergola::plasma {

LeaverPartners find_leaver_partners(Communicator& ranks, const TileSlab& slab,
                                    const std::vector<std::int64_t>& leaving) {
  const std::vector<int>& ring = slab.workers;
  const auto size = static_cast<int>(ring.size());
  const auto own = static_cast<int>(std::lower_bound(ring.begin(), ring.end(), ranks.rank()) - ring.begin());
  const auto way = [&](int place) { return std::min(std::abs(place - own), size - std::abs(place - own)); };
  std::int64_t reach = 0;
  for (int place = 0; place < size; ++place)
    if (leaving[static_cast<std::size_t>(ring[static_cast<std::size_t>(place)])] > 0)
      reach = std::max<std::int64_t>(reach, way(place));
  ranks.all_reduce(&reach, 1, Reduction::maximum);
  LeaverPartners found{{}, reach > 0};
  for (int place = 0; place < size && slab.tiles > 0; ++place)
    if (place != own && way(place) <= reach) found.ranks.push_back(ring[static_cast<std::size_t>(place)]);
  return found;
}

template <class Real>
std::vector<std::vector<Leaver<Real>>> exchange_leavers(Communicator& ranks, const TileSlab& slab,
                                                        const std::vector<const std::vector<PushRest<Real>>*>& rests) {
  using Lists = std::vector<std::vector<Leaver<Real>>>;
  const auto size = static_cast<std::size_t>(ranks.size());
  std::vector<Lists> leaving(size, Lists(rests.size()));
  std::vector<std::int64_t> counts(size);
  for (std::size_t s = 0; s < rests.size(); ++s)
    for (const auto& rest : *rests[s])
      for (const auto& leaver : rest.leavers) {
        const int rank = slab.rank_of(leaver.tile);
        if (rank == ranks.rank()) continue;
        leaving[static_cast<std::size_t>(rank)][s].push_back(leaver);
        ++counts[static_cast<std::size_t>(rank)];
      }
  const std::vector<int> partners = find_leaver_partners(ranks, slab, counts).ranks;
  std::vector<Lists> out;
  for (const int rank : partners) out.push_back(std::move(leaving[static_cast<std::size_t>(rank)]));
  return hand_to_ranks(ranks, partners, rests.size(), out);
}

template std::vector<std::vector<Leaver<float>>> exchange_leavers(
    Communicator&, const TileSlab&, const std::vector<const std::vector<PushRest<float>>*>&);
template std::vector<std::vector<Leaver<double>>> exchange_leavers(
    Communicator&, const TileSlab&, const std::vector<const std::vector<PushRest<double>>*>&);

}  // namespace pergola::plasma
