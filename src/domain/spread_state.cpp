#include "domain/spread_state.hpp"

#include <cstring>

namespace pergola {

void put_distributed_state(RankRows& rows, const StateSource& own, std::int64_t what, StateSource& to) {
  for (const StateRange& range : own.ranges()) {
    const auto value_bytes = static_cast<std::int64_t>(range.value_bytes);
    if (!range.per_particle && range.total == 0)
      to.put_range(range.name, range.value_bytes, range.count, range.copy);
    else
      to.put_range(
          range.name, range.value_bytes, range.per_particle ? rows.shares().total : range.total,
          [&rows, what, value_bytes, total = range.total](std::int64_t first, std::int64_t n, void* into) {
            rows.read({what, first, n, value_bytes, nullptr, total},
                      [&](std::int64_t at, std::int64_t count, const std::byte* values) {
                        std::memcpy(static_cast<std::byte*>(into) + at * value_bytes, values,
                                    static_cast<std::size_t>(count * value_bytes));
                      });
          },
          range.per_particle);
    ++what;
  }
}

void answer_state(const StateSource& own, const RankRows::Request& request, std::byte* to) {
  own.ranges().at(static_cast<std::size_t>(request.what)).copy(request.first, request.count, to);
}

}  // namespace pergola
