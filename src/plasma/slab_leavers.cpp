#include "plasma/slab_leavers.hpp"

#include <algorithm>
#include <cstdlib>

#include "plasma/hand_to_ranks.hpp"

namespace pergola::plasma {

template <class Real>
std::vector<std::vector<Leaver<Real>>> exchange_leavers(Communicator& ranks, const TileSlab& slab,
                                                        const std::vector<const std::vector<PushRest<Real>>*>& rests) {
  // Ranks that have tiles stand in a ring, as their slabs do.
  const std::vector<int>& ring = slab.workers;
  const auto place_of = [&](int rank) {
    return static_cast<int>(std::lower_bound(ring.begin(), ring.end(), rank) - ring.begin());
  };
  const auto size = static_cast<int>(ring.size()), own = place_of(ranks.rank());
  const auto way = [&](int place) { return std::min(std::abs(place - own), size - std::abs(place - own)); };
  std::vector<int> place_of_row;
  for (const int owner : slab.owner) place_of_row.push_back(place_of(owner));

  using Lists = std::vector<std::vector<Leaver<Real>>>;
  std::vector<Lists> leaving(ring.size(), Lists(rests.size()));
  std::int64_t reach = 0;
  for (std::size_t s = 0; s < rests.size(); ++s)
    for (const auto& rest : *rests[s])
      for (const auto& leaver : rest.leavers) {
        const int place = place_of_row[static_cast<std::size_t>(leaver.tile / slab.tiles_in_row)];
        if (place == own) continue;
        leaving[static_cast<std::size_t>(place)][s].push_back(leaver);
        reach = std::max<std::int64_t>(reach, way(place));
      }
  ranks.all_reduce(&reach, 1, Reduction::maximum);

  std::vector<int> partners;
  std::vector<Lists> out;
  for (int place = 0; place < size && slab.tiles > 0; ++place) {
    if (place == own || way(place) > reach) continue;
    partners.push_back(ring[static_cast<std::size_t>(place)]);
    out.push_back(std::move(leaving[static_cast<std::size_t>(place)]));
  }
  return hand_to_ranks(ranks, partners, rests.size(), out);
}

template std::vector<std::vector<Leaver<float>>> exchange_leavers(
    Communicator&, const TileSlab&, const std::vector<const std::vector<PushRest<float>>*>&);
template std::vector<std::vector<Leaver<double>>> exchange_leavers(
    Communicator&, const TileSlab&, const std::vector<const std::vector<PushRest<double>>*>&);

}  // namespace pergola::plasma
