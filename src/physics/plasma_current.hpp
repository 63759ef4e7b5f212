#pragma once
/// The current of plasma particles in whole units: the formulas of physics/plasma_current.inl for float and double.
#include <cmath>
#include <cstdint>

#include "base/host_device.hpp"
#include "physics/number.hpp"
#include "physics/plasma_push.hpp"

namespace pergola::physics {

/// The nearest whole number of grains.
PERGOLA_HD std::int32_t grains_of(float number) { return static_cast<std::int32_t>(std::rint(number)); }
PERGOLA_HD std::int64_t grains_of(double number) { return static_cast<std::int64_t>(std::rint(number)); }
/// A whole number as a number of type N.
template <class N, class W>
PERGOLA_HD N number_of(W whole) {
  return static_cast<N>(whole);
}
template <class W>
PERGOLA_HD W whole_constant(std::int64_t value) {
  return static_cast<W>(value);
}

#include "physics/plasma_current.inl"

}  // namespace pergola::physics
