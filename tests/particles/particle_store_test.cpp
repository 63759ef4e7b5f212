#include "particles/particle_store.hpp"

#include <gtest/gtest.h>

#include <numeric>

#include "marks.hpp"
#include "test_devices.hpp"

namespace pergola {
namespace {

PERGOLA_MARK(threads, "*");

class ParticleStoreOn : public DeviceTest {};

Particles numbered(std::int64_t n) {
  Particles p;
  p.resize(n);
  for (std::size_t k = 0; k < p.id.size(); ++k) {
    const auto value = static_cast<double>(k);
    p.id[k] = 5000 - k;
    p.species[k] = static_cast<std::uint8_t>(k % 6);
    p.mass[k] = value + 0.5;
    p.x[k] = value, p.y[k] = 2 * value, p.z[k] = 3 * value;
    p.vx[k] = -value, p.vy[k] = -2 * value, p.vz[k] = -3 * value;
  }
  return p;
}

/// A source that has nothing whole, in pieces of its own making.
class Pieces final : public ParticleSource {
 public:
  explicit Pieces(const Particles& particles) : host_(particles) {}
  std::int64_t count() const override { return host_.count(); }
  void read(std::int64_t first, std::int64_t n, Particles& to) override { host_.read(first, n, to); }

 private:
  HostParticles host_;
};

void expect_same(const Particles& a, const Particles& b) {
  EXPECT_EQ(a.id, b.id);
  EXPECT_EQ(a.species, b.species);
  EXPECT_EQ(a.mass, b.mass);
  EXPECT_EQ(a.x, b.x);
  EXPECT_EQ(a.z, b.z);
  EXPECT_EQ(a.vx, b.vx);
  EXPECT_EQ(a.vz, b.vz);
}

/// Particle k comes to place n − 1 − k.
template <class Real>
void turn_round(ParticleStore<Real>& store, ParticleField<Real>& spare) {
  std::vector<std::uint32_t> order(static_cast<std::size_t>(store.count()));
  std::iota(order.rbegin(), order.rend(), 0u);
  const Buffer<std::uint32_t> on_device(store.device(), order);
  Buffer<std::byte> work(store.device(), store.count());
  store.reorder(on_device.data(), spare, work.data());
}

// Reference: the particles that were taken; their values fit a float.
TEST_P(ParticleStoreOn, ADeviceShowsWhatItTookInTheOrderOfTheInput) {
  const Particles before = numbered(1000);
  ParticleStore<float> store(device(2));
  ParticleField<float> spare{store, "spare", FieldUse::derived};
  Pieces source(before);
  store.take(source);
  expect_same(fetch(*store.show(ShowAsIs{})), before);
  store.keep_order();
  turn_round(store, spare);
  EXPECT_EQ(store.x.x.fetch(0), 999.0f);
  EXPECT_EQ(store.id_at(0), before.id[999]);
  expect_same(fetch(*store.show(ShowAsIs{})), before);
}

// Reference: the bytes of the same store before it was brought into another order.
TEST_P(ParticleStoreOn, ADeviceSavesTheSameBytesInAnyOrderOfMemory) {
  const Particles before = numbered(777);
  HostParticles source(before);
  ParticleStore<double> store(device(2));
  ParticleField<double> spare{store, "spare", FieldUse::derived};
  store.take(source);
  const auto bytes = [&] {
    StateSource state;
    store.save(state);
    return state.blocks().blocks();
  };
  const auto as_taken = bytes();
  EXPECT_FALSE(as_taken.contains("spare"));
  ASSERT_TRUE(as_taken.contains("position.y"));
  store.keep_order();
  turn_round(store, spare);
  EXPECT_EQ(bytes(), as_taken);
}

// Reference: the store that was saved. An integrator's own field comes with it.
TEST_P(ParticleStoreOn, ADeviceTakesUpWhatWasSaved) {
  struct WithLevel : ParticleStore<double> {
    using ParticleStore<double>::ParticleStore;
    ParticleField<std::int8_t> level{*this, "level"};
  };
  const Particles before = numbered(300);
  HostParticles source(before);
  WithLevel one(device(1)), other(device(1));
  one.take(source);
  const std::vector<std::int8_t> levels(300, 7);
  one.level.from_host(0, 300, levels.data());
  StateSource state;
  one.save(state);
  const StateBlocks blocks = state.blocks();
  BlocksInput input(blocks);
  other.restore(input);
  EXPECT_EQ(other.count(), 300);
  EXPECT_EQ(other.level.fetch(299), 7);
  expect_same(fetch(*other.show(ShowAsIs{})), before);
}

TEST_P(ParticleStoreOn, ADeviceRefusesAStateWithoutOneOfItsFields) {
  const Particles before = numbered(10);
  HostParticles source(before);
  ParticleStore<double> store(device(1));
  store.take(source);
  StateSource state;
  store.save(state);
  StateBlocks blocks = state.blocks();
  blocks.blocks()["mass"].pop_back();
  BlocksInput shorter(blocks);
  EXPECT_THROW(store.restore(shorter), Error);
  blocks.blocks().erase("mass");
  BlocksInput without(blocks);
  EXPECT_THROW(store.restore(without), Error);
}

INSTANTIATE_TEST_SUITE_P(Devices, ParticleStoreOn, OnEachDevice(), device_test_name);

}  // namespace
}  // namespace pergola
