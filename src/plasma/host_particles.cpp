#include "plasma/host_particles.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <functional>
#include <numeric>

#include "base/error.hpp"

namespace pergola {

std::vector<std::uint32_t> order_by_id(const std::string& species, const std::vector<std::uint64_t>& id) {
  std::vector<std::uint32_t> order;
  if (std::adjacent_find(id.begin(), id.end(), std::greater_equal<>()) == id.end()) return order;
  order.resize(id.size());
  std::iota(order.begin(), order.end(), 0U);
  std::sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) { return id[a] < id[b]; });
  for (std::size_t i = 1; i < order.size(); ++i)
    if (id[order[i]] == id[order[i - 1]])
      throw Error(ErrorKind::input,
                  fmt::format("plasma: species {}: two particles have the id {}", species, id[order[i]]));
  return order;
}

}  // namespace pergola
