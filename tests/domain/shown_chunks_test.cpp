#include "domain/shown_chunks.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "comm/collectives.hpp"
#include "comm/communicator.hpp"
#include "domain/uneven_particles.hpp"
#include "marks.hpp"

namespace pergola {
namespace {

PERGOLA_MARK(threads, "*");

// Reference: the particles themselves. Chunks of one, chunks that several ranks keep parts of, and one of them all.
TEST(ShownChunks, HaveEachChunkWholeOnTheRankThatKeepsItsFirstParticle) {
  const Particles particles = uneven_particles(50);
  for (const int ranks : {1, 2, 3, 4, 7, 64})
    for (const std::int64_t chunk : {1, 8, 20, 60})
      run_on_thread_ranks(ranks, [&](Communicator& communicator) {
        SCOPED_TRACE(std::to_string(ranks) + " ranks, chunks of " + std::to_string(chunk));
        const Shares shares{particles.size(), ranks};
        const int rank = communicator.rank();
        Particles stretch;
        HostParticles(particles).read(shares.first(rank), shares.count(rank), stretch);
        const auto own = show_particles(Device::open("cpu", 1), stretch);
        const ChunkShares chunks(shares, chunk);
        const ShownChunks shown(communicator, chunks, *own);
        EXPECT_EQ(chunks.first(rank) % chunk == 0 || chunks.first(rank) == 50, true);
        EXPECT_EQ(shown.count() > 0, chunks.first(rank) < shares.first(rank + 1));
        const Particles here = fetch(shown);
        const auto all_z = gather_on_root(communicator, here.z);
        const auto all_vx = gather_on_root(communicator, here.vx);
        const auto all_id = gather_on_root(communicator, here.id);
        const auto all_species = gather_on_root(communicator, here.species);
        std::vector<float> x(here.id.size()), rest(here.id.size());
        ShownArrays<float> to;
        for (std::int64_t first = 0; first < shown.count(); first += 3) {
          to.x = x.data() + first, to.y = rest.data(), to.z = rest.data();
          shown.show(first, std::min<std::int64_t>(3, shown.count() - first), to);
        }
        const auto all_x = gather_on_root(communicator, x);
        std::vector<std::uint32_t> every_second;
        for (std::uint32_t place = 1; place < here.id.size(); place += 2) every_second.push_back(place);
        std::vector<double> mass(every_second.size());
        ShownArrays<double> chosen;
        chosen.mass = mass.data();
        shown.show_at(every_second.data(), static_cast<std::int64_t>(mass.size()), chosen);
        for (std::size_t k = 0; k < mass.size(); ++k) EXPECT_EQ(mass[k], here.mass[2 * k + 1]);
        if (rank != 0) return;
        EXPECT_EQ(all_z, particles.z);
        EXPECT_EQ(all_vx, particles.vx);
        EXPECT_EQ(all_id, particles.id);
        EXPECT_EQ(all_species, particles.species);
        EXPECT_EQ(all_x, std::vector<float>(particles.x.begin(), particles.x.end()));
      });
}

}  // namespace
}  // namespace pergola
