// Groups of particles that are spread over ranks. The references are all pairs, compared one by one, and one rank,
// which has all particles.
#include "analysis/spread_groups.hpp"
#include "analysis/groups.hpp"
#include "analysis/profiled_places.hpp"
#include "base/error.hpp"
#include "base/philox.hpp"
#include "base/text.hpp"
#include "comm/communicator.hpp"
#include "comm/shares.hpp"
#include "marks.hpp"
#include "particles/particle_source.hpp"
#include "test_devices.hpp"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>

namespace pergola {
namespace {

PERGOLA_MARK(threads, "*");

constexpr double side = 10;

/// Clumps of many sizes, some of them across the faces of the box, with masses and velocities whose sums are rounded.
AnalysisSnapshot clumps(std::int64_t n) {
  AnalysisSnapshot snapshot;
  snapshot.name = "box";
  snapshot.box = {{0, 0, 0}, {side, side, side}, Boundary::periodic};
  snapshot.matter_part = 0.3;
  Particles& p = snapshot.particles;
  p.resize(n);
  for (std::size_t i = 0; i < p.id.size(); ++i) {
    Philox random(11, 0, i), clump(11, 1, i % 23);
    const bool in_clump = i % 4 != 0;
    const double width = 0.3 * clump.uniform();
    const auto place = [&] {
      const double own = random.uniform() - 0.5, center = clump.uniform();
      return in_clump ? std::fmod(side * (1 + (center < 0.2 ? 0 : center)) + width * own, side) : side * (own + 0.5);
    };
    p.x[i] = place(), p.y[i] = place(), p.z[i] = place();
    p.vx[i] = random.uniform(), p.vy[i] = random.uniform(), p.vz[i] = random.uniform();
    p.mass[i] = std::exp(2 * random.uniform());
    p.species[i] = i % 5 == 0 ? 2 : 1;
    p.id[i] = (i * 7919) % 100003 + 1;
  }
  return snapshot;
}

/// What a rank of several is given: its stretch, which has nothing in common with a slab.
AnalysisSnapshot part_of(const AnalysisSnapshot& all, const Communicator& ranks) {
  AnalysisSnapshot part = all;
  const Shares shares{all.particles.size(), ranks.size()};
  HostParticles source(all.particles);
  source.read(shares.first(ranks.rank()), shares.count(ranks.rank()), part.particles);
  return part;
}

std::shared_ptr<Communicator> shared(Communicator& ranks) {
  return {&ranks, [](Communicator*) {}};
}

/// Bytes, for there are numbers that are none.
bool same(const std::vector<GroupProperties>& a, const std::vector<GroupProperties>& b) {
  static_assert(sizeof(GroupProperties) == 17 * 8, "without gaps");
  return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof a[0]) == 0);
}

std::vector<GroupProperties> on_one_rank(const AnalysisSnapshot& all, const AnalysisOptions& options) {
  const Device cpu = Device::open("cpu", 2);
  const ChosenParticles particles(all, options);
  const FoundGroups found(particles.chosen(), options, cpu);
  return found.properties(particles.all(), 0, found.count());
}

void expect_those_of_one_rank(const AnalysisSnapshot& all, const AnalysisOptions& options,
                              const std::vector<int>& rank_counts, const std::string& device = "cpu") {
  const auto one = on_one_rank(all, options);
  for (const int count : rank_counts)
    run_on_thread_ranks(count, [&](Communicator& ranks) {
      DistributedGroups groups(shared(ranks), part_of(all, ranks), options, Device::open(device, 1));
      EXPECT_EQ(groups.count(), static_cast<std::int64_t>(one.size())) << count;
      EXPECT_TRUE(same(groups.properties(0, groups.count()), one)) << count << " ranks";
      const auto masses = groups.masses();
      ASSERT_EQ(masses.size(), one.size());
      for (std::size_t k = 0; k < one.size(); ++k) EXPECT_EQ(masses[k], one[k].mass);
      if (one.size() < 3) return;
      const auto some = groups.properties(1, 2);
      EXPECT_TRUE(same(some, {one[1], one[2]}));
    });
}

