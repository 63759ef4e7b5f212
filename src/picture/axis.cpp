#include "picture/axis.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/text.hpp"

namespace pergola {

namespace {

std::string with_minus_sign(std::string text) {
  if (text.starts_with('-')) text.replace(0, 1, "−");
  return text;
}

std::string power_text(int exponent) { return "10^{" + with_minus_sign(std::to_string(exponent)) + "}"; }

double power_of_ten(int exponent) { return std::pow(10.0, exponent); }

/// The value without the digits that are noise of its computation.
double cleaned(double value) { return parse_real(fmt::format("{:.10g}", value)).value_or(value); }

}  // namespace

std::string label_with_unit(const std::string& name, const std::string& unit) {
  return unit.empty() ? name : fmt::format("{} ({})", name, unit);
}

std::string tick_text(double value) {
  if (value == 0) return "0";
  const double size = std::abs(value);
  if (size >= 1e-3 && size < 1e5) return with_minus_sign(fmt::format("{:.6g}", value));
  int exponent = static_cast<int>(std::floor(std::log10(size)));
  double factor = cleaned(value / power_of_ten(exponent));
  if (std::abs(factor) >= 10) {
    factor /= 10;
    ++exponent;
  }
  if (factor == 1) return power_text(exponent);
  return with_minus_sign(fmt::format("{:.6g}", factor)) + "×" + power_text(exponent);
}

std::vector<Tick> linear_ticks(double low, double high, int wanted) {
  std::vector<Tick> ticks;
  if (!(high > low) || wanted < 1) return ticks;
  const double rough = (high - low) / wanted;
  const double power = std::pow(10.0, std::floor(std::log10(rough)));
  double step = 10 * power;
  for (const double factor : {5.0, 2.0, 1.0})
    if (factor * power >= rough * 0.999) step = factor * power;
  const double slack = 1e-9 * (high - low);
  for (double k = std::ceil((low - slack) / step); k * step <= high + slack; ++k) {
    const double value = cleaned(k * step);
    ticks.push_back({value, tick_text(value)});
  }
  return ticks;
}

std::vector<Tick> log_ticks(double low, double high, int wanted) {
  std::vector<Tick> ticks;
  if (!(high > low) || !(low > 0) || wanted < 1) return ticks;
  const double slack = 1e-9;
  const int first = static_cast<int>(std::floor(std::log10(low))), last = static_cast<int>(std::ceil(std::log10(high)));
  const auto inside = [&](double value) { return value >= low * (1 - slack) && value <= high * (1 + slack); };
  int powers = 0;
  for (int k = first; k <= last; ++k) powers += inside(power_of_ten(k)) ? 1 : 0;
  const int stride = std::max(1, (powers + wanted - 1) / wanted);
  const bool between = powers < 2;
  for (int k = first; k <= last; ++k)
    for (int factor = 1; factor < 10; ++factor) {
      const double value = cleaned(factor * power_of_ten(k));
      if (!inside(value)) continue;
      const bool major = factor == 1 && (k % stride) == 0;
      const bool named = major || (between && (factor == 2 || factor == 5));
      const bool minor = stride == 1 || factor == 1;
      if (named)
        ticks.push_back({value, factor == 1 && !between ? power_text(k) : tick_text(value)});
      else if (minor)
        ticks.push_back({value, ""});
    }
  const auto named = std::count_if(ticks.begin(), ticks.end(), [](const Tick& tick) { return !tick.label.empty(); });
  return between && named < 2 ? linear_ticks(low, high, wanted) : ticks;
}

Scale::Scale(const Axis& axis, const std::vector<double>& values) : log_(axis.log) {
  double low = std::numeric_limits<double>::infinity(), high = -low;
  for (const double value : values) {
    if (!std::isfinite(value) || (log_ && value <= 0)) continue;
    low = std::min(low, value);
    high = std::max(high, value);
  }
  if (!(low <= high)) {
    low = log_ ? 1 : 0;
    high = log_ ? 10 : 1;
  }
  if (log_) {
    const double room = std::max(0.04 * std::log10(high / low), 0.1);
    low_ = axis.low.value_or(low * std::pow(10.0, -room));
    high_ = axis.high.value_or(high * std::pow(10.0, room));
  } else {
    const double room = high > low ? 0.05 * (high - low) : std::max(std::abs(high) * 0.1, 1e-12);
    low_ = axis.low.value_or(low - room);
    high_ = axis.high.value_or(high + room);
  }
  if (!(high_ > low_)) high_ = log_ ? low_ * 10 : low_ + 1;
}

double Scale::place(double value) const {
  if (!log_) return (value - low_) / (high_ - low_);
  if (!(value > 0)) return std::numeric_limits<double>::quiet_NaN();
  return std::log(value / low_) / std::log(high_ / low_);
}

std::vector<Tick> Scale::ticks(int wanted) const {
  return log_ ? log_ticks(low_, high_, wanted) : linear_ticks(low_, high_, wanted);
}

}  // namespace pergola
