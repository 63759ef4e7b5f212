#include <fmt/core.h>

#include <algorithm>
#include <numbers>
#include <utility>
#include <vector>

#include "base/text.hpp"
#include "device/buffer.hpp"
#include "device/launch.cuh"
#include "mesh/fft/cufft_plan.cuh"
#include "models/displaced_lattice.hpp"
#include "particles/box.hpp"
#include "particles/particles.hpp"
#include "physics/green.hpp"
#include "physics/lagrangian.hpp"

namespace pergola {

namespace {

using Complex = cuda::Cufft<double>::Complex;

/// A cube of places, whose rows are padded for transforms in place, and of the waves of half a space, [kz][ky][kx].
struct CubeShape {
  int side;
  __host__ __device__ int wave_columns() const { return side / 2 + 1; }
  __host__ __device__ std::int64_t pitch() const { return 2 * std::int64_t{wave_columns()}; }
  std::int64_t waves() const { return std::int64_t{wave_columns()} * side * side; }
  std::int64_t places() const { return std::int64_t{side} * side * side; }
  /// Where the value of place i stands.
  __device__ std::int64_t at(std::int64_t i) const {
    const std::int64_t row = i / side;
    return row * pitch() + (i - row * side);
  }
};

/// The wave vector of a place in memory, in waves per box, and whether there is a wave: not for the mean and where an
/// axis has its Nyquist wave number.
struct WaveVector {
  int k[3];
  bool none;
  double square;

