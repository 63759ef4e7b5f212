#pragma once
#include <fftw3.h>

#include <cstdint>
#include <mutex>
#include <utility>

namespace pergola {

/// FFTW's planner keeps tables of its own and must not be called by two threads at once.
inline std::mutex& fftw_planner_mutex() {
  static std::mutex mutex;
  return mutex;
}

/// The names of FFTW's functions for a number type.
template <class Real>
struct Fftw;

template <>
struct Fftw<float> {
  using Complex = fftwf_complex;
  using Plan = fftwf_plan;
  static constexpr auto plan_many = fftwf_plan_many_dft;
  static constexpr auto execute = fftwf_execute_dft;
  static constexpr auto destroy = fftwf_destroy_plan;
};

template <>
struct Fftw<double> {
  using Complex = fftw_complex;
  using Plan = fftw_plan;
  static constexpr auto plan_many = fftw_plan_many_dft;
  static constexpr auto execute = fftw_execute_dft;
  static constexpr auto destroy = fftw_destroy_plan;
};

/// Where the values of a batch of lines stand: value i of line l at [l * line + i * value].
struct LineLayout {
  std::int64_t value = 1;
  std::int64_t line = 0;
};

/// A batch of complex transforms of one length from one array to another: a plan of one thread that any thread may
/// execute. FFTW_ESTIMATE, for measured plans differ from run to run and with them the last bits. Arrays start at
/// multiples of 16 bytes.
template <class Real>
class FftwLines {
 public:
  using Complex = typename Fftw<Real>::Complex;

  FftwLines() = default;
  FftwLines(int length, int lines, LineLayout from, LineLayout to, int sign) {
    if (lines == 0) return;
    alignas(64) Complex in[1], out[1];  // only their alignment is looked at
    const std::lock_guard lock(fftw_planner_mutex());
    plan_ =
        Fftw<Real>::plan_many(1, &length, lines, in, nullptr, static_cast<int>(from.value), static_cast<int>(from.line),
                              out, nullptr, static_cast<int>(to.value), static_cast<int>(to.line), sign, FFTW_ESTIMATE);
  }
  FftwLines(FftwLines&& other) noexcept { std::swap(plan_, other.plan_); }
  FftwLines& operator=(FftwLines&& other) noexcept {
    std::swap(plan_, other.plan_);
    return *this;
  }
  ~FftwLines() {
    if (!plan_) return;
    const std::lock_guard lock(fftw_planner_mutex());
    Fftw<Real>::destroy(plan_);
  }

  void execute(const Complex* from, Complex* to) const {
    Fftw<Real>::execute(plan_, const_cast<Complex*>(from), to);  // out of place: keeps its input
  }

 private:
  typename Fftw<Real>::Plan plan_ = nullptr;
};

/// Lines in batches of a fixed size and a last one with the rest.
template <class Real>
class BatchedLines {
 public:
  BatchedLines() = default;
  BatchedLines(int length, std::int64_t lines, int batch, LineLayout from, LineLayout to, int sign)
      : batch_(batch),
        full_(length, batch, from, to, sign),
        rest_(length, static_cast<int>(lines % batch), from, to, sign) {}
  const FftwLines<Real>& plan(std::int64_t lines) const { return lines == batch_ ? full_ : rest_; }

 private:
  int batch_ = 1;
  FftwLines<Real> full_, rest_;
};

}  // namespace pergola
