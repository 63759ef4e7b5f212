#pragma once
// CUDA only: cuFFT plans that own themselves, check every call and use memory of the caller.
#include <cufft.h>

#include <string>
#include <utility>

#include "base/error.hpp"
#include "device/launch.cuh"

namespace pergola::cuda {

inline void check(cufftResult status, const char* call) {
  if (status != CUFFT_SUCCESS)
    throw Error(ErrorKind::device, std::string("cuda: ") + call + " failed with status " + std::to_string(status));
}

/// The names of cuFFT's types and functions for a number type.
template <class Real>
struct Cufft;

template <>
struct Cufft<float> {
  using Complex = cufftComplex;
  static constexpr cufftType real_to_complex = CUFFT_R2C, complex_to_real = CUFFT_C2R, complex_to_complex = CUFFT_C2C;
  static constexpr auto forward = cufftExecR2C;
  static constexpr auto backward = cufftExecC2R;
  static constexpr auto lines = cufftExecC2C;
};

template <>
struct Cufft<double> {
  using Complex = cufftDoubleComplex;
  static constexpr cufftType real_to_complex = CUFFT_D2Z, complex_to_real = CUFFT_Z2D, complex_to_complex = CUFFT_Z2Z;
  static constexpr auto forward = cufftExecD2Z;
  static constexpr auto backward = cufftExecZ2D;
  static constexpr auto lines = cufftExecZ2Z;
};

/// How the values of a batch stand in memory: cuFFT's advanced data layout. An axis has `embed` places, the first axis
/// is the slowest.
struct CufftLayout {
  long long embed[3];
  long long stride, distance;
};

/// A plan of at most three axes, in place, without memory of its own.
class CufftPlan {
 public:
  CufftPlan() = default;
  CufftPlan(Stream stream, int rank, const long long* length, CufftLayout from, CufftLayout to, cufftType type,
            long long batch) {
    check(cufftCreate(&plan_), "cufftCreate");
    made_ = true;
    check(cufftSetAutoAllocation(plan_, 0), "cufftSetAutoAllocation");
    check(cufftMakePlanMany64(plan_, rank, const_cast<long long*>(length), from.embed, from.stride, from.distance,
                              to.embed, to.stride, to.distance, type, batch, &work_bytes_),
          "cufftMakePlanMany64");
    check(cufftSetStream(plan_, handle(stream)), "cufftSetStream");
  }
  CufftPlan(CufftPlan&& other) noexcept { swap(other); }
  CufftPlan& operator=(CufftPlan&& other) noexcept {
    swap(other);
    return *this;
  }
  ~CufftPlan() {
    if (made_) cufftDestroy(plan_);
  }

  std::size_t work_bytes() const { return work_bytes_; }
  cufftHandle with_work(void* work) const {
    check(cufftSetWorkArea(plan_, work), "cufftSetWorkArea");
    return plan_;
  }

 private:
  void swap(CufftPlan& other) noexcept {
    std::swap(plan_, other.plan_);
    std::swap(made_, other.made_);
    std::swap(work_bytes_, other.work_bytes_);
  }

  cufftHandle plan_ = 0;
  bool made_ = false;
  std::size_t work_bytes_ = 0;
};

}  // namespace pergola::cuda
