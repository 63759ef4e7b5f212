#pragma once
#include "base/host_device.hpp"

namespace pergola::physics {

// What formulas need of a number type beside its operators and mul_add, for float and double; device/simd_pack.inl has
// the same for packs.

/// A constant as a number of type R.
template <class R>
PERGOLA_HD R number(double value) {
  return static_cast<R>(value);
}
/// The smallest normal number.
template <class R>
PERGOLA_HD R smallest_number() {
  return sizeof(R) == 4 ? static_cast<R>(0x1p-126) : static_cast<R>(0x1p-1022);
}
template <class R>
PERGOLA_HD R larger(R a, R b) {
  return a > b ? a : b;
}
template <class R>
PERGOLA_HD R smaller(R a, R b) {
  return a < b ? a : b;
}
/// `yes` if a < b, else `no`.
template <class R>
PERGOLA_HD R where_less(R a, R b, R yes, R no) {
  return a < b ? yes : no;
}

}  // namespace pergola::physics
