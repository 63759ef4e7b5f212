#pragma once
// Displacements of a lattice by Gaussian waves, up to third order of perturbation theory, on the CPU.
//
// `WaveCube` holds the waves in slabs over the ranks and transforms them to places, component by component. The higher
// orders need products of the derivatives of lower potentials, which are taken at the places of the lattice.
// What always holds: the bits depend neither on the number of threads nor on that of ranks.
#include <array>
#include <complex>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "comm/communicator.hpp"
#include "device/parallel.hpp"
#include "mesh/fft/complex_fft.hpp"

namespace pergola {

/// A cube of complex numbers, x fastest, that are places or waves of a periodic box: value(q) = Σ wave(k) exp(i k·q).
/// Each rank has its slab of planes (mesh/slab_planes.hpp), of places as of waves. The bits depend neither on the
/// number of threads nor on that of ranks.
class WaveCube {
 public:
  WaveCube(int side, int threads, const std::shared_ptr<Communicator>& ranks = serial_communicator());
  int side() const { return side_; }
  const SlabPlanes& planes() const { return transforms_.planes(); }
  /// Of this rank's planes, from the first on.
  std::int64_t size() const { return static_cast<std::int64_t>(values_.size()); }
  const std::vector<std::complex<double>>& values() const { return values_; }

  /// Calls of all ranks.
  void to_places();
  void to_waves();

  /// The wave number of index i along an axis, in waves per box.
  int wave_number(int i) const { return i <= side_ / 2 ? i : i - side_; }

  /// wave(kx, ky, kz) for all waves; 0 for the mean and where an axis has its Nyquist wave number.
  template <class Wave>
  void fill_waves(const Wave& wave) {
    parallel_for(threads_, planes().count(), [&](std::int64_t plane) {
      const int kz = wave_number(planes().first() + static_cast<int>(plane));
      for (int iy = 0; iy < side_; ++iy) {
        const int ky = wave_number(iy);
        std::complex<double>* row = values_.data() + (plane * side_ + iy) * side_;
        for (int ix = 0; ix < side_; ++ix) {
          const int kx = wave_number(ix);
          const bool none = (kx == 0 && ky == 0 && kz == 0) || 2 * kx == side_ || 2 * ky == side_ || 2 * kz == side_;
          row[ix] = none ? std::complex<double>(0) : std::complex<double>(wave(kx, ky, kz));
        }
      }
    });
  }

  /// body(value, place) for all values of this rank, places counted from the first of its own.
  template <class Body>
  void each(const Body& body) {
    parallel_chunks(threads_, size(), 65536, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i)
        body(values_[static_cast<std::size_t>(i)], static_cast<std::size_t>(i));
    });
  }

 private:
  int side_, threads_;
  ComplexFft transforms_;
  std::vector<std::complex<double>> values_;
};

/// A wave of the density contrast: k in waves per box.
using DensityWave = std::function<std::complex<double>(int kx, int ky, int kz)>;

/// The terms of the displacement (physics/lagrangian.hpp): −∇φ1, ∇φ2, −∇φ3a, −∇φ3b, −∇×A3c, each with its own growth.
enum class LagrangianTerm { first, second, third_a, third_b, third_c };

/// Gets the terms up to `order` one after the other, in that order: three components at the places i L/n of a lattice,
/// x fastest, in units of the length L of the box; a rank those of its planes of the cube. Products of waves are taken
/// at those places: what lies beyond the lattice's Nyquist wave number comes back as smaller waves (no dealiasing).
/// `window`: the order of the cloud by which the displacements are taken between the places (physics/green.hpp); waves
/// are divided by it. 0: they are not. All ranks of the cube call it.
using TakeTerm = std::function<void(LagrangianTerm, const std::array<std::vector<double>, 3>&)>;
void lagrangian_displacements(WaveCube& cube, const DensityWave& delta, int order, const TakeTerm& take,
                              int window = 0);

}  // namespace pergola
