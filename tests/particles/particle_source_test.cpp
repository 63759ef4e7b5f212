#include "particles/particle_source.hpp"
#include "marks.hpp"

#include <gtest/gtest.h>

namespace pergola {
namespace {

PERGOLA_MARK(threads, "*");

TEST(ParticleSource, PiecesOfHostParticlesAreThoseParticles) {
  Particles all;
  all.resize(10);
  for (std::size_t k = 0; k < 10; ++k)
    all.x[k] = 0.5 * static_cast<double>(k), all.species[k] = static_cast<std::uint8_t>(k % 3);
  HostParticles source(all);
  Particles joined, piece;
  for (std::int64_t first = 0; first < 10; first += 4) {
    const std::int64_t n = std::min<std::int64_t>(4, 10 - first);
    source.read(first, n, piece);
    ASSERT_EQ(piece.size(), n);
    joined.append(piece);
  }
  EXPECT_EQ(joined.id, all.id);
  EXPECT_EQ(joined.x, all.x);
  EXPECT_EQ(joined.species, all.species);
  EXPECT_TRUE(joined.potential.empty());
}

}  // namespace
}  // namespace pergola
