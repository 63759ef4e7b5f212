#include "particles/sample.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>
#include <utility>

#include "marks.hpp"
#include "test_devices.hpp"

namespace pergola {
namespace {

PERGOLA_MARK(threads, "*");

class SampleOn : public DeviceTest {};

/// Ids 1, 4, 7, …; values that tell which particle it is.
Particles numbered(std::int64_t n) {
  Particles p;
  p.resize(n);
  for (std::size_t k = 0; k < p.id.size(); ++k) {
    const auto value = static_cast<double>(k);
    p.id[k] = 3 * k + 1;
    p.species[k] = static_cast<std::uint8_t>(k % 6);
    p.mass[k] = value + 0.5;
    p.x[k] = value, p.y[k] = 2 * value, p.z[k] = 3 * value;
    p.vx[k] = -value, p.vy[k] = -2 * value, p.vz[k] = -3 * value;
  }
  return p;
}

/// The ids in the order in which samples take them: all of them sorted on the host.
std::vector<std::uint64_t> by_hash(const std::vector<std::uint64_t>& ids) {
  std::vector<std::pair<std::uint32_t, std::uint64_t>> order;
  for (const std::uint64_t id : ids) order.emplace_back(sample_hash(id), id);
  std::sort(order.begin(), order.end());
  std::vector<std::uint64_t> sorted_ids;
  for (const auto& [hash, id] : order) sorted_ids.push_back(id);
  return sorted_ids;
}

std::vector<std::uint64_t> sorted(std::vector<std::uint64_t> ids) {
  std::sort(ids.begin(), ids.end());
  return ids;
}

std::vector<std::uint64_t> first_of(const std::vector<std::uint64_t>& ids, std::int64_t n) {
  return sorted({ids.begin(), ids.begin() + n});
}

// Reference: all ids sorted by hash and id. 300,000 are several chunks of the CPU.
TEST_P(SampleOn, ADeviceHasTheSmallestHashesOfItsIds) {
  const Particles all = numbered(300000);
  const auto expected = by_hash(all.id);
  const auto shown = show_particles(device(2), all);
  for (const std::int64_t most : {1, 17, 1000, 150000, 299999, 300000, 400000}) {
    ParticleSample sample(*shown, most);
    const std::int64_t n = std::min<std::int64_t>(most, all.size());
    ASSERT_EQ(sample.size(), n);
    EXPECT_EQ(sorted(sample.read(*shown).id), first_of(expected, n)) << most;
  }
}

// Reference: all ids sorted by hash and id.
TEST(SampleOfConsecutiveIds, IsKnownWithoutTheParticles) {
  for (const std::int64_t count : {1, 999, 1'500'000}) {  // more than a piece
    std::vector<std::uint64_t> all(static_cast<std::size_t>(count));
    std::iota(all.begin(), all.end(), 1u);
    const auto expected = by_hash(all);
    for (const std::int64_t most : {1, 500, 100'000}) {
      const std::int64_t n = std::min(most, count);
      EXPECT_EQ(ids_of_sample(2, count, most), first_of(expected, n)) << count << ", " << most;
    }
  }
}

// Reference: the particles themselves, which come back in the order of the input with everything that they have.
TEST_P(SampleOn, ADeviceComesWithAllThatItsParticlesHave) {
  const Particles all = numbered(5000);
  const auto shown = show_particles(device(1), all);
  const Particles some = ParticleSample(*shown, 300).read(*shown);
  ASSERT_EQ(some.size(), 300);
  EXPECT_TRUE(std::is_sorted(some.x.begin(), some.x.end()));
  for (std::size_t k = 0; k < some.id.size(); ++k) {
    const auto i = static_cast<std::size_t>(some.x[k]);
    EXPECT_EQ(some.id[k], all.id[i]);
    EXPECT_EQ(some.species[k], all.species[i]);
    EXPECT_EQ(some.mass[k], all.mass[i]);
    EXPECT_EQ(some.y[k], all.y[i]);
    EXPECT_EQ(some.z[k], all.z[i]);
    EXPECT_EQ(some.vx[k], all.vx[i]);
    EXPECT_EQ(some.vy[k], all.vy[i]);
    EXPECT_EQ(some.vz[k], all.vz[i]);
  }
}

// The input turned round: the same particles.
TEST_P(SampleOn, ADeviceDoesNotDependOnTheOrderOfTheInput) {
  const Particles one = numbered(4000);
  Particles other = one;
  std::reverse(other.id.begin(), other.id.end());
  const auto shown = show_particles(device(1), one), turned = show_particles(device(1), other);
  EXPECT_EQ(sorted(ParticleSample(*shown, 123).read(*shown).id), sorted(ParticleSample(*turned, 123).read(*turned).id));
}

// Among 300,000 hashes of 32 bits there are equal ones: where a sample ends between two of them it has the smaller id.
TEST_P(SampleOn, ADeviceTakesOfEqualHashesTheSmallerId) {
  const Particles all = numbered(300000);
  const auto order = by_hash(all.id);
  const auto shown = show_particles(device(2), all);
  int ties = 0;
  for (std::size_t k = 0; k + 1 < order.size(); ++k) {
    if (sample_hash(order[k]) != sample_hash(order[k + 1])) continue;
    ++ties;
    EXPECT_LT(order[k], order[k + 1]);
    if (ties > 2) continue;
    const auto most = static_cast<std::int64_t>(k + 1);
    const auto ids = ParticleSample(*shown, most).read(*shown).id;
    const std::set<std::uint64_t> chosen(ids.begin(), ids.end());
    EXPECT_TRUE(chosen.contains(order[k]));
    EXPECT_FALSE(chosen.contains(order[k + 1]));
  }
  EXPECT_GT(ties, 0);
}

// Reference: 1000 of 100,000 numbers drawn evenly; the standard deviation of a mean of so many is 0.9 per cent of all.
TEST_P(SampleOn, ADeviceStandsForAllOfThem) {
  const Particles all = numbered(100000);
  const auto shown = show_particles(device(1), all);
  const auto x = ParticleSample(*shown, 1000).read(*shown).x;
  const double mean = std::accumulate(x.begin(), x.end(), 0.0) / 1000;
  EXPECT_NEAR(mean / 100000, 0.5, 5 * 0.0092);
}

TEST_P(SampleOn, ADeviceOfNothingIsEmpty) {
  const auto shown = show_particles(device(1), Particles{});
  ParticleSample sample(*shown, 10);
  EXPECT_EQ(sample.size(), 0);
  EXPECT_EQ(sample.read(*shown).size(), 0);
}

// Reference: what read() gives.
TEST_P(SampleOn, ADeviceIsDrawnAsItIsRead) {
  const Particles all = numbered(5000);
  const auto shown = show_particles(device(2), all);
  ParticleSample sample(*shown, 300);
  for (int again = 0; again < 2; ++again) {
    const Particles some = sample.read(*shown);
    const SampledPoints points = sample.points(*shown);
    EXPECT_EQ(points.id, sample.read(*shown).id);
    ASSERT_EQ(points.x.size(), 300u);
    EXPECT_EQ(points.species, some.species);
    for (std::size_t k = 0; k < points.x.size(); ++k) {
      EXPECT_EQ(points.x[k], static_cast<float>(some.x[k]));
      EXPECT_EQ(points.y[k], static_cast<float>(some.y[k]));
      EXPECT_EQ(points.z[k], static_cast<float>(some.z[k]));
      EXPECT_FLOAT_EQ(points.speed[k], static_cast<float>(std::hypot(some.vx[k], some.vy[k], some.vz[k])));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Devices, SampleOn, OnEachDevice(), device_test_name);

}  // namespace
}  // namespace pergola
