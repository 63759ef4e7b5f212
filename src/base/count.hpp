#pragma once
#include <cstdint>
#include <optional>
#include <string_view>

namespace pergola {

/// The whole number that a text says: 262144, 2.5e5, 64^3. Nothing where it is none, or above 2^53 and not written out.
std::optional<std::int64_t> parse_count(std::string_view text);

}  // namespace pergola
