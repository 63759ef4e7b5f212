#include "base/count.hpp"

#include <cmath>

#include "base/text.hpp"

namespace pergola {

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
