#pragma once
// CUDA only: the transforms of a plasma's field, whole or in layers and columns.
#include <algorithm>
#include <cstdint>

#include "device/buffer.hpp"
#include "mesh/fft/cufft_plan.cuh"
#include "plasma/options.hpp"

namespace pergola::cuda {

/// Layers of a field, rows in two dimensions and planes in three, to their modes and back. cuFFT chooses its kernels,
/// and with them the last bits, by the number of transforms: from about 2²⁰ values on it takes those that it takes for
/// a whole field (H200, CUDA 13). So plans are for about 2²¹ values, or the field, whatever the number of layers, and
/// memory is for whole batches.
template <class Real>
class LayerTransforms {
 public:
  using Complex = typename Cufft<Real>::Complex;

  LayerTransforms(Stream stream, const PlasmaOptions& options)
      : modes_((options.cells[0] / 2 + 1) * (options.dimensions == 3 ? std::int64_t{options.cells[1]} : 1)) {
    const long long nx = options.cells[0], ny = options.cells[1], kx = nx / 2 + 1;
    const bool planes = options.dimensions == 3;
    const std::int64_t cells = planes ? nx * ny : nx, layers = planes ? options.cells[2] : ny;
    batch_ = std::min(layers, ((std::int64_t{1} << 21) + cells - 1) / cells);
    const long long length[2] = {planes ? ny : nx, nx};
    const CufftLayout real{{planes ? ny : 2 * kx, 2 * kx}, 1, 2 * modes_}, modes{{planes ? ny : kx, kx}, 1, modes_};
    forward_ = CufftPlan(stream, planes ? 2 : 1, length, real, modes, Cufft<Real>::real_to_complex, batch_);
    backward_ = CufftPlan(stream, planes ? 2 : 1, length, modes, real, Cufft<Real>::complex_to_real, batch_);
  }

  /// Modes of a layer, and those that the memory of so many layers has.
  std::int64_t modes() const { return modes_; }
  std::int64_t memory(std::int64_t layers) const { return whole(layers) * modes_; }
  std::size_t work_bytes() const { return std::max(forward_.work_bytes(), backward_.work_bytes()); }

  void forward(Real* from, Complex* to, std::int64_t layers, void* work) const {
    const cufftHandle plan = forward_.with_work(work);
    for (std::int64_t first = 0; first < whole(layers); first += batch_)
      check(Cufft<Real>::forward(plan, from + 2 * first * modes_, to + first * modes_), "cufftExecR2C");
  }
  /// In place.
  void backward(Complex* values, std::int64_t layers, void* work) const {
    const cufftHandle plan = backward_.with_work(work);
    for (std::int64_t first = 0; first < whole(layers); first += batch_)
      check(Cufft<Real>::backward(plan, values + first * modes_, reinterpret_cast<Real*>(values + first * modes_)),
            "cufftExecC2R");
  }

 private:
  std::int64_t whole(std::int64_t layers) const { return (layers + batch_ - 1) / batch_ * batch_; }

  std::int64_t modes_, batch_ = 1;
  CufftPlan forward_, backward_;
};

/// Any numbers between −1/2 and 1/2.
template <class Real>
struct FillWithNoise {
  Real* values;
  __device__ void operator()(std::int64_t k) const {
    auto mixed = static_cast<std::uint64_t>(k) * 0x9e3779b97f4a7c15u;
    mixed = (mixed ^ (mixed >> 32)) * 0xd6e8feb86659fd93u;
    values[k] = static_cast<Real>(static_cast<double>(mixed >> 40) * 0x1p-24 - 0.5);
  }
};

/// Counts values of rows that differ; those are `length` long, with padding `pitch`.
template <class Real>
struct CountDifferent {
  const Real *one, *other;
  std::int64_t pitch, length;
  unsigned long long* count;
  __device__ void operator()(std::int64_t k) const {
    if (k % pitch < length && one[k] != other[k]) atomicAdd(count, 1ull);
  }
};

/// The transforms of a field that is on one device: by plans of the whole field where these have the bits of layers and
/// columns, by which ranks that share a field out transform it, and else by those. Each is tried on noise.
template <class Real>
class FieldTransforms {
 public:
  using Complex = typename Cufft<Real>::Complex;

