#pragma once
// Views of the particles of a run between two steps.
//
// `ShownParticles` gives them in pieces, in the order of the input, predicted to the time that is shown; outputs use
// it. `BorrowedParticles` is the arrays of the store themselves, for readers and writers outside of the library. A view
// is valid until the next step. Nothing is copied or predicted before a piece is asked for.
#include <array>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "device/buffer.hpp"
#include "device/device.hpp"
#include "particles/particle_source.hpp"
#include "particles/particles.hpp"

namespace pergola {

/// Where particles are shown, in memory that their device reaches; null: not wanted.
template <class Real>
struct ShownArrays {
  Real *x = nullptr, *y = nullptr, *z = nullptr;
  Real *vx = nullptr, *vy = nullptr, *vz = nullptr;
  Real* mass = nullptr;
  std::uint8_t* species = nullptr;
  std::uint64_t* id = nullptr;
};

/// The particles of a run at a moment, where they live. Nothing is copied or predicted before it is asked for, and then
/// in pieces of any size. Always in the order of the input, so that what is made of them does not depend on their order
/// in memory. Valid until the next step.
class PERGOLA_API ShownParticles {
 public:
  virtual ~ShownParticles() = default;
  virtual const Device& device() const = 0;
  virtual std::int64_t count() const = 0;
  /// Particles first … first + n − 1 to `to`, arrays of n. Does not wait.
  virtual void show(std::int64_t first, std::int64_t n, const ShownArrays<float>& to) const = 0;
  virtual void show(std::int64_t first, std::int64_t n, const ShownArrays<double>& to) const = 0;
  /// The same for sums: in any order, in which the pieces of all have each particle once. That of memory, where it is
  /// quicker to read. Ids are not given.
  virtual void show_any(std::int64_t first, std::int64_t n, const ShownArrays<float>& to) const { show(first, n, to); }
  virtual void show_any(std::int64_t first, std::int64_t n, const ShownArrays<double>& to) const { show(first, n, to); }
  /// The particles places[0] < … < places[n − 1] of the input, which the device reads. Does not wait.
  virtual void show_at(const std::uint32_t* places, std::int64_t n, const ShownArrays<double>& to) const = 0;
};

/// Room for shown particles that host and device both reach: page-locked with a GPU.
struct ShownPiece {
  SharedBuffer<double> number[7];
  SharedBuffer<std::uint8_t> species;
  SharedBuffer<std::uint64_t> id;
  ShownPiece(const Device& device, std::int64_t size);
  ShownArrays<double> arrays();
};

/// Positions and masses of all particles on their device, for a solver.
template <class Real>
struct ShownPlaces {
  Buffer<Real> x, y, z, mass;
  Buffer<std::uint8_t> species;
  Buffer<std::uint64_t> id;
  explicit ShownPlaces(const ShownParticles& shown);
  static std::int64_t bytes_per_particle() {
    return static_cast<std::int64_t>(4 * sizeof(Real) + sizeof(std::uint8_t) + sizeof(std::uint64_t));
  }
};

/// Shown particles on the host, fetched piece by piece; a GPU writes them into page-locked memory while the piece
/// before is copied on. Without potentials.
class PERGOLA_API FetchedParticles final : public ParticleSource {
 public:
  explicit FetchedParticles(const ShownParticles& shown) : shown_(shown) {}
  std::int64_t count() const override { return shown_.count(); }
  void read(std::int64_t first, std::int64_t n, Particles& to) override;

 private:
  void read_through(std::int64_t first, std::int64_t n, Particles& to);

  const ShownParticles& shown_;
  std::vector<ShownPiece> pieces_;
};

/// Shown particles on the host, with the view that they come from.
class PERGOLA_API ShownSource final : public ParticleSource {
 public:
  explicit ShownSource(std::unique_ptr<ShownParticles> shown) : shown_(std::move(shown)), fetched_(*shown_) {}
  std::int64_t count() const override { return fetched_.count(); }
  void read(std::int64_t first, std::int64_t n, Particles& to) override { fetched_.read(first, n, to); }

 private:
  std::unique_ptr<ShownParticles> shown_;
  FetchedParticles fetched_;
};

/// What a file must say before the first particle.
struct ParticleCensus {
  std::array<std::int64_t, species_count> counts{};
  std::uint64_t largest_id = 0;
};
/// Looks at species and ids only, a piece at a time.
PERGOLA_API ParticleCensus census_of(const ShownParticles& shown);

/// All of them at once.
PERGOLA_API Particles fetch(const ShownParticles& shown);

/// Particles of the host, copied to a device as they are.
PERGOLA_API std::unique_ptr<ShownParticles> show_particles(const Device& device, const Particles& particles);

/// The particles of a run where they live, borrowed between two steps: arrays on the device of the run, in the order of
/// memory and in the precision of the run. Places and velocities may be changed; masses, species and ids may not.
struct BorrowedParticles {
  Device device;
  double time = 0;  // of the places and the velocities
  std::int64_t count = 0;
  bool single = false;  // numbers are floats; else doubles
  void *x = nullptr, *y = nullptr, *z = nullptr;
  void *vx = nullptr, *vy = nullptr, *vz = nullptr;
  const void* mass = nullptr;
  const std::uint8_t* species = nullptr;
  const std::uint64_t* id = nullptr;
  std::shared_ptr<const Buffer<std::uint64_t>> sorted_id;  // what `id` points to where memory has an order of its own
};

}  // namespace pergola
