#pragma once
#include <cstdint>
#include <limits>
#include <mutex>

#include "base/exact_sum.hpp"
#include "device/parallel.hpp"

namespace pergola {

/// A few numbers that are summed together.
template <int count>
struct Terms {
  double value[count] = {};
};

/// Their sums, without any rounding. They do not depend on the order of the terms, nor on the thread, rank or device
/// that adds them.
template <int count>
class ExactTerms {
 public:
  void add(const Terms<count>& terms) {
    for (int k = 0; k < count; ++k) {
      if (terms.value[k] - terms.value[k] == 0)
        sum_[k].add(terms.value[k]);
      else
        not_finite_ |= 1u << k;
    }
  }
  void add(const ExactTerms& other) {
    for (int k = 0; k < count; ++k) sum_[k].add(other.sum_[k]);
    not_finite_ |= other.not_finite_;
  }
  /// Adds limbs that a GPU has summed, and its note of terms that were not finite.
  void add(const ExactSum::Limbs (&limbs)[count], std::uint64_t not_finite) {
    for (int k = 0; k < count; ++k) sum_[k].add(ExactSum(limbs[k]));
    not_finite_ |= not_finite;
  }
  /// The nearest double; NaN if a term was not finite.
  double value(int k) const {
    return not_finite_ >> k & 1u ? std::numeric_limits<double>::quiet_NaN() : sum_[k].value();
  }

 private:
  static_assert(count <= 64);
  ExactSum sum_[count];
  std::uint64_t not_finite_ = 0;
};

/// Adds body(i), which is Terms<Body::count>, for i = 0 … n − 1 on the CPU. device/exact_terms.cuh does it on CUDA.
template <class Body>
void add_exactly(int threads, std::int64_t n, const Body& body, ExactTerms<Body::count>& total) {
  constexpr std::int64_t chunk = 8192;
  std::mutex mutex;
  parallel_chunks(threads, n, chunk, [&](std::int64_t begin, std::int64_t end) {
    ExactTerms<Body::count> own;
    for (std::int64_t i = begin; i < end; ++i) own.add(body(i));
    const std::lock_guard lock(mutex);
    total.add(own);
  });
}

}  // namespace pergola
