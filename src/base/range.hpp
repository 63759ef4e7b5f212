#pragma once
#include <limits>
#include <string>

#include "base/host_device.hpp"

namespace pergola {

/// The numbers that an option accepts. Infinities and NaN are in no range.
struct PERGOLA_API Range {
  double low = -std::numeric_limits<double>::infinity();
  double high = std::numeric_limits<double>::infinity();
  bool low_open = false;
  bool high_open = false;

  static Range above(double low);
  static Range at_least(double low);
  static Range between(double low, double high);

  bool contains(double value) const;
  /// What was expected, for a message: "a number > 0", "an integer from 1 to 16".
  std::string text(const char* noun = "a number") const;
};

}  // namespace pergola
