#include "domain/spread_ids.hpp"

#include <algorithm>

#include "comm/collectives.hpp"
#include "particles/particle_check.hpp"

namespace pergola {

void check_distributed_ids(Communicator& ranks, const std::string& where, const std::vector<std::uint64_t>& own) {
  const auto size = static_cast<std::size_t>(ranks.size());
  std::vector<std::vector<std::uint64_t>> to(size);  // equal ids meet on one rank
  for (const std::uint64_t id : own) to[id % size].push_back(id);
  std::vector<std::uint64_t> met;
  for (const auto& list : exchange_lists(ranks, to)) met.insert(met.end(), list.begin(), list.end());
  std::sort(met.begin(), met.end());
  std::vector<std::uint64_t> twice;
  if (const auto found = std::adjacent_find(met.begin(), met.end()); found != met.end()) twice.push_back(*found);
  const auto all = gather_lists_on_all(ranks, twice);
  if (!all.empty()) throw ParticleCheck::found_twice(where, *std::min_element(all.begin(), all.end()));
}

}  // namespace pergola
