#include "domain/spread_state.hpp"

#include <cstring>

namespace pergola {

void put_spread_state(RankRows& rows, const StateSource& own, std::int64_t what, StateSource& to) {
  for (const StateRange& range : own.ranges()) {
    const auto value_bytes = static_cast<std::int64_t>(range.value_bytes);
    if (!range.per_particle)
      to.put_range(range.name, range.value_bytes, range.count, range.copy);
    else
      to.put_range(
          range.name, range.value_bytes, rows.shares().total,
          [&rows, what, value_bytes](std::int64_t first, std::int64_t n, void* into) {
            rows.read({what, first, n, value_bytes}, [&](std::int64_t at, std::int64_t count, const std::byte* values) {
              std::memcpy(static_cast<std::byte*>(into) + at * value_bytes, values,
                          static_cast<std::size_t>(count * value_bytes));
            });
          },
          true);
    ++what;
  }
}

void answer_state(const StateSource& own, const RankRows::Request& request, std::byte* to) {
  own.ranges().at(static_cast<std::size_t>(request.what)).copy(request.first, request.count, to);
}

}  // namespace pergola
