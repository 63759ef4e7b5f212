#include "domain/slabs_by_count.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "comm/collectives.hpp"
#include "domain/route_particles.hpp"

namespace pergola {

namespace {

/// The last place of each rank's slab but that of the last rank, so that about as many are in each.
std::vector<double> ends_of_slabs(Communicator& ranks, const std::vector<double>& along) {
  const RankedValues places(ranks, along);
  std::vector<std::int64_t> wanted;
  for (int r = 1; r < ranks.size() && places.total() > 0; ++r)
    wanted.push_back(std::max<std::int64_t>(1, places.total() / ranks.size() * r));
  return places.reaching(wanted);
}

}  // namespace

Particles in_slabs_by_count(Communicator& ranks, Particles own, int threads) {
  const std::vector<double>* const axes[3] = {&own.x, &own.y, &own.z};
  double low[3], high[3];
  for (int a = 0; a < 3; ++a) {
    low[a] = HUGE_VAL, high[a] = -HUGE_VAL;
    for (const double x : *axes[a]) low[a] = std::min(low[a], x), high[a] = std::max(high[a], x);
  }
  ranks.all_reduce(low, 3, Reduction::minimum);
  ranks.all_reduce(high, 3, Reduction::maximum);
  int longest = 2;
  for (const int a : {1, 0})
    if (high[a] - low[a] > high[longest] - low[longest]) longest = a;
  const std::vector<double>& along = *axes[longest];

  const std::vector<double> last = ends_of_slabs(ranks, along);
  std::vector<std::vector<std::uint32_t>> lists(static_cast<std::size_t>(ranks.size()));
  for (std::size_t i = 0; i < along.size(); ++i)
    lists[static_cast<std::size_t>(std::lower_bound(last.begin(), last.end(), along[i]) - last.begin())].push_back(
        static_cast<std::uint32_t>(i));
  const Routing routing = route_lists(ranks, threads, lists);
  std::vector<std::vector<std::uint32_t>>().swap(lists);
  return route_particles(routing, std::move(own));
}

}  // namespace pergola
