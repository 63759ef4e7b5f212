#include "models/lagrangian.hpp"

#include <cmath>
#include <numbers>

#include "physics/green.hpp"
#include "physics/lagrangian.hpp"

// Lengths are in boxes, wave numbers in waves per box. A complex transform carries two real fields at once, one in the
// real part and one in the imaginary part, which halves the transforms. Products of derivatives are taken at the places
// of the lattice and transformed back. Formulas of each order are in physics/lagrangian.hpp.
namespace pergola {

WaveCube::WaveCube(int side, int threads, const std::shared_ptr<Communicator>& ranks)
    : side_(side),
      threads_(threads),
      transforms_(side, threads, ranks),
      values_(static_cast<std::size_t>(planes().count()) * side * side) {}

void WaveCube::to_places() { transforms_.backward(values_.data()); }

/// The forward transform is normalised here: a field and its waves are inverse to each other.
void WaveCube::to_waves() {
  transforms_.forward(values_.data());
  const double scale = 1 / static_cast<double>(std::int64_t{side_} * side_ * side_);
  each([&](std::complex<double>& value, std::size_t) { value *= scale; });
}

namespace {

using Complex = std::complex<double>;
constexpr Complex i_unit{0, 1};
constexpr double two_pi = 2 * std::numbers::pi;

double square(int kx, int ky, int kz) {
  return static_cast<double>(kx) * kx + static_cast<double>(ky) * ky + static_cast<double>(kz) * kz;
}

using Vector = std::array<std::vector<double>, 3>;

/// Two real fields in one transform: what `first` and `second` give for a wave are their waves.
template <class First, class Second>
void fill_pair(WaveCube& cube, const First& first, const Second& second) {
  cube.fill_waves([&](int kx, int ky, int kz) {
    const std::array<double, 3> k{double(kx), double(ky), double(kz)};
    const double k2 = square(kx, ky, kz);
    return Complex(first(k, k2)) + i_unit * Complex(second(k, k2));
  });
  cube.to_places();
}

/// The two fields of fill_pair(); null: not wanted.
void take_pair(WaveCube& cube, std::vector<double>* real, std::vector<double>* imaginary) {
  for (auto* to : {real, imaginary})
    if (to) to->resize(static_cast<std::size_t>(cube.size()));
  cube.each([&](Complex& value, std::size_t i) {
    if (real) (*real)[i] = value.real();
    if (imaginary) (*imaginary)[i] = value.imag();
  });
}

/// φ,ij at the places of the lattice.
struct Tides {
  std::vector<double> xx, yy, zz, xy, xz, yz;
  physics::TidalTensor operator[](std::size_t i) const { return {xx[i], yy[i], zz[i], xy[i], xz[i], yz[i]}; }
};

/// source(k): the wave of ∇²φ.
template <class Source>
Tides tides_of(WaveCube& cube, const Source& source) {
  const auto tide = [&](std::size_t i, std::size_t j) {
    return [&source, i, j](const std::array<double, 3>& k, double k2) {
      return physics::tidal_wave(k[i], k[j], k2, source(k));
    };
  };
  Tides tides;
  fill_pair(cube, tide(0, 0), tide(1, 1));
  take_pair(cube, &tides.xx, &tides.yy);
  fill_pair(cube, tide(2, 2), tide(0, 1));
  take_pair(cube, &tides.zz, &tides.xy);
  fill_pair(cube, tide(0, 2), tide(1, 2));
  take_pair(cube, &tides.xz, &tides.yz);
  return tides;
}

/// The three components of a field: wave(k, k², axis) over the window of a cloud.
template <class Wave>
Vector vector_of(WaveCube& cube, int window, const Wave& wave) {
  // Wave numbers are counted per box, gradients are over lengths in boxes: a factor 1/2π for each displacement.
  const auto along = [&, spacing = 1.0 / cube.side()](std::size_t axis) {
    return [&wave, window, spacing, axis](const std::array<double, 3>& k, double k2) {
      double divisor = two_pi;
      if (window > 0)
        for (const double one : k) divisor *= physics::assignment_window(two_pi * one, spacing, window);
      return wave(k, k2, axis) / divisor;
    };
  };
  Vector to;
  fill_pair(cube, along(0), along(1));
  take_pair(cube, &to[0], &to[1]);
  fill_pair(cube, along(2), [](const std::array<double, 3>&, double) { return 0.0; });
  take_pair(cube, &to[2], nullptr);
  return to;
}

/// Waves that are kept: those of this rank's planes.
class FieldWaves {
 public:
  /// Of a real field that is given at the places of a lattice.
  FieldWaves(WaveCube& cube, const std::vector<double>& field) : FieldWaves(cube) {
    cube.each([&](Complex& value, std::size_t i) { value = field[i]; });
    cube.to_waves();
    waves_ = cube.values();
  }
  FieldWaves(WaveCube& cube, const DensityWave& wave) : FieldWaves(cube) {
    cube.fill_waves(wave);
    waves_ = cube.values();
  }
  Complex operator()(const std::array<double, 3>& k) const {
    const auto n = static_cast<std::size_t>(side_);
    return waves_[((index(k[2]) - first_plane_) * n + index(k[1])) * n + index(k[0])];
  }

