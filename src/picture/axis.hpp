#pragma once
#include <optional>
#include <string>
#include <vector>

#include "base/host_device.hpp"

namespace pergola {

/// One axis of a plot. Limits that are not set follow the data.
struct Axis {
  std::string label;
  bool log = false;
  std::optional<double> low, high;
};

/// "time (Myr)"; the name alone where no unit is known.
PERGOLA_API std::string label_with_unit(const std::string& name, const std::string& unit);

struct Tick {
  double value = 0;
  std::string label;  // empty: a minor tick
};

/// Ticks at 1, 2 or 5 × 10^k, about `wanted` of them, within [low, high]. Labels are as short as they can be while they
/// differ; very large and very small numbers are written as "3×10^{5}".
PERGOLA_API std::vector<Tick> linear_ticks(double low, double high, int wanted);

/// Ticks at powers of ten, with minor ticks between; where fewer than two powers fit, also at 2 and 5 times a power,
/// and where that is one or none, at steps as on a linear axis.
PERGOLA_API std::vector<Tick> log_ticks(double low, double high, int wanted);

/// "3×10^{5}", with a true minus sign; plain where that is short.
PERGOLA_API std::string tick_text(double value);

/// An axis whose limits are known: maps a value to 0 (low) … 1 (high); NaN where a logarithm does not exist.
class PERGOLA_API Scale {
 public:
  /// Limits from the axis where it sets them, else from the values with a little room. Values that cannot be shown
  /// (NaN, infinite, or ≤ 0 on a logarithmic axis) do not count.
  Scale(const Axis& axis, const std::vector<double>& values);
  double place(double value) const;
  std::vector<Tick> ticks(int wanted) const;
  double low() const { return low_; }
  double high() const { return high_; }

 private:
  bool log_;
  double low_ = 0, high_ = 1;
};

}  // namespace pergola
