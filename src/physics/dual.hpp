#pragma once
#include <cmath>

#include "base/host_device.hpp"

namespace pergola::physics {

/// A number and its rate of change. A formula over this type gives the rate of change of what it computes too, by the
/// chain rule and without another formula: put in a place and its velocity, and an acceleration comes with its jerk.
template <class R>
struct Dual {
  R value, rate;

  PERGOLA_HD Dual(R of_value, R of_rate) : value(of_value), rate(of_rate) {}
  /// One that does not change.
  template <class Number>
  PERGOLA_HD explicit Dual(Number constant) : value(static_cast<R>(constant)), rate(R(0)) {}
};

template <class R>
PERGOLA_HD Dual<R> operator-(Dual<R> a) {
  return {-a.value, -a.rate};
}
template <class R>
PERGOLA_HD Dual<R> operator+(Dual<R> a, Dual<R> b) {
  return {a.value + b.value, a.rate + b.rate};
}
template <class R>
PERGOLA_HD Dual<R> operator-(Dual<R> a, Dual<R> b) {
  return {a.value - b.value, a.rate - b.rate};
}
template <class R>
PERGOLA_HD Dual<R> operator*(Dual<R> a, Dual<R> b) {
  return {a.value * b.value, a.rate * b.value + a.value * b.rate};
}
template <class R>
PERGOLA_HD Dual<R> operator/(Dual<R> a, Dual<R> b) {
  const R quotient = a.value / b.value;
  return {quotient, (a.rate - quotient * b.rate) / b.value};
}
template <class R>
PERGOLA_HD bool operator>(Dual<R> a, Dual<R> b) {
  return a.value > b.value;
}
template <class R>
PERGOLA_HD Dual<R> sqrt(Dual<R> a) {
  const R root = std::sqrt(a.value);
  return {root, a.rate / (R(2) * root)};
}
template <class R>
PERGOLA_HD Dual<R> log1p(Dual<R> a) {
  return {std::log1p(a.value), a.rate / (R(1) + a.value)};
}

}  // namespace pergola::physics
