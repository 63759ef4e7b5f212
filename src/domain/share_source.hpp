#pragma once
#include <cstdint>
#include <string>

#include "comm/communicator.hpp"
#include "comm/shares.hpp"
#include "particles/particle_source.hpp"

namespace pergola {

/// A stretch of the particles of another source, for the rank that keeps them.
class ShareSource final : public ParticleSource {
 public:
  ShareSource(ParticleSource& all, std::int64_t first, std::int64_t count) : all_(all), first_(first), count_(count) {}
  std::int64_t count() const override { return count_; }
  void read(std::int64_t first, std::int64_t n, Particles& to) override { all_.read(first_ + first, n, to); }
  std::string name() const override { return all_.name(); }

 private:
  ParticleSource& all_;
  std::int64_t first_, count_;
};

/// A source that keeps what it has made: once a rank has taken its share that may go, before forces take their memory.
class PassingSource {
 public:
  virtual ~PassingSource() = default;
  virtual void let_go() = 0;
};

/// Calls take(source) with the share of this rank (comm/shares.hpp), which is read nowhere else; without ranks with
/// all, which may be made on a device.
template <class Take>
void take_share(ParticleSource& particles, const Communicator* ranks, const Take& take) {
  if (!ranks) return take(particles);
  const Shares shares{particles.count(), ranks->size()};
  ShareSource own(particles, shares.first(ranks->rank()), shares.count(ranks->rank()));
  take(own);
  if (auto* const passing = dynamic_cast<PassingSource*>(&particles)) passing->let_go();
}

}  // namespace pergola
