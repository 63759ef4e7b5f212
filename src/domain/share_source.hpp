#pragma once
#include <cstdint>
#include <string>

#include "comm/communicator.hpp"
#include "comm/shares.hpp"
#include "particles/device_source.hpp"

namespace pergola {

/// A stretch of the particles of another source, for the rank that keeps them. Where ranks make their shares on devices
/// it is such a share.
class ShareSource final : public DeviceSource {
 public:
  ShareSource(ParticleSource& all, std::int64_t first, std::int64_t count)
      : all_(all), made_(dynamic_cast<DeviceSource*>(&all)), first_(first), count_(count) {}
  std::int64_t count() const override { return count_; }
  void read(std::int64_t first, std::int64_t n, Particles& to) override { all_.read(first_ + first, n, to); }
  std::string name() const override { return all_.name(); }
  bool put(const Device& device, double factor, const DeviceArrays<float>& to) override {
    return made_ && made_->put_share(device, factor, to);
  }
  bool put(const Device& device, double factor, const DeviceArrays<double>& to) override {
    return made_ && made_->put_share(device, factor, to);
  }

 private:
  ParticleSource& all_;
  DeviceSource* made_;  // null: it comes in pieces only
  std::int64_t first_, count_;
};

/// A source that keeps what it has made: once a rank has taken its share that may go, before forces take their memory.
class PassingSource {
 public:
  virtual ~PassingSource() = default;
  virtual void let_go() = 0;
};

/// Calls take(source) with the share of this rank (comm/shares.hpp), which is read nowhere else; without ranks with
/// all. Either may be made on a device.
template <class Take>
void take_share(ParticleSource& particles, const Communicator* ranks, const Take& take) {
  if (!ranks) return take(particles);
  const Shares shares{particles.count(), ranks->size()};
  ShareSource own(particles, shares.first(ranks->rank()), shares.count(ranks->rank()));
  take(own);
  if (auto* const passing = dynamic_cast<PassingSource*>(&particles)) passing->let_go();
}

}  // namespace pergola
