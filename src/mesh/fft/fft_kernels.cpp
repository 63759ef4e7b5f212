// Two loops of the FFT on the CPU that FFTW does not do, compiled once per instruction set: the butterfly between a
// line of complex numbers and its mirror image, which makes a real transform of length 2n from a complex one of length
// n, and the product of modes with an even factor. Complex numbers alternate real and imaginary parts in a vector.
#include "mesh/fft/poisson_lines.hpp"

#include "device/simd_targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "mesh/fft/fft_kernels.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h:
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace pergola::fft::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

/// A vector of complex numbers, real and imaginary parts in turn.
template <class Real>
struct ComplexVector {
  using Tag = hn::ScalableTag<Real>;
  using Vector = hn::Vec<Tag>;
  static constexpr int size = static_cast<int>(hn::MaxLanes(Tag())) / 2;  // 0 where a vector is a single number

  static HWY_INLINE Vector load(const std::complex<Real>* from) {
    return hn::LoadU(Tag(), reinterpret_cast<const Real*>(from));
  }
  static HWY_INLINE void store(Vector value, std::complex<Real>* to) {
    hn::StoreU(value, Tag(), reinterpret_cast<Real*>(to));
  }
  static HWY_INLINE Vector swap_parts(Vector value) { return hn::Reverse2(Tag(), value); }
  /// The numbers in reverse order.
  static HWY_INLINE Vector reversed(Vector value) { return swap_parts(hn::Reverse(Tag(), value)); }
  static HWY_INLINE Vector conjugate(Vector value) {
    const Vector sign = hn::OddEven(hn::Set(Tag(), Real(-0.0)), hn::Zero(Tag()));
    return hn::Xor(value, sign);
  }
};

/// Elements k and half - k at once: both need each other. The middle may be done twice, from `in` to `out`, so that it
/// gets the same number.
template <class Real>
HWY_INLINE void butterfly_vectors(int half, Real scale, const TwiddleLine<Real>& twiddle, const std::complex<Real>* in,
                                  std::complex<Real>* out) {
  using V = ComplexVector<Real>;
  const typename V::Tag tag;
  const auto factor = hn::Set(tag, scale);
  for (int k = 1; k <= half / 2; k += V::size) {
    const int first = k + V::size - 1 <= half / 2 ? k : half / 2 - V::size + 1;  // the last ones are done twice
    const int mirror = half - first - V::size + 1;
    const auto a = V::load(in + first), b = V::conjugate(V::reversed(V::load(in + mirror)));
    const auto e = hn::Mul(factor, hn::Add(a, b)), d = hn::Sub(a, b);
    const auto t = hn::MulAdd(d, hn::LoadU(tag, twiddle.real + 2 * first),
                              hn::Mul(V::swap_parts(d), hn::LoadU(tag, twiddle.imaginary + 2 * first)));
    V::store(hn::Add(e, t), out + first);
    V::store(V::reversed(V::conjugate(hn::Sub(e, t))), out + mirror);
  }
}

/// The same by single numbers where a line is shorter than a vector.
template <class Real>
HWY_INLINE void butterfly(int half, Real scale, const TwiddleLine<Real>& twiddle, const std::complex<Real>* in,
                          std::complex<Real>* out) {
  constexpr int size = ComplexVector<Real>::size;
  if (size > 0 && half / 2 >= size) return butterfly_vectors(half, scale, twiddle, in, out);
  for (int k = 1; k <= half / 2; ++k) {
    const std::complex<Real> a = in[k], b = std::conj(in[half - k]);
    const std::complex<Real> e = scale * (a + b), d = a - b;
    const Real tr = twiddle.real[2 * k], ti = twiddle.imaginary[2 * k + 1];
    const std::complex<Real> t(tr * d.real() - ti * d.imag(), tr * d.imag() + ti * d.real());
    out[k] = e + t;
    out[half - k] = std::conj(e - t);
  }
}