  __device__ WaveVector(const CubeShape& cube, std::int64_t index) {
    const std::int64_t row = index / cube.wave_columns();
    const int n = cube.side, i[3] = {static_cast<int>(index - row * cube.wave_columns()), static_cast<int>(row % n),
                                     static_cast<int>(row / n)};
    none = true;
    for (int a = 0; a < 3; ++a) k[a] = i[a] <= n / 2 ? i[a] : i[a] - n, none = none && k[a] == 0;
    for (int a = 0; a < 3; ++a) none = none || 2 * k[a] == n;
    square = double(k[0]) * k[0] + double(k[1]) * k[1] + double(k[2]) * k[2];
  }
};

/// φ1,ij.
struct FillTide {
  CubeShape cube;
  DrawnWaves delta;
  int i, j;
  Complex* to;
  __device__ void operator()(std::int64_t index) const {
    const WaveVector w(cube, index);
    if (w.none) {
      to[index] = {0, 0};
      return;
    }
    const DrawnWave wave = delta(w.k[0], w.k[1], w.k[2]);
    const double factor = physics::tidal_factor(w.k[i], w.k[j], w.square);
    to[index] = {factor * wave.real, factor * wave.imaginary};
  }
};

/// One component of the displacements of both orders, each times a number; `source`: ∇²φ2, or null.
struct FillDisplacement {
  CubeShape cube;
  DrawnWaves delta;
  const Complex* source;
  int axis;
  double first, second;
  Complex* to;
  __device__ void operator()(std::int64_t index) const {
    const WaveVector w(cube, index);
    if (w.none) {
      to[index] = {0, 0};
      return;
    }
    const DrawnWave wave = delta(w.k[0], w.k[1], w.k[2]);
    const double of_first = first * physics::first_factor(w.k[axis], w.square);
    double real = -of_first * wave.imaginary, imaginary = of_first * wave.real;
    if (source) {
      const double of_second = second * physics::second_factor(w.k[axis], w.square);
      const Complex value = source[index];
      real -= of_second * value.y, imaginary += of_second * value.x;
    }
    to[index] = {real, imaginary};
  }
};

/// xx becomes the diagonal's part of the source.
struct JoinDiagonal {
  CubeShape cube;
  double* xx;
  const double *yy, *zz;
  __device__ void operator()(std::int64_t i) const {
    const std::int64_t at = cube.at(i);
    xx[at] = physics::second_order_diagonal(xx[at], yy[at], zz[at]);
  }
};
struct TakeOff {
  CubeShape cube;
  double* source;
  const double* off_diagonal;
  __device__ void operator()(std::int64_t i) const {
    const std::int64_t at = cube.at(i);
    source[at] -= physics::second_order_rest(off_diagonal[at]);
  }
};

template <class Real>
struct PutPlace {
  CubeShape cube;
  const double* displacement;  // in boxes
  int axis;
  double box;
  Real* to;
  __device__ void operator()(std::int64_t i) const {
    const std::int64_t n = cube.side, row = i / n, place[3] = {i - row * n, row % n, row / n};
    const double start = static_cast<double>(place[axis]) * (box / static_cast<double>(n));
    to[i] = static_cast<Real>(wrap(start + box * displacement[cube.at(i)], 0.0, box));
  }
};
template <class Real>
struct PutVelocity {
  CubeShape cube;
  const double* velocity;
  double factor;
  Real* to;
  __device__ void operator()(std::int64_t i) const { to[i] = static_cast<Real>(factor * velocity[cube.at(i)]); }
};
template <class Real>
struct PutRest {
  DeviceArrays<Real> to;
  Real mass;
  __device__ void operator()(std::int64_t i) const {
    if (to.id) to.id[i] = static_cast<std::uint64_t>(i) + 1;
    if (to.species) to.species[i] = species_halo;
    if (to.mass) to.mass[i] = mass;
  }
};

/// The memory and the plans of one making.
class Maker {
 public:
  Maker(const DisplacedLattice& lattice, const Device& device)
      : lattice_(lattice), cube_{lattice.side}, device_(device) {
    device_.make_current();
    const long long n = lattice.side, count = cube_.waves(), length[3] = {n, n, n};
    const cuda::CufftLayout real{{n, n, cube_.pitch()}, 1, 2 * count}, waves{{n, n, cube_.wave_columns()}, 1, count};
    to_places_ = cuda::CufftPlan(device_.stream(), 3, length, waves, real, cuda::Cufft<double>::complex_to_real, 1);
    to_waves_ = cuda::CufftPlan(device_.stream(), 3, length, real, waves, cuda::Cufft<double>::real_to_complex, 1);
    const auto work = static_cast<std::int64_t>(std::max(to_places_.work_bytes(), to_waves_.work_bytes()));
    const std::int64_t fields = lattice.order > 1 ? 3 : 1;
    const double needed = static_cast<double>(fields * count) * sizeof(Complex) + static_cast<double>(work);
    const auto free = static_cast<double>(device_.memory().free_bytes());
    if (needed > free)
      throw Error(ErrorKind::device, fmt::format("{}: waves of {}^3 particles need {}, {} is free", device_.spec(),
                                                 lattice.side, bytes_text(needed), bytes_text(free)));
    for (std::int64_t k = 0; k < fields; ++k) fields_[k] = Buffer<Complex>(device_, count);
    work_ = Buffer<std::byte>(device_, work);
    root_ = Buffer<double>(device_, lattice.root.values());
    const double box = lattice.box;
    delta_ = {lattice.draw, {root_.data(), lattice.root.view().first}, physics::wave_number(1, box), box * box * box};
    if (lattice.order > 1) find_source();
  }

  template <class Real>
  void put(double velocity_factor, const DeviceArrays<Real>& to) {
    cuda::launch("particles of a lattice", cube_.places(), device_.stream(),
                 PutRest<Real>{to, static_cast<Real>(lattice_.mass)});
    for (int axis = 0; axis < 3; ++axis) {
      if (to.x[axis]) {
        find_component(axis, lattice_.length);
        cuda::launch("places of a lattice", cube_.places(), device_.stream(),
                     PutPlace<Real>{cube_, values(0), axis, lattice_.box, to.x[axis]});
      }
      if (to.v[axis]) {
        find_component(axis, lattice_.velocity);
        cuda::launch("velocities of a lattice", cube_.places(), device_.stream(),
                     PutVelocity<Real>{cube_, values(0), velocity_factor, to.v[axis]});
      }
    }
    device_.synchronize();
  }

