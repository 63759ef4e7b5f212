#include "particles/particle_check.hpp"

#include <gtest/gtest.h>

#include <limits>

#include "io/temporary_directory.hpp"
#include "marks.hpp"
#include "particles/particle_source.hpp"

namespace pergola {
namespace {

PERGOLA_MARK(threads, "*");

std::string complaint(const Particles& particles, int threads) {
  return error_of(ErrorKind::input, [&] {
    ParticleCheck check("file", particles.size(), threads);
    Particles half;
    HostParticles source(particles);
    const std::int64_t middle = particles.size() / 2;
    source.read(0, middle, half);
    check.add(half);
    source.read(middle, particles.size() - middle, half);
    check.add(half);
    check.finish();
  });
}

TEST(ParticleCheck, FindsWhatIsWrongInPiecesOnAnyThreads) {
  for (const int threads : {1, 3}) {
    Particles p = some_particles(200000);
    p.id[199000] = p.id[7];
    EXPECT_EQ(complaint(p, threads), "file: particle id 26 occurs twice, expected every id once");
    p = some_particles(200000);
    p.id[3] = p.id[150000] = std::numeric_limits<std::uint64_t>::max() - 1;  // far above the count
    EXPECT_EQ(complaint(p, threads), "file: particle id 18446744073709551614 occurs twice, expected every id once");
    p = some_particles(200000);
    p.vy[190000] = std::numeric_limits<double>::infinity();
    p.z[120000] = std::numeric_limits<double>::quiet_NaN();
    EXPECT_EQ(complaint(p, threads), "file: particle id 360005: z is nan, expected a finite number");
    p = some_particles(200000);
    p.mass[5] = -1;
    EXPECT_EQ(complaint(p, threads), "file: particle id 20: mass is -1, expected 0 or more");
  }
}

}  // namespace
}  // namespace pergola
