#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

namespace pergola {

/// The way of particles from the ranks that have them to those that own them: Routing on CPUs, DeviceRouting on GPUs.
/// All ranks make all calls together but the const ones.
class ParticleWay {
 public:
  virtual ~ParticleWay() = default;
  /// Particles here that go it, those of them that go to other ranks, and those that arrive here.
  virtual std::int64_t kept() const = 0;
  virtual std::int64_t leaving() const = 0;
  virtual std::int64_t arriving() const = 0;
  /// Values of 1, 4 or 8 bytes, by place here, to the particles that arrive, of up to most_fields fields; and those of
  /// these back.
  struct Field {
    const std::byte* kept;
    std::byte* arrived;
  };
  static constexpr std::size_t most_fields = 8;
  virtual void carry(const std::vector<Field>& fields, std::size_t value_bytes) = 0;
  virtual void carry_back(const std::byte* arrived, std::byte* kept, std::size_t value_bytes) = 0;
  /// A way on which all particles here go as they stand, the first sent[0] of them to rank 0.
  virtual std::unique_ptr<ParticleWay> in_order(const std::vector<std::int64_t>& sent) const = 0;

 protected:
  ParticleWay() = default;
  ParticleWay(const ParticleWay&) = default;
  ParticleWay(ParticleWay&&) = default;
  ParticleWay& operator=(const ParticleWay&) = default;
  ParticleWay& operator=(ParticleWay&&) = default;
};

/// body(V{}) for the unsigned type of so many bytes.
template <class Body>
void with_value_type(std::size_t value_bytes, const Body& body) {
  value_bytes == 8 ? body(std::uint64_t{}) : value_bytes == 4 ? body(std::uint32_t{}) : body(std::uint8_t{});
}

/// Who owns each particle, as a solver divides them: the way to the owners.
struct Division {
  ParticleWay* way = nullptr;  // the solver's, good until it divides again; null: each rank owns what it was given
  /// Memory of the solver that is free until it prepares; null where it has none.
  std::function<std::byte*(std::int64_t bytes)> lend = [](std::int64_t) { return nullptr; };
};

}  // namespace pergola
