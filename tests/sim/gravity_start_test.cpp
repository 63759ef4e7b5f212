// A system knows whether its particles were made on its device, and says so; and it looks at particles before they
// start.
#include "sim/gravity_start.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "comm/communicator.hpp"
#include "comm/shares.hpp"
#include "models/model.hpp"
#include "particles/particle_source.hpp"
#include "sim/gravity_system.hpp"
#include "sim/spread_case.hpp"

namespace pergola {
namespace {

/// Four particles at rest, put into the memory of the device, here the host's, or read.
class FourAtRest final : public DeviceSource {
 public:
  explicit FourAtRest(bool puts) : puts_(puts) {}
  std::int64_t count() const override { return 4; }
  void read(std::int64_t first, std::int64_t n, Particles& to) override {
    to.resize(n);
    for (std::int64_t k = 0; k < n; ++k) {
      const auto i = static_cast<std::size_t>(k);
      const auto at = static_cast<double>(first + k);
      to.id[i] = static_cast<std::uint64_t>(first + k), to.mass[i] = 0.25;
      to.x[i] = at, to.y[i] = at * at, to.z[i] = 0;
    }
  }
  bool put(const Device&, double factor, const AnyDeviceArrays& to, Portion portion) override {
    const bool all = portion == Portion::all;
    return std::visit([&](const auto& arrays) { return put_some(all ? 0 : first_, all ? 4 : own_, factor, arrays); },
                      to);
  }
  void make_shares(const std::shared_ptr<Communicator>& ranks) override {
    const Shares shares{count(), ranks->size()};
    first_ = shares.first(ranks->rank()), own_ = shares.count(ranks->rank());
  }
  double box_side() const override { return 0; }
  double total_mass() const override { return 1; }

 private:
  template <class Real>
  bool put_some(std::int64_t first, std::int64_t n, double factor, const DeviceArrays<Real>& to) {
    if (!puts_) return false;
    Particles all;
    read(first, n, all);
    for (std::size_t i = 0; i < all.id.size(); ++i) {
      to.id[i] = all.id[i], to.species[i] = all.species[i], to.mass[i] = static_cast<Real>(all.mass[i]);
      const double x[3] = {all.x[i], all.y[i], all.z[i]}, v[3] = {all.vx[i], all.vy[i], all.vz[i]};
      for (int d = 0; d < 3; ++d) to.x[d][i] = static_cast<Real>(x[d]), to.v[d][i] = static_cast<Real>(factor * v[d]);
    }
    return true;
  }

