#include "particles/shown_particles.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <set>
#include <thread>

#include "marks.hpp"
#include "particles/shown_state.hpp"
#include "test_devices.hpp"

namespace pergola {
namespace {

/// The threads that show particles. The first one waits for another, and gives up after half a minute.
struct Company {
  std::mutex mutex;
  std::condition_variable another;
  std::set<std::thread::id> threads;
  bool waits = true;
};

/// Shows particles as they are, in company.
struct ShowInCompany {
  Company* company;
  bool moves() const { return true; }
  void operator()(std::int64_t, Vec3<double>&, Vec3<double>&) const {
    std::unique_lock lock(company->mutex);
    company->threads.insert(std::this_thread::get_id());
    company->another.notify_all();
    if (company->waits)
      company->another.wait_for(lock, std::chrono::seconds(30),
                                [&] { return company->threads.size() > 1 || !company->waits; });
    company->waits = false;
  }
};

}  // namespace

// The rule above is for the CPU.
template <>
[[maybe_unused]] void show_cuda(const Device&, std::int64_t, const ShowParticle<double, float, ShowInCompany>&) {}
template <>
[[maybe_unused]] void show_cuda(const Device&, std::int64_t, const ShowParticle<double, double, ShowInCompany>&) {}

namespace {

PERGOLA_MARK(threads, "*");

class ShownParticlesOn : public DeviceTest {};

Particles some(std::int64_t n) {
  Particles p;
  p.resize(n);
  for (std::int64_t i = 0; i < n; ++i) {
    const auto k = static_cast<std::size_t>(i);
    const double value = static_cast<double>(i) / 3;
    p.id[k] = static_cast<std::uint64_t>(7 * i + 1);
    p.species[k] = static_cast<std::uint8_t>(i % 6);
    p.mass[k] = value + 1;
    p.x[k] = value, p.y[k] = -value, p.z[k] = 2 * value;
    p.vx[k] = 3 * value, p.vy[k] = -4 * value, p.vz[k] = 5 * value;
  }
  return p;
}

void expect_same(const Particles& a, const Particles& b) {
  EXPECT_EQ(a.id, b.id);
  EXPECT_EQ(a.species, b.species);
  EXPECT_EQ(a.mass, b.mass);
  EXPECT_EQ(a.x, b.x);
  EXPECT_EQ(a.y, b.y);
  EXPECT_EQ(a.z, b.z);
  EXPECT_EQ(a.vx, b.vx);
  EXPECT_EQ(a.vy, b.vy);
  EXPECT_EQ(a.vz, b.vz);
}

// Reference: what was brought. 600,000 particles are three pieces of page-locked memory on a GPU.
TEST_P(ShownParticlesOn, ADeviceComeBackAsTheyWere) {
  const Particles before = some(600000);
  const auto shown = show_particles(device(2), before);
  expect_same(fetch(*shown), before);
}

// Reference: the same particles cut by hand.
TEST_P(ShownParticlesOn, ADeviceComeInPiecesOfAnySize) {
  const Particles before = some(1000);
  const auto shown = show_particles(device(1), before);
  FetchedParticles source(*shown);
  ASSERT_EQ(source.count(), 1000);
  HostParticles expected(before);
  Particles piece, cut;
  for (const std::int64_t size : {1, 7, 333, 1000}) {
    for (std::int64_t first = 0; first < 1000; first += size) {
      const std::int64_t n = std::min<std::int64_t>(size, 1000 - first);
      source.read(first, n, piece);
      expected.read(first, n, cut);
      expect_same(piece, cut);
    }
  }
}

TEST_P(ShownParticlesOn, ADeviceGiveASolverTheirPlacesInItsNumbers) {
  const Particles before = some(100);
  const auto shown = show_particles(device(1), before);
  const ShownPlaces<float> places(*shown);
  const auto x = places.x.to_host(), mass = places.mass.to_host();
  const auto id = places.id.to_host();
  for (std::size_t k = 0; k < 100; ++k) {
    EXPECT_EQ(x[k], static_cast<float>(before.x[k]));
    EXPECT_EQ(mass[k], static_cast<float>(before.mass[k]));
    EXPECT_EQ(id[k], before.id[k]);
  }
}

// Energies and hashes read pieces of 65536 particles on a CPU. One thread did all of the reading.
TEST(ShownParticles, ThreadsShareThePieceThatSumsRead) {
  constexpr std::int64_t n = 65536;
  const Particles p = some(n);
  const StateArrays<double> arrays{p.x.data(),  p.y.data(),    p.z.data(),       p.vx.data(), p.vy.data(),
                                   p.vz.data(), p.mass.data(), p.species.data(), p.id.data(), nullptr};
  Company company;
  const ShownState<double, ShowInCompany> state(Device::open("cpu", 2), n, arrays, {&company});
  expect_same(fetch(state), p);
  EXPECT_EQ(company.threads.size(), 2u);
}

// Reference: counted by hand: species 0 … 5 in turn, ids 1, 8, 15, …
TEST_P(ShownParticlesOn, ADeviceAreCountedBySpecies) {
  const auto census = census_of(*show_particles(device(1), some(1000)));
  EXPECT_EQ(census.counts, (std::array<std::int64_t, species_count>{167, 167, 167, 167, 166, 166}));
  EXPECT_EQ(census.largest_id, 7u * 999 + 1);
}

INSTANTIATE_TEST_SUITE_P(Devices, ShownParticlesOn, OnEachDevice(), device_test_name);

}  // namespace
}  // namespace pergola
