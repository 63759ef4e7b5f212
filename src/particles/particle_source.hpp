#pragma once
// Particles in pieces: from a file, a model, or host memory.
//
// A `ParticleSource` gives any range of particles in the order of the input, so that a reader needs only a piece in
// memory. It also says what it knows without a look at the particles (box_side, total_mass) and whether it can make
// them elsewhere than on the host (device_source). The defaults say "not known" and "no", so a decorator forwards only
// what it keeps true.
// What always holds: read() of the same range gives the same bits, in any order of calls.
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "comm/communicator.hpp"
#include "device/device.hpp"
#include "particles/particles.hpp"

namespace pergola {

class DeviceSource;

class PERGOLA_API ParticleSource {
 public:
  virtual ~ParticleSource() = default;
  virtual std::int64_t count() const = 0;
  /// Particles first … first + n − 1, in the order of the input, into `to`, which becomes n long. Any range may be
  /// asked for, also again; ranges in rising order may be faster.
  virtual void read(std::int64_t first, std::int64_t n, Particles& to) = 0;
  /// All particles, if they lie on the host as they are, so that no copy is needed; else null.
  virtual const Particles* whole() const { return nullptr; }
  /// What messages call it: the name of a file, for example.
  virtual std::string name() const { return "particles"; }
  /// The side of a box from the origin in which all particles lie; 0: not known.
  virtual double box_side() const { return 0; }
  /// The mass of all particles; 0: not known.
  virtual double total_mass() const { return 0; }
  /// This source, if its particles can be made on a device or by ranks together; null: they can only be read.
  virtual DeviceSource* device_source() { return nullptr; }
  /// Frees the particles that the source has made. A later read() makes them again.
  virtual void let_go() {}
};

/// Particles on the host. The caller keeps them while the source is used.
class PERGOLA_API HostParticles final : public ParticleSource {
 public:
  explicit HostParticles(const Particles& particles, std::string name = "particles")
      : particles_(particles), name_(std::move(name)) {}
  std::int64_t count() const override { return particles_.size(); }
  void read(std::int64_t first, std::int64_t n, Particles& to) override;
  const Particles* whole() const override { return &particles_; }
  std::string name() const override { return name_; }

 private:
  const Particles& particles_;
  std::string name_;
};

/// Particles on the host that the source owns.
class PERGOLA_API KeptParticles final : public ParticleSource {
 public:
  explicit KeptParticles(Particles particles, std::string name = "particles")
      : particles_(std::move(particles)), source_(particles_, std::move(name)) {}
  KeptParticles(const KeptParticles&) = delete;
  KeptParticles& operator=(const KeptParticles&) = delete;
  std::int64_t count() const override { return source_.count(); }
  void read(std::int64_t first, std::int64_t n, Particles& to) override { source_.read(first, n, to); }
  const Particles* whole() const override { return &particles_; }
  std::string name() const override { return source_.name(); }

 private:
  Particles particles_;
  HostParticles source_;
};

/// Arrays on a device for the particles of a source; null: this array is not wanted.
template <class Real>
struct DeviceArrays {
  std::uint64_t* id = nullptr;
  std::uint8_t* species = nullptr;
  Real* mass = nullptr;
  Real* x[3] = {};
  Real* v[3] = {};
};
using AnyDeviceArrays = std::variant<DeviceArrays<float>, DeviceArrays<double>>;

/// All particles of a source, or this rank's share of them (comm/shares.hpp).
enum class Portion { all, share };

/// Particles that can be made by ranks together, each its share, or on a device, without a copy on the host.
class PERGOLA_API DeviceSource : public ParticleSource {
 public:
  DeviceSource* device_source() override { return this; }
  /// Makes a portion in arrays of the device, with velocities times a factor. False if it cannot be made there; then it
  /// is read. For shares a call of all ranks, after make_shares(), with the same answer on each rank.
  virtual bool put(const Device& /*device*/, double /*velocity_factor*/, const AnyDeviceArrays& /*to*/, Portion) {
    return false;
  }
  /// A call of all ranks, before each takes its share and nothing else.
  virtual void make_shares(const std::shared_ptr<Communicator>& /*ranks*/) {}
};

/// The particles at some places.
PERGOLA_API Particles read_at(ParticleSource& particles, const std::vector<std::int64_t>& places);

/// The mass of all particles: as the source states it, else the sum over all particles in the order of the input.
PERGOLA_API double total_mass(ParticleSource& particles);

}  // namespace pergola