/// Multiplies both halves of a line, each of `half` numbers: the first with green_0 …, the second with green_half
/// backwards. Returns how many of each are done.
template <class Real>
HWY_INLINE int multiply_vectors(int half, Real scale, const Real* green, std::complex<Real>* line) {
  using V = ComplexVector<Real>;
  const typename V::Tag tag;
  constexpr int lanes = 2 * V::size;
  using Index = hwy::MakeSigned<Real>;
  HWY_ALIGN Index order[4][lanes];  // which of `lanes` factors go to the first and the second vector of numbers
  for (int i = 0; i < lanes; ++i) {
    order[0][i] = static_cast<Index>(i / 2);
    order[1][i] = static_cast<Index>(V::size + i / 2);
    order[2][i] = static_cast<Index>(lanes - 1 - i / 2);
    order[3][i] = static_cast<Index>(V::size - 1 - i / 2);
  }
  const auto low = hn::SetTableIndices(tag, order[0]), high = hn::SetTableIndices(tag, order[1]);
  const auto back_low = hn::SetTableIndices(tag, order[2]), back_high = hn::SetTableIndices(tag, order[3]);
  const auto factor = hn::Set(tag, scale);
  const int whole = half / lanes * lanes;
  for (int k = 0; k < whole; k += lanes) {
    const auto g = hn::Mul(factor, hn::LoadU(tag, green + k));
    V::store(hn::Mul(V::load(line + k), hn::TableLookupLanes(g, low)), line + k);
    V::store(hn::Mul(V::load(line + k + V::size), hn::TableLookupLanes(g, high)), line + k + V::size);
  }
  for (int k = 0; k < whole; k += lanes) {
    const auto g = hn::Mul(factor, hn::LoadU(tag, green + half - k - lanes + 1));
    std::complex<Real>* upper = line + half + k;
    V::store(hn::Mul(V::load(upper), hn::TableLookupLanes(g, back_low)), upper);
    V::store(hn::Mul(V::load(upper + V::size), hn::TableLookupLanes(g, back_high)), upper + V::size);
  }
  return whole;
}

/// A line of n modes times scale × green, where green has n / 2 + 1 numbers, as it is even.
template <class Real>
HWY_INLINE void multiply_line(int n, Real scale, const Real* green, std::complex<Real>* line) {
  const int half = n / 2;
  int done = 0;
  if constexpr (ComplexVector<Real>::size > 0) done = multiply_vectors(half, scale, green, line);
  for (int k = done; k < half; ++k) {
    line[k] *= scale * green[k];
    line[half + k] *= scale * green[half - k];
  }
}

void butterfly_float(int half, float scale, const TwiddleLine<float>& twiddle, const std::complex<float>* in,
                     std::complex<float>* out) {
  butterfly(half, scale, twiddle, in, out);
}
void butterfly_double(int half, double scale, const TwiddleLine<double>& twiddle, const std::complex<double>* in,
                      std::complex<double>* out) {
  butterfly(half, scale, twiddle, in, out);
}
void multiply_float(int n, float scale, const float* green, std::complex<float>* line) {
  multiply_line(n, scale, green, line);
}
void multiply_double(int n, double scale, const double* green, std::complex<double>* line) {
  multiply_line(n, scale, green, line);
}

}  // namespace pergola::fft::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace pergola {
namespace fft {

HWY_EXPORT(butterfly_float);
HWY_EXPORT(butterfly_double);
HWY_EXPORT(multiply_float);
HWY_EXPORT(multiply_double);

}  // namespace fft

using namespace fft;

template <>
void mirror_butterfly(int half, float scale, const TwiddleLine<float>& twiddle, const std::complex<float>* in,
                      std::complex<float>* out) {
  HWY_DYNAMIC_DISPATCH(butterfly_float)(half, scale, twiddle, in, out);
}
template <>
void mirror_butterfly(int half, double scale, const TwiddleLine<double>& twiddle, const std::complex<double>* in,
                      std::complex<double>* out) {
  HWY_DYNAMIC_DISPATCH(butterfly_double)(half, scale, twiddle, in, out);
}
template <>
void multiply_even(int n, float scale, const float* green, std::complex<float>* line) {
  HWY_DYNAMIC_DISPATCH(multiply_float)(n, scale, green, line);
}
template <>
void multiply_even(int n, double scale, const double* green, std::complex<double>* line) {
  HWY_DYNAMIC_DISPATCH(multiply_double)(n, scale, green, line);
}

}  // namespace pergola
#endif
