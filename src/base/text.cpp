#include "base/text.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <numeric>

namespace pergola {

namespace {

template <class T>
std::string shortest(T value) {
  if (std::isnan(value)) return "nan";  // whatever its sign bit is
  char buffer[64];
  const auto result = std::to_chars(buffer, buffer + sizeof buffer, value);
  return {buffer, result.ptr};
}

template <class T>
std::optional<T> parse_all(std::string_view text) {
  T value{};
  if (text.starts_with('+')) text.remove_prefix(1);
  const auto result = std::from_chars(text.data(), text.data() + text.size(), value);
  if (result.ec != std::errc{} || result.ptr != text.data() + text.size()) return std::nullopt;
  return value;
}

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t above = row[j];
      row[j] = std::min({above + 1, row[j - 1] + 1, diagonal + (a[i - 1] == b[j - 1] ? 0 : 1)});
      diagonal = above;
    }
  }
  return row[b.size()];
}

}  // namespace

std::string to_text(double value) { return shortest(value); }
std::string to_text(float value) { return shortest(value); }
std::optional<double> parse_real(std::string_view text) { return parse_all<double>(text); }
std::optional<std::int64_t> parse_integer(std::string_view text) { return parse_all<std::int64_t>(text); }
std::optional<std::uint64_t> parse_unsigned(std::string_view text) { return parse_all<std::uint64_t>(text); }

std::string nearest_name(std::string_view name, const std::vector<std::string>& candidates) {
  std::string best;
  std::size_t best_distance = std::max<std::size_t>(2, name.size() / 3) + 1;
  for (const auto& candidate : candidates) {
    const std::size_t distance = edit_distance(name, candidate);
    if (distance < best_distance) {
      best_distance = distance;
      best = candidate;
    }
  }
  return best;
}

std::string bytes_text(double bytes) {
  const char* units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  int unit = 0;
  while (bytes >= 1024 && unit < 4) {
    bytes /= 1024;
    ++unit;
  }
  return unit == 0 ? fmt::format("{:.0f} B", bytes) : fmt::format("{:.1f} {}", bytes, units[unit]);
}

std::optional<std::int64_t> parse_count(std::string_view text) {
  constexpr double exact = 0x1p53;  // beyond it not every whole number is a double
  if (const auto integer = parse_integer(text)) return integer;
  double number = 0;
  if (const auto hat = text.find('^'); hat != std::string_view::npos) {
    const auto base = parse_integer(text.substr(0, hat)), power = parse_integer(text.substr(hat + 1));
    if (!base || !power || *base < 0 || *power < 0) return std::nullopt;
    number = std::pow(static_cast<double>(*base), static_cast<double>(*power));
  } else if (const auto real = parse_real(text)) {
    number = *real;
  } else {
    return std::nullopt;
  }
  if (std::floor(number) != number || !(std::abs(number) <= exact)) return std::nullopt;
  return static_cast<std::int64_t>(number);
}

}  // namespace pergola
