#pragma once
#include <cstdint>
#include <string>

#include "comm/communicator.hpp"
#include "comm/shares.hpp"
#include "particles/particle_source.hpp"

namespace pergola {

/// A stretch of the particles of another source, for the rank that keeps them. Where ranks make their shares on devices
/// it is such a share.
class ShareSource final : public DeviceSource {
 public:
  ShareSource(ParticleSource& all, std::int64_t first, std::int64_t count) : all_(all), first_(first), count_(count) {}
  std::int64_t count() const override { return count_; }
  void read(std::int64_t first, std::int64_t n, Particles& to) override { all_.read(first_ + first, n, to); }
  std::string name() const override { return all_.name(); }
  bool put(const Device& device, double factor, const AnyDeviceArrays& to, Portion) override {
    DeviceSource* const made = all_.device_source();
    return made && made->put(device, factor, to, Portion::share);
  }

 private:
  ParticleSource& all_;
  std::int64_t first_, count_;
};

/// Calls take(source) with the share of this rank (comm/shares.hpp), which is read nowhere else; without ranks with
/// all. Either may be made on a device.
template <class Take>
void take_share(ParticleSource& particles, const Communicator* ranks, const Take& take) {
  if (!ranks) return take(particles);
  const Shares shares{particles.count(), ranks->size()};
  ShareSource own(particles, shares.first(ranks->rank()), shares.count(ranks->rank()));
  take(own);
  particles.let_go();  // before the forces take their memory
}

}  // namespace pergola
