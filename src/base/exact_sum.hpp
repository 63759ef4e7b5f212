#pragma once
#include <cmath>
#include <cstdint>
#include <cstring>

#include "base/host_device.hpp"

namespace pergola {

/// The sum of finite doubles without any rounding, as one wide whole number of 2^-1074: it does not depend on their
/// order, nor on how they are shared out. Limbs of 32 bits lie in words of 64, so that many numbers are added before
/// carries are needed (Kulisch 2011, Comput. Arithmetic and Validity, chapter 8; Neal 2015, arXiv:1505.05571).
class ExactSum {
 public:
  static constexpr int limbs = 68;
  using Limbs = std::int64_t[limbs];

  ExactSum() = default;
  /// Of limbs that were summed elsewhere.
  explicit ExactSum(const Limbs& summed) {
    for (int k = 0; k < limbs; ++k) limb_[k] = summed[k];
    tidy();
  }

  /// What a number adds to the limbs first, first + 1 and first + 2; below 2^32 each.
  struct Part {
    int first;
    std::int64_t value[3];
  };
  PERGOLA_HD static Part part(double number) {
    std::uint64_t bits;
    std::memcpy(&bits, &number, sizeof bits);
    const int exponent = static_cast<int>(bits >> 52 & 0x7ff);
    std::uint64_t digits = bits & 0xfffffffffffffULL;
    if (exponent > 0) digits |= 1ULL << 52;
    const int place = exponent > 0 ? exponent - 1 : 0, shift = place % 32;
    const auto low = static_cast<std::int64_t>(digits << shift & 0xffffffffULL);
    const auto middle = static_cast<std::int64_t>(digits >> (32 - shift) & 0xffffffffULL);
    const auto high = static_cast<std::int64_t>(shift > 0 ? digits >> (64 - shift) : 0);
    return bits >> 63 ? Part{place / 32, {-low, -middle, -high}} : Part{place / 32, {low, middle, high}};
  }

  PERGOLA_HD void add(double number) {
    const Part p = part(number);
    for (int k = 0; k < 3; ++k) limb_[p.first + k] += p.value[k];
    if (++pending_ == most_pending) tidy();
  }
  PERGOLA_HD void add(const ExactSum& other) {
    Limbs more;
    for (int k = 0; k < limbs; ++k) more[k] = other.limb_[k];
    carry(more), tidy();
    for (int k = 0; k < limbs; ++k) limb_[k] += more[k];
    pending_ = 1;
  }
  /// The nearest double.
  PERGOLA_HD double value() const {
    Limbs copy;
    for (int k = 0; k < limbs; ++k) copy[k] = limb_[k];
    return value(copy);
  }
  /// Of limbs that were summed elsewhere; they are overwritten.
  PERGOLA_HD static double value(Limbs& limb) {
    carry(limb);
    const bool negative = limb[limbs - 1] < 0;
    if (negative) {
      for (auto& part : limb) part = -part;
      carry(limb);
    }
    int top = limbs - 1;
    while (top > 0 && limb[top] == 0) --top;
    if (limb[top] == 0) return 0;
    const auto at = [&](int k) { return k < 0 ? std::uint64_t{0} : static_cast<std::uint64_t>(limb[k]); };
    int length = 1;
    while (at(top) >> length != 0) ++length;
    // 64 digits from the first one on; the last one is set where others follow, so that ties are none.
    std::uint64_t digits = at(top) << (64 - length) | at(top - 1) << (32 - length) | at(top - 2) >> length;
    bool more = (at(top - 2) & ((1ULL << length) - 1)) != 0;
    for (int k = top - 3; k >= 0 && !more; --k) more = limb[k] != 0;
    if (more) digits |= 1;
    const double size = std::ldexp(static_cast<double>(digits), 32 * top + length - 64 - 1074);
    return negative ? -size : size;
  }

 private:
  static constexpr std::int64_t most_pending = 1 << 30;

  /// All limbs but the last to 0 … 2^32 − 1.
  PERGOLA_HD static void carry(Limbs& limb) {
    for (int k = 0; k + 1 < limbs; ++k) {
      limb[k + 1] += limb[k] >> 32;
      limb[k] &= 0xffffffffLL;
    }
  }
  PERGOLA_HD void tidy() {
    carry(limb_);
    pending_ = 1;
  }

  Limbs limb_ = {};
  std::int64_t pending_ = 0;
};

}  // namespace pergola