 private:
  double* values(int field) { return reinterpret_cast<double*>(fields_[field].data()); }
  void to_places(int field) {
    cuda::check(cufftExecZ2D(to_places_.with_work(work()), fields_[field].data(), values(field)), "cufftExecZ2D");
  }
  void* work() { return work_.size() > 0 ? work_.data() : nullptr; }
  void find_tide(int i, int j, int field) {
    cuda::launch("tides", cube_.waves(), device_.stream(), FillTide{cube_, delta_, i, j, fields_[field].data()});
    to_places(field);
  }
  /// ∇²φ2 at the places of the lattice, and then its waves, which stay in field 1.
  void find_source() {
    find_tide(0, 0, 1), find_tide(1, 1, 0), find_tide(2, 2, 2);
    cuda::launch("second order", cube_.places(), device_.stream(),
                 JoinDiagonal{cube_, values(1), values(0), values(2)});
    for (const auto& [i, j] : {std::pair(0, 1), std::pair(0, 2), std::pair(1, 2)}) {
      find_tide(i, j, 0);
      cuda::launch("second order", cube_.places(), device_.stream(), TakeOff{cube_, values(1), values(0)});
    }
    cuda::check(cufftExecD2Z(to_waves_.with_work(work()), values(1), fields_[1].data()), "cufftExecD2Z");
    fields_[2] = Buffer<Complex>();
  }
  /// Into field 0. Wave numbers are counted per box, gradients are over lengths in boxes: a factor 1/2π.
  void find_component(int axis, const double (&factor)[2]) {
    const double per_box = 0.5 / std::numbers::pi, scale = 1 / static_cast<double>(cube_.places());
    const Complex* const source = lattice_.order > 1 ? fields_[1].data() : nullptr;
    cuda::launch("displacements", cube_.waves(), device_.stream(),
                 FillDisplacement{cube_, delta_, source, axis, per_box * factor[0], per_box * scale * factor[1],
                                  fields_[0].data()});
    to_places(0);
  }

  const DisplacedLattice& lattice_;
  CubeShape cube_;
  Device device_;
  cuda::CufftPlan to_places_, to_waves_;
  Buffer<Complex> fields_[3];
  Buffer<std::byte> work_;
  Buffer<double> root_;
  DrawnWaves delta_;
};

class LatticeSource final : public DeviceSource {
 public:
  LatticeSource(DisplacedLattice lattice, const Device& device) : lattice_(std::move(lattice)), device_(device) {}

  std::int64_t count() const override { return lattice_.count(); }
  std::string name() const override { return "model"; }
  double box_side() const override { return lattice_.box; }
  double total_mass() const override { return lattice_.mass * static_cast<double>(count()); }
  bool put(const Device& device, double factor, const DeviceArrays<float>& to) override {
    return put_on(device, factor, to);
  }
  bool put(const Device& device, double factor, const DeviceArrays<double>& to) override {
    return put_on(device, factor, to);
  }
  /// Made once, and kept on the device.
  void read(std::int64_t first, std::int64_t n, Particles& to) override {
    if (values_[0].size() == 0) {
      DeviceArrays<double> arrays;
      for (auto& values : values_) values = Buffer<double>(device_, count());
      for (int axis = 0; axis < 3; ++axis)
        arrays.x[axis] = values_[axis].data(), arrays.v[axis] = values_[3 + axis].data();
      put_on(device_, 1, arrays);
    }
    to = {};
    to.resize(n);
    for (std::size_t k = 0; k < to.id.size(); ++k) to.id[k] = static_cast<std::uint64_t>(first) + k + 1;
    std::fill(to.mass.begin(), to.mass.end(), lattice_.mass);
    std::vector<double>* const host[6] = {&to.x, &to.y, &to.z, &to.vx, &to.vy, &to.vz};
    for (int k = 0; k < 6 && n > 0; ++k)
      device_.memory().to_host(host[k]->data(), values_[k].data() + first,
                               static_cast<std::size_t>(n) * sizeof(double));
  }

 private:
  template <class Real>
  bool put_on(const Device& device, double factor, const DeviceArrays<Real>& to) {
    if (device.spec() != device_.spec()) return false;
    Maker(lattice_, device_).put(factor, to);
    return true;
  }

  DisplacedLattice lattice_;
  Device device_;
  Buffer<double> values_[6];
};

}  // namespace

std::unique_ptr<DeviceSource> make_displaced_lattice_cuda(DisplacedLattice lattice, const Device& device) {
  return std::make_unique<LatticeSource>(std::move(lattice), device);
}

}  // namespace pergola
