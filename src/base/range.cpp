#include "base/range.hpp"

#include <fmt/core.h>

#include <cmath>

#include "base/text.hpp"

namespace pergola {

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

}  // namespace

Range Range::above(double low) { return {low, infinity, true, false}; }
Range Range::at_least(double low) { return {low, infinity, false, false}; }
Range Range::between(double low, double high) { return {low, high, false, false}; }

bool Range::contains(double value) const {
  if (!std::isfinite(value)) return false;
  return (low_open ? value > low : value >= low) && (high_open ? value < high : value <= high);
}

std::string Range::text(const char* noun) const {
  if (low == high) return to_text(low);
  const bool has_low = low > -infinity, has_high = high < infinity;
  const std::string from = fmt::format("{} {}", low_open ? ">" : ">=", to_text(low));
  const std::string to = fmt::format("{} {}", high_open ? "<" : "<=", to_text(high));
  if (has_low && has_high && !low_open && !high_open)
    return fmt::format("{} from {} to {}", noun, to_text(low), to_text(high));
  if (has_low && has_high) return fmt::format("{} {} and {}", noun, from, to);
  if (has_low) return fmt::format("{} {}", noun, from);
  if (has_high) return fmt::format("{} {}", noun, to);
  return noun;
}

}  // namespace pergola