  FieldTransforms(const Device& device, const PlasmaOptions& options)
      : device_(device),
        components_(options.dimensions),
        cells_x_(options.cells[0]),
        number_(options.cells[static_cast<std::size_t>(options.dimensions - 1)]),
        layers_(device.stream(), options) {
    const long long nx = cells_x_ / 2 + 1, lines = layers_.modes();
    const long long length[3] = {options.cells[2], options.cells[1], cells_x_};
    CufftLayout real{{length[0], length[1], 2 * nx}, 1, 2 * modes()},
        modes_layout{{length[0], length[1], nx}, 1, modes()};
    if (components_ == 2) real = {{length[1], 2 * nx}, 1, 2 * modes()}, modes_layout = {{length[1], nx}, 1, modes()};
    const long long* const first = length + (3 - components_);
    const long long column[1] = {number_};
    const Stream stream = device_.stream();
    forward_ = CufftPlan(stream, components_, first, real, modes_layout, Cufft<Real>::real_to_complex, 1);
    backward_ = CufftPlan(stream, components_, first, modes_layout, real, Cufft<Real>::complex_to_real, components_);
    backward_one_ = CufftPlan(stream, components_, first, modes_layout, real, Cufft<Real>::complex_to_real, 1);
    columns_ = CufftPlan(stream, 1, column, {{number_}, lines, 1}, {{number_}, lines, 1},
                         Cufft<Real>::complex_to_complex, lines);
    std::size_t bytes = layers_.work_bytes();
    for (const auto* plan : {&forward_, &backward_, &backward_one_, &columns_})
      bytes = std::max(bytes, plan->work_bytes());
    work_ = Buffer<std::byte>(device_, static_cast<std::int64_t>(bytes));
    choose();
  }

  /// That the memory of a field has.
  std::int64_t modes() const { return layers_.memory(number_); }
  std::int64_t bytes() const { return static_cast<std::int64_t>(work_.bytes()); }

  void forward(Real* density, Complex* modes) const {
    if (!whole_forward_) {
      layers_.forward(density, modes, number_, work());
      return columns(modes, CUFFT_FORWARD);
    }
    check(Cufft<Real>::forward(forward_.with_work(work()), density, modes), "cufftExecR2C");
  }
  /// In place: all components, or one field.
  void backward(Complex* fields, bool all) const {
    if (all ? whole_backward_ : whole_backward_one_) {
      const CufftPlan& plan = all ? backward_ : backward_one_;
      return check(Cufft<Real>::backward(plan.with_work(work()), fields, reinterpret_cast<Real*>(fields)),
                   "cufftExecC2R");
    }
    for (int a = 0; a < (all ? components_ : 1); ++a) {
      columns(fields + a * modes(), CUFFT_INVERSE);
      layers_.backward(fields + a * modes(), number_, work());
    }
  }

 private:
  void* work() const { return work_.size() > 0 ? const_cast<std::byte*>(work_.data()) : nullptr; }
  void columns(Complex* values, int direction) const {
    check(Cufft<Real>::lines(columns_.with_work(work()), values, values, direction), "cufftExecC2C");
  }

  bool same(const Complex* one, const Complex* other, bool are_modes) const {
    const std::int64_t pitch = 2 * (cells_x_ / 2 + 1);
    Buffer<unsigned long long> count(device_, 1);
    count.zero();
    launch("compare fields", 2 * number_ * layers_.modes(), device_.stream(),
           CountDifferent<Real>{reinterpret_cast<const Real*>(one), reinterpret_cast<const Real*>(other), pitch,
                                are_modes ? pitch : cells_x_, count.data()});
    return count.to_host()[0] == 0;
  }
  void choose() {
    Buffer<Complex> noise(device_, modes()), one(device_, modes()), all(device_, components_ * modes());
    const auto copy = [&](Complex* to, const Complex* from) {
      device_.memory().copy(to, from, static_cast<std::size_t>(modes()) * sizeof(Complex));
    };
    Real* const density = reinterpret_cast<Real*>(noise.data());
    one.zero(), all.zero();
    launch("noise", 2 * modes(), device_.stream(), FillWithNoise<Real>{density});
    whole_forward_ = true, forward(density, one.data());
    whole_forward_ = false, forward(density, all.data());
    whole_forward_ = same(one.data(), all.data(), true);
    copy(noise.data(), all.data());  // modes of a field from here on
    whole_backward_one_ = true;
    copy(one.data(), noise.data()), backward(one.data(), false);
    whole_backward_one_ = false;
    copy(all.data(), noise.data()), backward(all.data(), false);
    whole_backward_one_ = same(one.data(), all.data(), false);
    copy(one.data(), all.data());  // by layers and columns
    for (int a = 0; a < components_; ++a) copy(all.data() + a * modes(), noise.data());
    whole_backward_ = true, backward(all.data(), true);
    for (int a = 0; a < components_ && whole_backward_; ++a)
      whole_backward_ = same(one.data(), all.data() + a * modes(), false);
  }

  Device device_;
  int components_, cells_x_;
  long long number_;  // of layers
  LayerTransforms<Real> layers_;
  CufftPlan forward_, backward_, backward_one_, columns_;
  Buffer<std::byte> work_;
  bool whole_forward_ = false, whole_backward_ = false, whole_backward_one_ = false;
};

}  // namespace pergola::cuda
