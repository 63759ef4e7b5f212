#pragma once
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "particles/particles.hpp"

namespace pergola {

/// Particles that come in pieces: a file, a model, or what lies on the host. Whoever takes them needs no copy of
/// everything.
class PERGOLA_API ParticleSource {
 public:
  virtual ~ParticleSource() = default;
  virtual std::int64_t count() const = 0;
  /// Particles first … first + n − 1, in the order of the input, into `to`, which becomes n long. Any range may be
  /// asked for, also again; ranges in rising order may be faster.
  virtual void read(std::int64_t first, std::int64_t n, Particles& to) = 0;
  /// The whole of it where it lies on the host as it is, so that nobody copies it; else null.
  virtual const Particles* whole() const { return nullptr; }
  /// What messages call it: a file's name.
  virtual std::string name() const { return "particles"; }
};

/// Particles on the host, which somebody else keeps.
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

/// Those at some places.
PERGOLA_API Particles read_at(ParticleSource& particles, const std::vector<std::int64_t>& places);

/// Particles on the host that it keeps itself.
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

}  // namespace pergola