AnalysisOptions linking(double spacings, std::int64_t least) {
  AnalysisOptions options;
  options.linking = spacings, options.least = least;
  return options;
}

class DistributedGroupsOn : public DeviceTest {};
INSTANTIATE_TEST_SUITE_P(Devices, DistributedGroupsOn, OnEachDevice(), device_test_name);

// Reference: one rank on the CPU.
TEST_P(DistributedGroupsOn, HaveTheBitsOfOneRank) {
  const auto all = clumps(4000);
  ASSERT_GT(on_one_rank(all, linking(0.2, 5)).size(), 20u);
  const std::vector<int> many{1, 2, 3, 4, 7, 64}, few{1, 3};
  expect_those_of_one_rank(all, linking(0.2, 5), GetParam() == "cpu" ? many : few, GetParam());
}

TEST(DistributedGroups, OfASpeciesHaveTheBitsOfOneRank) {
  AnalysisOptions options = linking(0.2, 5);
  options.species = "disc";
  expect_those_of_one_rank(clumps(3000), options, {2, 3, 7});
}

TEST(DistributedGroups, InOpenSpaceHaveTheBitsOfOneRank) {
  auto all = clumps(2000);
  all.box = {};
  AnalysisOptions options = linking(0.2, 2);
  options.linking_length = 0.1;
  expect_those_of_one_rank(all, options, {2, 3, 7, 64});
}

// Most ranks have neither particles nor a slab.
TEST(DistributedGroups, HaveTheBitsOfOneRankWhereRanksHaveNothing) {
  expect_those_of_one_rank(clumps(5), linking(0.4, 1), {2, 7, 13});
  expect_those_of_one_rank(clumps(40), linking(0.8, 1), {64});
}

// Reference: all pairs, compared one by one, as labels spread until nothing changes.
TEST(DistributedGroups, AreThoseOfAllPairs) {
  const auto all = clumps(600);
  const Particles& p = all.particles;
  const double length = 0.25;
  std::vector<std::uint64_t> label = p.id;
  for (bool changed = true; changed;) {
    changed = false;
    for (std::size_t i = 0; i < label.size(); ++i)
      for (std::size_t j = 0; j < label.size(); ++j) {
        double d2 = 0;
        for (const auto* x : {&p.x, &p.y, &p.z}) {
          const double d = std::abs((*x)[i] - (*x)[j]), nearest = std::min(d, side - d);
          d2 += nearest * nearest;
        }
        if (d2 <= length * length && label[j] > label[i]) label[j] = label[i], changed = true;
      }
  }
  std::map<std::uint64_t, std::set<std::uint64_t>> expected;
  for (std::size_t i = 0; i < label.size(); ++i) expected[label[i]].insert(p.id[i]);
  std::erase_if(expected, [](const auto& group) { return group.second.size() < 3; });
  ASSERT_GT(expected.size(), 5u);
  for (const int count : {2, 3, 7}) {
    std::map<std::uint64_t, std::set<std::uint64_t>> found;
    std::mutex lock;
    run_on_thread_ranks(count, [&](Communicator& ranks) {
      const auto own = part_of(all, ranks);
      const Device cpu = Device::open("cpu", 1);
      const FriendSlabs slabs(ranks, friend_frame(ranks, own.particles, all.box, length), own.particles);
      const Particles here = bring_to_slabs(ranks, slabs, own.particles, 1);
      const OwnGroups groups = friends_in_slabs(ranks, slabs, here, 3, cpu);
      const std::lock_guard guard(lock);
      for (const auto& group : groups.friends.groups) {
        std::set<std::uint64_t> ids;
        for (const std::size_t i : group) ids.insert(groups.members.id[i]);
        EXPECT_TRUE(found.emplace(*ids.begin(), ids).second);
      }
    });
    EXPECT_EQ(found, expected) << count;
  }
}

