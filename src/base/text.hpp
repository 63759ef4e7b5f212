#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace pergola {

/// The shortest text that reads back as exactly this number, in any locale.
std::string to_text(double value);
std::string to_text(float value);

/// The whole of `text` as a number, in any locale; nothing when it is not one.
std::optional<double> parse_real(std::string_view text);
std::optional<std::int64_t> parse_integer(std::string_view text);
std::optional<std::uint64_t> parse_unsigned(std::string_view text);

/// The candidate with the smallest edit distance, or "" when none is close enough to be meant.
std::string nearest_name(std::string_view name, const std::vector<std::string>& candidates);

/// "1.5 GiB", for people.
std::string bytes_text(double bytes);

/// The whole number that a text says: 262144, 2.5e5, 64^3. Nothing if the text is no whole number, or a power or real
/// above 2^53.
std::optional<std::int64_t> parse_count(std::string_view text);

}  // namespace pergola