  bool puts_;
  std::int64_t first_ = 0, own_ = 0;
};

RunConfig configuration(const std::string& time = "") {
  return parse_config("[run]\ndevice = \"cpu\"\nthreads = 1\nend_time = 0.1\n" + time, "test");
}

std::string said_by(GravitySystem& system) {
  std::string all;
  for (const Remark& remark : system.remarks()) all += remark.text + "\n";
  return all;
}

TEST(NotedStart, ParticlesMadeOnADeviceAreSaidToBe) {
  FourAtRest source(true);
  GravitySystem system(configuration(), source);
  const std::string name = system.device().name();
  EXPECT_EQ(system.made_on(), name);
  EXPECT_EQ(system.particles().y[3], 9);
  EXPECT_NE(system.describe().find("\"initial_conditions_made_on\":\"" + name + "\""), std::string::npos);
  EXPECT_NE(said_by(system).find("initial conditions were made on " + name), std::string::npos);
  GravitySystem resumed(configuration(), system.save());
  EXPECT_EQ(resumed.made_on(), name);
}

TEST(NotedStart, EveryIntegratorTakesThemFromTheDevice) {
  for (const char* time : {"[time]\nintegrator = \"hermite\"\n", "[time]\nintegrator = \"leapfrog\"\nstep = 0.05\n",
                           "[time]\nintegrator = \"leapfrog\"\nsteps = \"block\"\n[gravity]\nsoftening = 0.1\n"}) {
    FourAtRest source(true);
    GravitySystem system(configuration(time), source);
    EXPECT_EQ(system.made_on(), system.device().name()) << time;
  }
}

// Of five ranks one keeps no particle.
TEST(NotedStart, RanksTakeTheirSharesFromTheirDevices) {
  for (const int number : {2, 3, 5})
    for (const bool puts : {true, false})
      run_on_thread_ranks(number, [&](Communicator& ranks) {
        FourAtRest source(puts);
        GravitySystem system(configuration(), source, 0, kept_elsewhere(ranks));
        EXPECT_EQ(system.made_on(), puts ? system.device().name() : "");
        system.on_root([&] {
          EXPECT_EQ(system.particles().id, (std::vector<std::uint64_t>{0, 1, 2, 3}));
          EXPECT_EQ(system.particles().y, (std::vector<double>{0, 1, 4, 9}));
        });
      });
}

TEST(NotedStart, ParticlesThatWereReadAreNot) {
  FourAtRest source(false);
  GravitySystem system(configuration(), source);
  EXPECT_EQ(system.particles().y[3], 9);
  EXPECT_EQ(system.made_on(), "");
  EXPECT_EQ(system.describe(), "{}");
  EXPECT_EQ(said_by(system).find("initial conditions were made"), std::string::npos);
}

double virial_ratio(const Particles& particles) {
  HostParticles source(particles);
  return look_at_start(configuration(), configuration().solver_options(), source).virial_ratio;
}

// Reference: two masses of 1 at a distance of 2 on a circle have 2T = |W| = 1/2; the common motion does not count.
TEST(StartLook, TwoBodiesOnACircleAreInEquilibrium) {
  Particles pair;
  pair.resize(2);
  pair.id = {1, 2}, pair.mass = {1, 1}, pair.x = {-1, 1}, pair.vy = {7.5, 8.5};
  EXPECT_NEAR(virial_ratio(pair), 1, 1e-12);
  pair.vy = {8, 8};
  EXPECT_EQ(virial_ratio(pair), 0);
}

// Reference: 2T/|W| = 1 for a Plummer model. Particles that are sorted in space are the same model.
TEST(StartLook, ASampleStandsForAllInAnyOrder) {
  ModelOptions options;
  options.n = 20000;
  const Particles plummer = make_model("plummer", options);
  EXPECT_NEAR(virial_ratio(plummer), 1, 0.1);
  std::vector<std::size_t> order(plummer.x.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return plummer.x[a] < plummer.x[b]; });
  Particles sorted = plummer;
  for (std::size_t k = 0; k < order.size(); ++k) {
    sorted.x[k] = plummer.x[order[k]], sorted.y[k] = plummer.y[order[k]], sorted.z[k] = plummer.z[order[k]];
    sorted.vx[k] = plummer.vx[order[k]], sorted.vy[k] = plummer.vy[order[k]], sorted.vz[k] = plummer.vz[order[k]];
  }
  EXPECT_NEAR(virial_ratio(sorted), 1, 0.1);
}

// Light bodies on circles about a heavy one that a sample misses: their own pull alone would give 2T/|W| above 1e5.
TEST(StartLook, ASampleWithoutTheHeavyBodySaysNothing) {
  Particles ring;
  ring.resize(10000);
  for (std::size_t k = 1; k < ring.x.size(); ++k) {
    const double angle = static_cast<double>(k), radius = 1 + angle / 1e4;
    ring.mass[k] = 1e-10;
    ring.x[k] = radius * std::cos(angle), ring.y[k] = radius * std::sin(angle);
    ring.vx[k] = -std::sin(angle) / std::sqrt(radius), ring.vy[k] = std::cos(angle) / std::sqrt(radius);
  }
  ring.mass[0] = 1;
  EXPECT_EQ(virial_ratio(ring), 0);
}

// Reference: a Plummer model in N-body units has a half-mass radius of 0.769 and the rms speed sqrt(1/2).
TEST(StartLook, TheCrossingTimeIsThatOfTheModel) {
  ModelOptions options;
  options.n = 2000;
  const Particles plummer = make_model("plummer", options);
  HostParticles source(plummer);
  const StartLook look = look_at_start(configuration(), configuration().solver_options(), source);
  EXPECT_NEAR(look.radius, 0.769, 0.05);
  EXPECT_NEAR(look.crossing_time, 2 * 0.769 / std::sqrt(0.5), 0.3);
}

TEST(StartLook, NumbersThatMakeNoSenseTogetherAreSaid) {
  const StartLook good{1, 0.77, 2.2, 0.01};
  EXPECT_EQ(start_remark(good, 0.01, 10), "");
  EXPECT_EQ(start_remark(good, 0, 10), "");
  EXPECT_EQ(start_remark({}, 1, 1), "");          // nothing is known
  EXPECT_EQ(start_remark(good, 1e-6, 1e-6), "");  // a short look at a long run
  const auto says = [](const StartLook& look, double step, double length, const char* word) {
    EXPECT_NE(start_remark(look, step, length).find(word), std::string::npos) << word;
  };
  says({4e4, 0.77, 2.2, 0.01}, 0.01, 10, "2T/|W| is 4e+04");
  says({4e-3, 0.77, 2.2, 0.01}, 0.01, 10, "2T/|W| is 0.004");
  says(good, 0.1, 0.1, "the whole run");
  says(good, 1, 10, "crossing time");
  says({1, 0.77, 2.2, 3}, 0.01, 10, "gravity.softening is 3");
}

TEST(StartLook, ASystemSaysIt) {
  ModelOptions options;
  options.n = 100;
  Particles plummer = make_model("plummer", options);
  GravitySystem good(configuration(), plummer);
  EXPECT_EQ(said_by(good).find("makes little sense"), std::string::npos);
  for (auto* v : {&plummer.vx, &plummer.vy, &plummer.vz})
    for (double& one : *v) one *= 100;
  GravitySystem fast(configuration(), plummer);
  EXPECT_NE(said_by(fast).find("2T/|W| is"), std::string::npos);
}

}  // namespace
}  // namespace pergola