/// A thread through all slabs, to and fro many times, and around the box; ids are in no order along it.
AnalysisSnapshot thread_through_the_box(std::int64_t n, int turns) {
  AnalysisSnapshot snapshot = clumps(n);
  Particles& p = snapshot.particles;
  for (std::size_t i = 0; i < p.id.size(); ++i) {
    const double along = static_cast<double>(i) / static_cast<double>(n), turn = along * turns;
    const double up = turn - std::floor(turn), row = std::floor(turn);
    p.z[i] = 1 + (side - 2) * (std::fmod(row, 2) < 1 ? up : 1 - up);
    p.x[i] = side * (row + (up > 0.95 ? (up - 0.95) * 20 : 0)) / turns;
    p.y[i] = 5;
    p.id[i] = (i * 7919) % 100003 + 1;
  }
  return snapshot;
}

// Each turn is a step of the exchange of labels: the thread goes ten times through all slabs.
TEST(DistributedGroups, ThatGoThroughAllSlabsAreOne) {
  const auto all = thread_through_the_box(4000, 10);
  AnalysisOptions options = linking(0.2, 100);
  options.linking_length = 0.15;
  ASSERT_EQ(on_one_rank(all, options).size(), 1u);
  expect_those_of_one_rank(all, options, {2, 4, 7});
}

// A group without mass in a box with some has no sphere to look for.
TEST(DistributedGroups, WithoutMassHaveNoSphere) {
  auto all = clumps(1000);
  for (std::size_t i = 0; i < all.particles.id.size(); ++i)
    if (i % 23 != 0) all.particles.mass[i] = 0;
  expect_those_of_one_rank(all, linking(0.2, 5), {3});
}

TEST(DistributedGroups, OfNoParticlesAreRefusedByAll) {
  const auto all = clumps(10);
  AnalysisOptions options = linking(0.2, 5);
  options.species = "stars";
  run_on_thread_ranks(3, [&](Communicator& ranks) {
    EXPECT_THROW(DistributedGroups(shared(ranks), part_of(all, ranks), options, Device::open("cpu", 1)), Error);
    EXPECT_THROW(DistributedGroups(shared(ranks), part_of(all, ranks), linking(3, 5), Device::open("cpu", 1)), Error);
  });
}

/// Tables and sentences of an analysis by ranks, against those of one rank.
void expect_result_of_one_rank(const AnalysisEntry& entry, const AnalysisSnapshot& all, const AnalysisOptions& options,
                               const std::vector<int>& rank_counts) {
  ASSERT_TRUE(entry.by_ranks);
  const auto result = [&](Communicator& ranks) {
    AnalysisFiles files;
    files.names = {all.name};
    files.snapshot = [&](std::size_t) { return part_of(all, ranks); };
    files.ranks = shared(ranks);
    return entry.analyze(files, options, Device::open("cpu", 1));
  };
  const auto text = [](const AnalysisResult& found) {
    std::string words = to_csv(found.table);
    for (const Finding& finding : found.findings) {
      words += finding.name;
      if (const auto* word = std::get_if<std::string>(&finding.value)) words += *word;
      if (const auto* number = std::get_if<double>(&finding.value)) words += to_text(*number);
    }
    return words;
  };
  const std::string one = text(result(*serial_communicator()));
  for (const int count : rank_counts)
    run_on_thread_ranks(count, [&](Communicator& ranks) { EXPECT_EQ(text(result(ranks)), one) << count << " ranks"; });
}

TEST(DistributedProfiles, OfGroupsHaveTheBitsOfOneRank) {
  const auto all = clumps(4000);
  AnalysisOptions options = linking(0.2, 20);
  options.bins = 6;
  expect_result_of_one_rank(profile_entry(), all, options, {2, 3});
  options.groups = 9;
  expect_result_of_one_rank(profile_entry(), all, options, {2, 4, 7, 64});
  options.groups = 0, options.group = 3, options.high = 1, options.species = "halo";
  expect_result_of_one_rank(profile_entry(), all, options, {3});
}