 private:
  explicit FieldWaves(const WaveCube& cube)
      : side_(cube.side()), first_plane_(static_cast<std::size_t>(cube.planes().first())) {}
  std::size_t index(double k) const { return static_cast<std::size_t>(k < 0 ? k + side_ : k); }

  int side_;
  std::size_t first_plane_;
  std::vector<Complex> waves_;
};

/// The third order from φ1,ij and φ2,ij, whose memory becomes that of the sources.
void third_order(WaveCube& cube, Tides& first, Tides& second, const TakeTerm& take, int window) {
  cube.each([&](Complex&, std::size_t i) {
    const auto sources = physics::third_order_sources(first[i], second[i]);
    first.xx[i] = sources.a, first.yy[i] = sources.b;
    second.xx[i] = sources.c[0], second.yy[i] = sources.c[1], second.zz[i] = sources.c[2];
  });
  for (auto* rest : {&first.zz, &first.xy, &first.xz, &first.yz, &second.xy, &second.xz, &second.yz}) *rest = {};
  const auto gradient = [&](const std::vector<double>& source) {
    const FieldWaves waves(cube, source);
    return vector_of(cube, window, [&](const std::array<double, 3>& k, double k2, std::size_t axis) {
      return physics::third_displacement(k[axis], k2, waves(k));
    });
  };
  take(LagrangianTerm::third_a, gradient(first.xx));
  take(LagrangianTerm::third_b, gradient(first.yy));
  const std::array<FieldWaves, 3> c{FieldWaves(cube, second.xx), FieldWaves(cube, second.yy),
                                    FieldWaves(cube, second.zz)};
  take(LagrangianTerm::third_c,
       vector_of(cube, window, [&](const std::array<double, 3>& k, double k2, std::size_t axis) {
         const std::size_t next = (axis + 1) % 3, after = (axis + 2) % 3;
         return physics::transverse_displacement(k[next], k[after], k2, c[next](k), c[after](k));
       }));
}

}  // namespace

void lagrangian_displacements(WaveCube& cube, const DensityWave& delta, int order, const TakeTerm& take, int window) {
  const FieldWaves density(cube, delta);
  take(LagrangianTerm::first, vector_of(cube, window, [&](const std::array<double, 3>& k, double k2, std::size_t axis) {
         return physics::first_displacement(k[axis], k2, density(k));
       }));
  if (order < 2) return;
  Tides tides = tides_of(cube, density);
  std::vector<double> source(static_cast<std::size_t>(cube.size()));
  cube.each([&](Complex&, std::size_t i) { source[i] = physics::second_order_source(tides[i]); });
  if (order < 3) tides = {};
  const FieldWaves waves(cube, source);
  source = {};
  take(LagrangianTerm::second,
       vector_of(cube, window, [&](const std::array<double, 3>& k, double k2, std::size_t axis) {
         return physics::second_displacement(k[axis], k2, waves(k));
       }));
  if (order < 3) return;
  Tides second = tides_of(cube, waves);
  third_order(cube, tides, second, take, window);
}

}  // namespace pergola
