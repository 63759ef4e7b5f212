#include <fmt/core.h>

#include <algorithm>
#include <numbers>
#include <utility>
#include <vector>

#include "base/text.hpp"
#include "comm/agreement.hpp"
#include "comm/shares.hpp"
#include "device/buffer.hpp"
#include "device/launch.cuh"
#include "domain/device_stretches.hpp"
#include "models/displaced_lattice.hpp"
#include "models/wave_slabs_cuda.cuh"
#include "particles/box.hpp"
#include "particles/particles.hpp"
#include "physics/green.hpp"
#include "physics/lagrangian.hpp"

namespace pergola {

namespace {

using Complex = cuda::WaveSlabs::Complex;
using cuda::WaveColumns;

/// Planes of places, whose rows are padded for transforms in place.
struct PlaceRows {
  int side;
  /// Where the value of place i stands.
  __device__ std::int64_t at(std::int64_t i) const {
    const std::int64_t row = i / side;
    return row * 2 * (side / 2 + 1) + (i - row * side);
  }
};

/// The wave vector of a place in memory, in waves per box, and whether there is a wave: not for the mean, where an axis
/// has its Nyquist wave number, and beyond the rank's columns.
struct WaveVector {
  int k[3];
  bool none;
  double square;

  __device__ WaveVector(const WaveColumns& columns, std::int64_t index) {
    const auto [own_column, z] = columns.place(index);
    const std::int64_t column = columns.first + own_column, row = column / columns.row_waves();
    const int n = columns.side, i[3] = {static_cast<int>(column - row * columns.row_waves()), static_cast<int>(row), z};
    none = true;
    for (int a = 0; a < 3; ++a) k[a] = i[a] <= n / 2 ? i[a] : i[a] - n, none = none && k[a] == 0;
    for (int a = 0; a < 3; ++a) none = none || 2 * k[a] == n;
    none = none || own_column >= columns.count;
    square = double(k[0]) * k[0] + double(k[1]) * k[1] + double(k[2]) * k[2];
  }
};

/// φ1,ij.
struct FillTide {
  WaveColumns columns;
  DrawnWaves delta;
  int i, j;
  Complex* to;
  __device__ void operator()(std::int64_t index) const {
    const WaveVector w(columns, index);
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
  WaveColumns columns;
  DrawnWaves delta;
  const Complex* source;
  int axis;
  double first, second;
  Complex* to;
  __device__ void operator()(std::int64_t index) const {
    const WaveVector w(columns, index);
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
  PlaceRows rows;
  double* xx;
  const double *yy, *zz;
  __device__ void operator()(std::int64_t i) const {
    const std::int64_t at = rows.at(i);
    xx[at] = physics::second_order_diagonal(xx[at], yy[at], zz[at]);
  }
};
/// Subtracts an off-diagonal part from the source.
struct TakeOff {
  PlaceRows rows;
  double* source;
  const double* off_diagonal;
  __device__ void operator()(std::int64_t i) const {
    const std::int64_t at = rows.at(i);
    source[at] -= physics::second_order_rest(off_diagonal[at]);
  }
};

/// Where numbers of particles go that are found in some planes: to the rank's share, or among those that it gives away,
/// which stand before it.
template <class Real>
struct NumbersOfPlanes {
  std::int64_t first;  // particle of the planes, counted from the first of the share
  Real *share, *given_end;
  __device__ Real& operator[](std::int64_t i) const { return first + i < 0 ? given_end[first + i] : share[first + i]; }
};

template <class Real>
struct PutPlace {
  PlaceRows rows;
  const double* displacement;  // in boxes
  int axis, first_plane;
  double box;
  NumbersOfPlanes<Real> to;
  __device__ void operator()(std::int64_t i) const {
    const std::int64_t n = rows.side, row = i / n, place[3] = {i - row * n, row % n, first_plane + row / n};
    const double start = static_cast<double>(place[axis]) * (box / static_cast<double>(n));
    to[i] = static_cast<Real>(wrap(start + box * displacement[rows.at(i)], 0.0, box));
  }
};
template <class Real>
struct PutVelocity {
  PlaceRows rows;
  const double* velocity;
  double factor;
  NumbersOfPlanes<Real> to;
  __device__ void operator()(std::int64_t i) const { to[i] = static_cast<Real>(factor * velocity[rows.at(i)]); }
};
template <class Real>
struct PutRest {
  std::int64_t first;
  DeviceArrays<Real> to;
  Real mass;
  __device__ void operator()(std::int64_t i) const {
    if (to.id) to.id[i] = static_cast<std::uint64_t>(first + i) + 1;
    if (to.species) to.species[i] = species_halo;
    if (to.mass) to.mass[i] = mass;
  }
};

/// The memory and the plans of one making, by all ranks together. Waves go to places component by component, and what
/// is made of these goes on from there: of fields there are the waves, in second order also those of ∇²φ2, and while
/// that is found two more of places.
class Maker {
 public:
  Maker(const DisplacedLattice& lattice, const Device& device, const std::shared_ptr<Communicator>& ranks)
      : lattice_(lattice),
        device_(device),
        ranks_(ranks),
        cuts_(lattice.side, ranks->size()),
        own_(static_cast<std::size_t>(ranks->rank())),
        rows_{lattice.side},
        slabs_(device, ranks, lattice.side),
        columns_(slabs_.columns()) {
    on_all(*ranks_, [this] { take_memory(); });
    const double box = lattice.box;
    delta_ = {lattice.draw, {root_.data(), lattice.root.view().first}, physics::wave_number(1, box), box * box * box};
    if (lattice.order > 1) find_source();
  }

  /// The rank's share.
  template <class Real>
  void put(double velocity_factor, const DeviceArrays<Real>& to) {
    cuda::launch("particles of a lattice", cuts_.shares[own_].count, device_.stream(),
                 PutRest<Real>{cuts_.shares[own_].first, to, static_cast<Real>(lattice_.mass)});
    // A rank with no particle of its own has no memory for them, and still takes part.
    std::int64_t wanted[6] = {};
    for (int axis = 0; axis < 3; ++axis) wanted[axis] = to.x[axis] != nullptr, wanted[3 + axis] = to.v[axis] != nullptr;
    ranks_->all_reduce(wanted, 6, Reduction::maximum);
    for (int axis = 0; axis < 3; ++axis) {
      if (wanted[axis]) {
        find_component(axis, lattice_.length, [&](int first, std::int64_t places, const double* values) {
          cuda::launch("places of a lattice", places, device_.stream(),
                       PutPlace<Real>{rows_, values, axis, slabs_.planes().first() + first, lattice_.box,
                                      numbers_of(to.x[axis], first)});
        });
        fetch(to.x[axis]);
      }
      if (wanted[3 + axis]) {
        find_component(axis, lattice_.velocity, [&](int first, std::int64_t places, const double* values) {
          cuda::launch("velocities of a lattice", places, device_.stream(),
                       PutVelocity<Real>{rows_, values, velocity_factor, numbers_of(to.v[axis], first)});
        });
        fetch(to.v[axis]);
      }
    }
    device_.synchronize();
  }

 private:
  static double* values(Buffer<Complex>& field) { return reinterpret_cast<double*>(field.data()); }

  /// Throws Error(device) with what is needed and what is free, before anything is taken.
  void take_memory() {
    slabs_.make_plans();
    const std::int64_t plane = std::int64_t{lattice_.side} * lattice_.side, fields = lattice_.order > 1 ? 3 : 1;
    const std::int64_t on_the_way = cuts_.any_given() ? plane : 0;
    const double needed = static_cast<double>(fields * slabs_.field_size()) * sizeof(Complex) +
                          static_cast<double>(slabs_.bytes(on_the_way * std::int64_t{sizeof(double)})) +
                          static_cast<double>(on_the_way) * sizeof(double);
    const auto free = static_cast<double>(device_.memory().free_bytes());
    if (needed > free)
      throw Error(ErrorKind::device, fmt::format("{}: waves of {}^3 particles need {}, {} is free", device_.spec(),
                                                 lattice_.side, bytes_text(needed), bytes_text(free)));
    slabs_.take_memory();
    waves_ = Buffer<Complex>(device_, slabs_.field_size());
    if (lattice_.order > 1)
      for (auto* field : {&source_, &places_}) *field = Buffer<Complex>(device_, slabs_.field_size());
    given_ = Buffer<double>(device_, cuts_.given[own_].count);
    root_ = Buffer<double>(device_, lattice_.root.values());
  }

  /// body(first plane, places, values) for some planes of the slab after the other.
  template <class Body>
  void find_tide(int i, int j, const Body& body) {
    cuda::launch("tides", columns_.size(), device_.stream(), FillTide{columns_, delta_, i, j, waves_.data()});
    to_places(body);
  }
  template <class Body>
  void to_places(const Body& body) {
    slabs_.to_values(waves_.data(), [&](int first, int count, const double* values) {
      body(first, std::int64_t{count} * lattice_.side * lattice_.side, values);
    });
  }
  /// ∇²φ2 at the places of the lattice, and then its waves, which stay.
  void find_source() {
    const std::int64_t plane = 2 * slabs_.plane_size();
    const auto keep = [&](Buffer<Complex>& field) {
      return [this, plane, &field](int first, std::int64_t places, const double* from) {
        const std::int64_t planes = places / lattice_.side / lattice_.side;
        device_.memory().copy(values(field) + first * plane, from,
                              static_cast<std::size_t>(planes * plane) * sizeof(double));
      };
    };
    find_tide(0, 0, keep(source_)), find_tide(1, 1, keep(places_));
    find_tide(2, 2, [&](int first, std::int64_t places, const double* zz) {
      cuda::launch("second order", places, device_.stream(),
                   JoinDiagonal{rows_, values(source_) + first * plane, values(places_) + first * plane, zz});
    });
    for (const auto& [i, j] : {std::pair(0, 1), std::pair(0, 2), std::pair(1, 2)})
      find_tide(i, j, [&](int first, std::int64_t places, const double* off_diagonal) {
        cuda::launch("second order", places, device_.stream(),
                     TakeOff{rows_, values(source_) + first * plane, off_diagonal});
      });
    slabs_.to_waves(source_.data(), waves_.data());
    source_.swap(waves_);
    device_.synchronize();
    places_ = Buffer<Complex>();
  }
  /// Wave numbers are counted per box, gradients are over lengths in boxes: a factor 1/2π.
  template <class Body>
  void find_component(int axis, const double (&factor)[2], const Body& body) {
    const double per_box = 0.5 / std::numbers::pi, scale = 1 / static_cast<double>(lattice_.count());
    const Complex* const source = lattice_.order > 1 ? source_.data() : nullptr;
    cuda::launch("displacements", columns_.size(), device_.stream(),
                 FillDisplacement{columns_, delta_, source, axis, per_box * factor[0], per_box * scale * factor[1],
                                  waves_.data()});
    to_places(body);
  }

  template <class Real>
  NumbersOfPlanes<Real> numbers_of(Real* share, int first_plane) {
    const std::int64_t plane = std::int64_t{lattice_.side} * lattice_.side;
    return {cuts_.slabs[own_].first + first_plane * plane - cuts_.shares[own_].first, share,
            reinterpret_cast<Real*>(given_.data()) + given_.size()};
  }
  /// The particles of the share that were found in slabs of other ranks.
  template <class Real>
  void fetch(Real* share) {
    if (!cuts_.any_given()) return;
    const Stretch wanted = cuts_.fetched[own_];
    Real* const to = wanted.count > 0 ? share + (wanted.first - cuts_.shares[own_].first) : nullptr;
    fetch_stretches(device_, slabs_.messages(), {{given_.data(), to, sizeof(Real), &cuts_.given, &cuts_.fetched}});
  }

  const DisplacedLattice& lattice_;
  Device device_;
  std::shared_ptr<Communicator> ranks_;
  LatticeCuts cuts_;
  std::size_t own_;  // rank
  PlaceRows rows_;
  cuda::WaveSlabs slabs_;
  WaveColumns columns_;
  Buffer<Complex> waves_, source_, places_;
  Buffer<double> given_;  // numbers of particles that other ranks own
  Buffer<double> root_;
  DrawnWaves delta_;
};

/// The lattice as a source: straight into the arrays of a run on its device, or read from memory that is kept.
class LatticeSource final : public DeviceSource {
 public:
  LatticeSource(DisplacedLattice lattice, const Device& device)
      : lattice_(std::move(lattice)), device_(device), kept_{0, lattice_.count()} {}

  std::int64_t count() const override { return lattice_.count(); }
  std::string name() const override { return "model"; }
  double box_side() const override { return lattice_.box; }
  double total_mass() const override { return lattice_.mass * static_cast<double>(count()); }
  bool put(const Device& device, double factor, const AnyDeviceArrays& to, Portion portion) override {
    if (portion == Portion::all) return put_on(device, factor, to, serial_communicator());
    return ranks_ && put_on(device, factor, to, ranks_);
  }
  void make_shares(const std::shared_ptr<Communicator>& ranks) override {
    if (ranks_ == ranks) return;
    for (auto& values : values_) values = Buffer<double>();
    has_values_ = false;
    ranks_ = ranks;
    const Shares shares{count(), ranks->size()};
    kept_ = {shares.first(ranks->rank()), shares.count(ranks->rank())};
  }
  /// Made once, and kept on the device.
  void read(std::int64_t first, std::int64_t n, Particles& to) override {
    if (first < kept_.first || first + n > kept_.end())
      throw Error(ErrorKind::input, fmt::format("lattice: expected particles from {} to {}, found {} to {}",
                                                kept_.first, kept_.end(), first, first + n));
    if (!has_values_) {
      DeviceArrays<double> arrays;
      for (auto& values : values_) values = Buffer<double>(device_, kept_.count);
      for (int axis = 0; axis < 3; ++axis)
        arrays.x[axis] = values_[axis].data(), arrays.v[axis] = values_[3 + axis].data();
      put_on(device_, 1, arrays, ranks_ ? ranks_ : serial_communicator());
      has_values_ = true;
    }
    to = {};
    to.resize(n);
    for (std::size_t k = 0; k < to.id.size(); ++k) to.id[k] = static_cast<std::uint64_t>(first) + k + 1;
    std::fill(to.mass.begin(), to.mass.end(), lattice_.mass);
    std::vector<double>* const host[6] = {&to.x, &to.y, &to.z, &to.vx, &to.vy, &to.vz};
    for (int k = 0; k < 6 && n > 0; ++k)
      device_.memory().to_host(host[k]->data(), values_[k].data() + (first - kept_.first),
                               static_cast<std::size_t>(n) * sizeof(double));
  }

 private:
  bool put_on(const Device& device, double factor, const AnyDeviceArrays& to,
              const std::shared_ptr<Communicator>& ranks) {
    if (device.spec() != device_.spec()) return false;
    Maker maker(lattice_, device, ranks);
    std::visit([&](const auto& arrays) { maker.put(factor, arrays); }, to);
    return true;
  }

  DisplacedLattice lattice_;
  Device device_;
  std::shared_ptr<Communicator> ranks_;  // null: all of it is for this process
  Stretch kept_;                         // by this rank
  bool has_values_ = false;
  Buffer<double> values_[6];
};

}  // namespace

std::unique_ptr<DeviceSource> make_displaced_lattice_cuda(DisplacedLattice lattice, const Device& device) {
  return std::make_unique<LatticeSource>(std::move(lattice), device);
}

}  // namespace pergola
