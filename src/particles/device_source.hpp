#pragma once
#include <cstdint>
#include <memory>

#include "comm/communicator.hpp"
#include "device/device.hpp"
#include "particles/particle_source.hpp"

namespace pergola {

/// Where all particles of a source go on a device; null: these are not wanted.
template <class Real>
struct DeviceArrays {
  std::uint64_t* id = nullptr;
  std::uint8_t* species = nullptr;
  Real* mass = nullptr;
  Real* x[3] = {};
  Real* v[3] = {};
};

/// Particles that can be made where they are to live: on a device, so that they never go over the host and nobody has
/// to look at all of them to know their box and their mass, by one or by ranks together, each its share.
class PERGOLA_API DeviceSource : public ParticleSource {
 public:
  /// All of them, with velocities times a factor. False where they cannot be made there: then they are read.
  virtual bool put(const Device& /*device*/, double /*velocity_factor*/, const DeviceArrays<float>& /*to*/) {
    return false;
  }
  virtual bool put(const Device& /*device*/, double /*velocity_factor*/, const DeviceArrays<double>& /*to*/) {
    return false;
  }
  /// All ranks call it before each takes its share (comm/shares.hpp) and nothing else.
  virtual void make_shares(const std::shared_ptr<Communicator>& /*ranks*/) {}
  /// As put(), of the share, a call of all ranks; with the same answer on each.
  virtual bool put_share(const Device& /*device*/, double /*velocity_factor*/, const DeviceArrays<float>& /*to*/) {
    return false;
  }
  virtual bool put_share(const Device& /*device*/, double /*velocity_factor*/, const DeviceArrays<double>& /*to*/) {
    return false;
  }
  /// The side of a box from the origin in which all of them lie; 0: not known.
  virtual double box_side() const { return 0; }
  /// Of all of them; 0: not known.
  virtual double total_mass() const { return 0; }
};

/// The sum over all particles, of a look at each where it is not known.
PERGOLA_API double total_mass(ParticleSource& particles);

}  // namespace pergola
