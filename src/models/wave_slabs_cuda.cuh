#pragma once
// CUDA only: real values on a cube and their waves, which ranks share out.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "comm/communicator.hpp"
#include "device/buffer.hpp"
#include "domain/device_messages.hpp"
#include "mesh/fft/cufft_plan.cuh"
#include "mesh/fft/transposition_cuda.cuh"

namespace pergola::cuda {

/// The waves of half a space that a rank has: columns along kz, each of one kx and ky, kx fastest.
struct WaveColumns {
  int side = 0;
  std::int64_t first = 0, count = 0;  // columns of this rank
  ColumnLayout layout;

  __host__ __device__ int row_waves() const { return side / 2 + 1; }
  /// Values in memory, with what fills the last block.
  std::int64_t size() const { return (count + layout.width - 1) / layout.width * layout.width * side; }
  /// What stands at a place in memory.
  struct Place {
    std::int64_t column;  // of this rank
    int z;
  };
  __device__ Place place(std::int64_t index) const {
    const std::int64_t row = index / layout.width;
    return {row / side * layout.width + index % layout.width, static_cast<int>(row % side)};
  }
};

/// side³ real values, not normalised sums of waves, between waves in columns and values in slabs of planes
/// (mesh/slab_planes.hpp), whose rows have room for the waves of a row; one rank has one slab. A plan is always for the
/// same number of planes or lines, in memory of the same layout, for cuFFT chooses its kernels, and with them the last
/// bits, by these: bits do not depend on the number of ranks. Values come some planes at a time, so that there is no
/// second field beside that of the waves. Calls about values are of all ranks.
class WaveSlabs {
 public:
  using Complex = Cufft<double>::Complex;

  WaveSlabs(const Device& device, const std::shared_ptr<Communicator>& ranks, int side)
      : device_(device),
        side_(side),
        plane_(std::int64_t{side / 2 + 1} * side),
        batch_(static_cast<int>(std::min<std::int64_t>((plane_values + plane_ - 1) / plane_, side))),
        messages_(make_device_messages(device, ranks)),
        slabs_(messages_, ranks, side, 1, plane_, line_unit) {}

  const SlabPlanes& planes() const { return slabs_.planes(); }
  WaveColumns columns() const { return {side_, slabs_.first_column(), slabs_.columns(), {line_batch, side_}}; }
  /// Complex numbers of a plane, and of a field that is either waves or values.
  std::int64_t plane_size() const { return plane_; }
  std::int64_t field_size() const { return std::max(columns().size(), plane_ * planes().count()); }
  DeviceMessages& messages() { return *messages_; }

  /// To be done first; not of all ranks together.
  void make_plans() {
    device_.make_current();
    const long long plane[2] = {side_, side_}, line[1] = {side_};
    const long long row = side_ / 2 + 1;
    const CufftLayout values{{side_, 2 * row}, 1, 2 * plane_}, waves{{side_, row}, 1, plane_};
    const CufftLayout lines{{side_}, line_batch, 1};
    const Stream stream = device_.stream();
    back_ = CufftPlan(stream, 2, plane, waves, values, Cufft<double>::complex_to_real, batch_);
    forth_ = CufftPlan(stream, 2, plane, values, waves, Cufft<double>::real_to_complex, batch_);
    lines_ = CufftPlan(stream, 1, line, lines, lines, Cufft<double>::complex_to_complex, line_batch);
    for (const auto* plan : {&back_, &forth_, &lines_})
      work_bytes_ = std::max(work_bytes_, static_cast<std::int64_t>(plan->work_bytes()));
  }
  /// Bytes of device memory beside the fields; `other_messages`: the most bytes that other ranks send with messages().
  std::int64_t bytes(std::int64_t other_messages) const {
    return batch_ * plane_ * static_cast<std::int64_t>(sizeof(Complex)) + work_bytes_ +
           messages_->bytes(std::max(slabs_.message_bytes(), other_messages));
  }
  void take_memory() {
    some_ = Buffer<Complex>(device_, batch_ * plane_);
    some_.zero();
    work_ = Buffer<std::byte>(device_, work_bytes_);
  }

  /// body(first, count, values) for planes [first, first + count) of this rank's, a few after the other; `values` is
  /// good until it returns, for what it has queued. Nothing is left of the waves.
  template <class Body>
  void to_values(Complex* waves, const Body& body) {
    transform_lines(waves, CUFFT_INVERSE);
    const cufftHandle plan = back_.with_work(work());
    for (int first = 0; first < slabs_.most_planes(); first += batch_) {
      slabs_.some_to_planes(waves, columns().layout, first, batch_, some_.data());
      const int count = std::min(batch_, planes().count() - first);
      if (count <= 0) continue;
      double* const values = reinterpret_cast<double*>(some_.data());
      check(Cufft<double>::backward(plan, some_.data(), values), "cufftExecZ2D");
      body(first, count, values);
    }
  }

  /// The waves of all values of this rank's planes, which are lost, into other memory.
  void to_waves(Complex* values, Complex* waves) {
    const cufftHandle plan = forth_.with_work(work());
    for (int first = 0; first < planes().count(); first += batch_) {
      const int count = std::min(batch_, planes().count() - first);
      Complex* const here = values + first * plane_;
      const auto bytes = static_cast<std::size_t>(count * plane_) * sizeof(Complex);
      device_.memory().copy(some_.data(), here, bytes);
      check(Cufft<double>::forward(plan, reinterpret_cast<double*>(some_.data()), some_.data()), "cufftExecD2Z");
      device_.memory().copy(here, some_.data(), bytes);
    }
    slabs_.to_columns(values, waves, columns().layout);
    transform_lines(waves, CUFFT_FORWARD);
  }

 private:
  static constexpr std::int64_t plane_values = std::int64_t{1} << 20;  // complex ones that planes of a plan have
  static constexpr int line_batch = 1024;                              // lines along z of a plan
  static constexpr int line_unit = 64;                                 // lines that are dealt out together

  void transform_lines(Complex* waves, int direction) {
    const cufftHandle plan = lines_.with_work(work());
    for (std::int64_t first = 0; first < slabs_.columns(); first += line_batch) {
      Complex* const block = waves + first * side_;
      check(Cufft<double>::lines(plan, block, block, direction), "cufftExecZ2Z");
    }
  }
  void* work() { return work_bytes_ > 0 ? work_.data() : nullptr; }

  Device device_;
  int side_;
  std::int64_t plane_;
  int batch_;  // planes of a plan
  std::shared_ptr<DeviceMessages> messages_;
  DeviceTransposition<Complex> slabs_;
  CufftPlan back_, forth_, lines_;
  std::int64_t work_bytes_ = 0;
  Buffer<Complex> some_;  // planes of a plan
  Buffer<std::byte> work_;
};

}  // namespace pergola::cuda
