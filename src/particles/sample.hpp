#pragma once
#include <cmath>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/philox.hpp"
#include "device/buffer.hpp"
#include "particles/particles.hpp"
#include "particles/shown_particles.hpp"

namespace pergola {

/// A random number that belongs to an id, the same everywhere: by it a sample is chosen.
PERGOLA_HD std::uint32_t sample_hash(std::uint64_t id) {
  constexpr std::uint64_t seed = 20;
  constexpr std::uint32_t stream = 0;
  std::uint32_t words[4];
  Philox(seed, stream, id).block(0, words);
  return words[0];
}

/// A particle by which a sample is chosen.
struct SampleCandidate {
  std::uint64_t id;
  std::uint32_t place;
};
/// Leaves the `most` candidates with the smallest hashes of their ids, of equal hashes those with the smallest ids.
PERGOLA_API void choose_sample(std::vector<SampleCandidate>& candidates, std::int64_t most);

/// The ids of the sample of `most` particles whose ids are 1 … count, rising.
PERGOLA_API std::vector<std::uint64_t> ids_of_sample(int threads, std::int64_t count, std::int64_t most);

/// What is drawn of particles.
struct SampledPoints {
  std::vector<float> x, y, z, speed;
  std::vector<std::uint8_t> species;
  std::vector<std::uint64_t> id;  // empty: not known
};

/// Particle i as it is drawn; looped over on the CPU and on CUDA.
struct DrawPoint {
  ShownArrays<double> from;
  ShownArrays<float> to;  // with the speed in vx
  PERGOLA_HD void operator()(std::int64_t i) const {
    const double vx = from.vx[i], vy = from.vy[i], vz = from.vz[i];
    to.x[i] = static_cast<float>(from.x[i]);
    to.y[i] = static_cast<float>(from.y[i]);
    to.z[i] = static_cast<float>(from.z[i]);
    to.vx[i] = static_cast<float>(std::sqrt(vx * vx + vy * vy + vz * vz));
    to.species[i] = from.species[i];
  }
};

/// A part of the particles of a run that stands for all of them: the `most` with the smallest hashes of their ids, of
/// equal hashes those with the smallest ids. Which ones these are depends on the ids alone, not on the order of the
/// input, the device or the moment, and a smaller sample is part of a larger one.
class PERGOLA_API ParticleSample {
 public:
  /// Looks at all ids where the particles are.
  ParticleSample(const ShownParticles& shown, std::int64_t most);

  std::int64_t size() const { return places_.size(); }
  /// The chosen ones in the order of the input, without potentials: nothing else leaves the device. `shown` shows the
  /// particles that they were chosen from, at any moment.
  Particles read(const ShownParticles& shown);
  /// The same ones as points: a quarter of what read() brings to the host.
  SampledPoints points(const ShownParticles& shown);

 private:
  Buffer<std::uint32_t> places_;  // in the input, rising
  std::optional<ShownPiece> piece_;
  /// Where points are made, and where the host reads them.
  struct Drawn {
    Buffer<double> place[6];
    Buffer<std::uint8_t> species;
    SharedBuffer<float> number[4];
    SharedBuffer<std::uint8_t> kind;
  };
  std::optional<Drawn> drawn_;
  std::vector<std::uint64_t> id_;  // of the points
};

/// Present if cuda_built is true. Does not wait.
void draw_points_cuda(const Device& device, std::int64_t n, const DrawPoint& body);

/// Present if cuda_built is true: finds those of n ids on the device whose hash is below `limit`. Their places, in
/// any order, and how many they are; `count` starts at zero. Does not wait.
void find_sample_cuda(const Device& device, std::int64_t n, const std::uint64_t* id, std::uint64_t limit,
                      std::uint32_t* places, std::uint32_t* count);

}  // namespace pergola