// A group without mass among others: how shells are weighted is decided by all particles.
TEST(DistributedProfiles, OfGroupsWithoutMassHaveTheBitsOfOneRank) {
  auto all = clumps(2000);
  for (std::size_t i = 0; i < all.particles.id.size(); ++i)
    if (i % 23 < 12) all.particles.mass[i] = 0;
  AnalysisOptions options = linking(0.2, 20);
  options.bins = 4, options.groups = 8;
  expect_result_of_one_rank(profile_entry(), all, options, {3});
}

TEST(DistributedProfiles, OfASystemInOpenSpaceHaveTheBitsOfOneRank) {
  auto all = clumps(500);
  all.box = {};
  AnalysisOptions options;
  options.bins = 5;
  expect_result_of_one_rank(profile_entry(), all, options, {2, 7});
  options.species = "disc", options.center = "mass", options.low = 0.1, options.high = 3;
  expect_result_of_one_rank(profile_entry(), all, options, {3});
  options.species = "all", options.center = "5,5,5", options.low = options.high = 0;
  for (double& mass : all.particles.mass) mass = 0;
  expect_result_of_one_rank(profile_entry(), all, options, {4});
  all = clumps(500), all.box = {};
  options.center = "potential", options.softening = 0.01;
  expect_result_of_one_rank(profile_entry(), all, options, {3});
}

TEST(DistributedRadii, HaveTheBitsOfOneRank) {
  auto all = clumps(700);
  AnalysisOptions options;
  options.center = "3,9,5";  // in a periodic box
  expect_result_of_one_rank(radii_entry(), all, options, {3});
  all.box = {};
  options.center = "density";
  expect_result_of_one_rank(radii_entry(), all, options, {1, 2, 3, 4, 7});
  auto few = clumps(100);
  few.box = {};
  expect_result_of_one_rank(radii_entry(), few, options, {64});
  options.center = "potential", options.softening = 0.01;
  expect_result_of_one_rank(radii_entry(), all, options, {3});
  for (const auto id : all.particles.id) all.particles.potential.push_back(static_cast<double>(id % 50));  // many alike
  expect_result_of_one_rank(radii_entry(), all, options, {4});
  all = clumps(21500), all.box = {};  // too many for pairs; of the first rank fewer than of others
  for (std::size_t i = 0; i < all.particles.id.size(); ++i) all.particles.species[i] = i < 1000 ? 2 : 1;
  options.species = "halo";
  expect_result_of_one_rank(radii_entry(), all, options, {3});
  all = clumps(5), all.box = {};  // most ranks have nothing
  options.center = "mass", options.species = "disc";
  for (double& mass : all.particles.mass) mass = 0;
  expect_result_of_one_rank(radii_entry(), all, options, {7});
}

// With the sphere of a halo there, from all species; and where there is none.
TEST(DistributedProfiles, AboutAPlaceInABoxHaveTheBitsOfOneRank) {
  auto all = clumps(4000);
  const Particles& p = all.particles;
  AnalysisOptions options;
  options.center = fmt::format("{},{},{}", p.x[1], p.y[1], p.z[1]), options.high = 2, options.bins = 4;
  EXPECT_GT(profiles_in(all, options, 4, Device::open("cpu", 1), serial_communicator())[0].place.m200c, 0);
  expect_result_of_one_rank(profile_entry(), all, options, {2, 7});
  options.species = "disc";
  expect_result_of_one_rank(profile_entry(), all, options, {3});
  options.center = "9,9,9";
  expect_result_of_one_rank(profile_entry(), all, options, {3});
}

// Where one rank finds that there is nothing all say so, in the words of one.
TEST(DistributedProfiles, ThatCannotBeAreRefusedByAll) {
  const auto all = clumps(1000);
  run_on_thread_ranks(3, [&](Communicator& ranks) {
    AnalysisOptions options = linking(0.2, 20);
    options.group = 1000;
    const auto profiles = [&] {
      return profiles_in(part_of(all, ranks), options, 6, Device::open("cpu", 1), shared(ranks));
    };
    EXPECT_THROW(profiles(), Error);
    options.group = 1, options.low = 2, options.high = 1;
    EXPECT_THROW(profiles(), Error);
  });
}

}  // namespace
}  // namespace pergola
