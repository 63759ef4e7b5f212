#pragma once
#include <cstdint>
#include <memory>
#include <utility>

#include "particles/shown_particles.hpp"

namespace pergola {

/// Shown particles that it keeps, on the host.
class ShownSource final : public ParticleSource {
 public:
  explicit ShownSource(std::unique_ptr<ShownParticles> shown) : shown_(std::move(shown)), fetched_(*shown_) {}
  std::int64_t count() const override { return fetched_.count(); }
  void read(std::int64_t first, std::int64_t n, Particles& to) override { fetched_.read(first, n, to); }

 private:
  std::unique_ptr<ShownParticles> shown_;
  FetchedParticles fetched_;
};

}  // namespace pergola
