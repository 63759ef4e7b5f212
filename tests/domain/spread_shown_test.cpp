#include "domain/spread_shown.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "comm/communicator.hpp"
#include "domain/uneven_particles.hpp"
#include "marks.hpp"
#include "particles/sample.hpp"

namespace pergola {
namespace {

PERGOLA_MARK(threads, "*");

Particles stretch(const Particles& all, std::int64_t first, std::int64_t count) {
  Particles part;
  HostParticles(all).read(first, count, part);
  return part;
}

template <class Real>
struct Arrays {
  std::vector<Real> x, vy, mass;
  std::vector<std::uint8_t> species;
  std::vector<std::uint64_t> id;
  bool operator==(const Arrays&) const = default;
};

/// Some of the arrays, in pieces.
template <class Real>
Arrays<Real> shown_in_pieces(const ShownParticles& shown, std::int64_t piece) {
  const auto n = static_cast<std::size_t>(shown.count());
  Arrays<Real> all;
  all.x.resize(n), all.vy.resize(n), all.mass.resize(n), all.species.resize(n), all.id.resize(n);
  std::vector<Real> unused(n);
  for (std::int64_t first = 0; first < shown.count(); first += piece) {
    ShownArrays<Real> to;
    to.x = all.x.data() + first, to.y = unused.data(), to.z = unused.data();
    to.vx = unused.data(), to.vy = all.vy.data() + first, to.vz = unused.data();
    to.mass = all.mass.data() + first, to.species = all.species.data() + first, to.id = all.id.data() + first;
    shown.show(first, std::min(piece, shown.count() - first), to);
  }
  return all;
}

TEST(DistributedShown, ShowsTheParticlesOfAllRanksInTheOrderOfTheInput) {
  const Particles particles = uneven_particles(50);
  const Device device = Device::open("cpu", 1);
  const auto whole = show_particles(device, particles);
  const auto singles = shown_in_pieces<float>(*whole, 50);
  const auto doubles = shown_in_pieces<double>(*whole, 50);
  for (const int ranks : {1, 2, 3, 4, 7, 64})
    run_on_thread_ranks(ranks, [&](Communicator& communicator) {
      const Shares shares{particles.size(), ranks};
      const int rank = communicator.rank();
      const auto own =
          show_particles(Device::open("cpu", 1), stretch(particles, shares.first(rank), shares.count(rank)));
      RankRows rows(communicator, shares);
      const DistributedShown shown(rows, *own);
      rows.on_root(
          [&] {
            for (const std::int64_t piece : {7, 50}) {
              EXPECT_TRUE(shown_in_pieces<float>(shown, piece) == singles) << ranks;
              EXPECT_TRUE(shown_in_pieces<double>(shown, piece) == doubles) << ranks;
            }
            EXPECT_EQ(census_of(shown).largest_id, 1000u);
            const Particles fetched = fetch(shown);
            EXPECT_EQ(fetched.z, particles.z);
            EXPECT_EQ(fetched.id, particles.id);
            for (const std::int64_t most : {1, 9, 50})
              EXPECT_EQ(ParticleSample(shown, most).read(shown).vz, ParticleSample(*whole, most).read(*whole).vz);
          },
          [&](const RankRows::Request& request, std::byte* to) { answer_shown(*own, request, to); });
    });
}

/// Whoever asks for the species only gets nothing else.
TEST(DistributedShown, ArraysThatNobodyWantsDoNotTravel) {
  const Particles particles = uneven_particles(12);
  std::int64_t row_bytes = 0;
  run_on_thread_ranks(3, [&](Communicator& communicator) {
    const Shares shares{particles.size(), 3};
    const int rank = communicator.rank();
    const auto own = show_particles(Device::open("cpu", 1), stretch(particles, shares.first(rank), shares.count(rank)));
    RankRows rows(communicator, shares);
    const DistributedShown shown(rows, *own);
    std::vector<std::uint8_t> species(12);
    rows.on_root(
        [&] {
          ShownArrays<double> to;
          to.species = species.data();
          shown.show(0, 12, to);
          EXPECT_EQ(species, particles.species);
        },
        [&](const RankRows::Request& request, std::byte* to) {
          if (rank == 1) row_bytes = request.row_bytes;
          answer_shown(*own, request, to);
        });
  });
  EXPECT_EQ(row_bytes, 1);
}

}  // namespace
}  // namespace pergola
