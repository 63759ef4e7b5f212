#include "plasma/particle_in_cell.hpp"

#include <gtest/gtest.h>

#include <numeric>

#include "base/error.hpp"
#include "marks.hpp"
#include "plasma/plasma_starts.hpp"
#include "test_devices.hpp"

namespace pergola {
namespace {

PERGOLA_MARK(threads, "*");

class ParticleInCellTest : public DeviceTest {};

PlasmaOptions two_species(std::array<int, 3> cells, PlasmaShape shape, bool magnetised) {
  PlasmaOptions options = electrons(cells, 4, 3);
  options.shape = shape;
  options.species.push_back({"ions", 1, 25, 0.25});
  if (magnetised) options.magnetic_field = {0.1, -0.2, 0.5};
  return options;
}

std::vector<PlasmaParticles> start_of(const PlasmaOptions& options, double thermal = 1) {
  return {random_particles(options, 4 * options.cell_count(), thermal, 1),
          random_particles(options, 4 * options.cell_count(), thermal / 5, 2)};
}

bool same(const PlasmaParticles& a, const PlasmaParticles& b) {
  return a.id == b.id && a.x == b.x && a.y == b.y && a.z == b.z && a.vx == b.vx && a.vy == b.vy && a.vz == b.vz;
}

void expect_same_state(const ParticleInCell& a, const ParticleInCell& b, const std::string& what) {
  for (int s = 0; s < 2; ++s) EXPECT_TRUE(same(a.particles(s, true), b.particles(s, true))) << what << " species " << s;
  const auto ea = a.energies(), eb = b.energies();
  EXPECT_EQ(ea.field, eb.field) << what;
  for (std::size_t s = 0; s < 2; ++s) {
    EXPECT_EQ(ea.species[s].energy.x, eb.species[s].energy.x) << what;
    EXPECT_EQ(ea.species[s].kinetic(), eb.species[s].kinetic()) << what;
    EXPECT_EQ(ea.species[s].momentum.x, eb.species[s].momentum.x) << what;
  }
  EXPECT_EQ(a.fields().density, b.fields().density) << what;
}

const std::array<std::array<int, 3>, 3> boxes{{{64, 40, 1}, {6, 22, 1}, {20, 8, 12}}};

TEST_P(ParticleInCellTest, ParticlesComeBackAsTheyWereLoaded) {
  for (const auto& box : boxes) {
    const auto options = two_species(box, PlasmaShape::linear, false);
    auto start = start_of(options);
    const double grain = 0x1p-24;
    for (auto& species : start)
      for (std::size_t i = 0; i < species.id.size(); ++i) {
        species.x[i] = std::floor(species.x[i] / grain) * grain;
        species.y[i] = std::floor(species.y[i] / grain) * grain;
        if (!species.z.empty()) species.z[i] = std::floor(species.z[i] / grain) * grain;
        species.vx[i] = static_cast<float>(species.vx[i]);
        species.vy[i] = static_cast<float>(species.vy[i]);
        if (!species.vz.empty()) species.vz[i] = static_cast<float>(species.vz[i]);
      }
    start[0].x[7] = 0;
    start[0].y[8] = options.cells[1] - grain;
    for (const auto precision : {Precision::single, Precision::double_}) {
      const auto system = make_particle_in_cell(device(), options, precision);
      system->start(start);
      for (int s = 0; s < 2; ++s) EXPECT_TRUE(same(system->particles(s), start[s])) << box[0] << " species " << s;
    }
  }
}

TEST_P(ParticleInCellTest, ParticlesAreGivenBackInTheOrderOfTheirIds) {
  const auto options = electrons({16, 16, 1}, 4);
  const auto sorted = random_particles(options, 1000, 1, 3);
  PlasmaParticles shuffled;
  for (std::size_t k = 0; k < 1000; ++k) {
    const std::size_t i = (k * 137) % 1000;
    shuffled.id.push_back(sorted.id[i] * 1000000007), shuffled.x.push_back(sorted.x[i]),
        shuffled.y.push_back(sorted.y[i]);
    shuffled.vx.push_back(sorted.vx[i]), shuffled.vy.push_back(sorted.vy[i]);
  }
  const auto one = make_particle_in_cell(device(), options, Precision::single);
  const auto other = make_particle_in_cell(device(), options, Precision::single);
  one->start({sorted}), other->start({shuffled});
  one->advance(5, 0.1), other->advance(5, 0.1);
  const auto a = one->particles(0, true), b = other->particles(0, true);
  EXPECT_EQ(a.x, b.x);
  EXPECT_EQ(a.vy, b.vy);
  for (std::size_t i = 0; i < a.id.size(); ++i) EXPECT_EQ(a.id[i] * 1000000007, b.id[i]);
}

TEST_P(ParticleInCellTest, BitsDoNotDependOnTheNumberOfThreads) {
  for (const auto& box : boxes)
    for (const auto shape : {PlasmaShape::linear, PlasmaShape::quadratic}) {
      const auto options = two_species(box, shape, true);
      const auto one = make_particle_in_cell(device(1), options, Precision::single);
      const auto many = make_particle_in_cell(device(3), options, Precision::single);
      one->start(start_of(options)), many->start(start_of(options));
      one->advance(12, 0.2), many->advance(12, 0.2);
      expect_same_state(*one, *many, std::to_string(box[0]));
    }
}

TEST_P(ParticleInCellTest, ResumedRunHasTheSameBits) {
  for (const auto& box : boxes)
    for (const auto shape : {PlasmaShape::linear, PlasmaShape::quadratic})
      for (const auto precision : {Precision::single, Precision::double_}) {
        const auto options = two_species(box, shape, box[0] == 6);
        const auto whole = make_particle_in_cell(device(), options, precision);
        const auto resumed = make_particle_in_cell(device(), options, precision);
        whole->start(start_of(options));
        whole->advance(6, 0.2);
        StateSource state;
        whole->save(state);
        const StateBlocks blocks = state.blocks();
        BlocksInput input(blocks);
        resumed->restore(input);
        EXPECT_EQ(resumed->steps(), 6);
        EXPECT_EQ(resumed->time(), whole->time());
        expect_same_state(*whole, *resumed, "at once");
        whole->advance(7, 0.15), resumed->advance(7, 0.15);
        expect_same_state(*whole, *resumed, std::to_string(box[0]));
      }
}

TEST_P(ParticleInCellTest, SumOfTheDensityIsTheChargeOfTheParticles) {
  for (const auto& box : boxes)
    for (const auto shape : {PlasmaShape::linear, PlasmaShape::quadratic}) {
      auto options = two_species(box, shape, false);
      options.species[1].charge = 3;
      options.background = false;
      options.species[1].weight = 0.25 / 3;
      const auto system = make_particle_in_cell(device(), options, Precision::double_);
      system->start(start_of(options));
      for (int k = 0; k < 5; ++k) {
        const auto density = system->fields().density;
        // Rounding of the single values: the counts themselves are compared, exactly, in every step by the particles.
        EXPECT_NEAR(std::accumulate(density.begin(), density.end(), 0.0), 0.0, 1e-12 * double(density.size()));
        system->advance(1, 0.3);
      }
    }
}

TEST_P(ParticleInCellTest, ParticlesFasterThanATilePerStepArrive) {
  for (const auto& box : boxes) {
    PlasmaOptions options = electrons(box, 4, 3);
    options.species[0].charge = -1e-12;
    const auto start = random_particles(options, 2000, 300, 4);
    const auto system = make_particle_in_cell(device(), options, Precision::single);
    system->start({start});
    system->advance(4, 0.5);
    const auto end = system->particles(0);
    ASSERT_EQ(end.size(), 2000);
    for (std::size_t i = 0; i < 2000; ++i) {
      EXPECT_NEAR(std::remainder(end.x[i] - start.x[i] - 2 * start.vx[i], box[0]), 0, 2e-4) << i;
      EXPECT_NEAR(std::remainder(end.y[i] - start.y[i] - 2 * start.vy[i], box[1]), 0, 2e-4) << i;
      if (box[2] > 1) {
        EXPECT_NEAR(std::remainder(end.z[i] - start.z[i] - 2 * start.vz[i], box[2]), 0, 2e-4) << i;
      }
    }
  }
}

TEST_P(ParticleInCellTest, TileIntoWhichAllParticlesStreamKeepsThemAll) {
  PlasmaOptions options = electrons({64, 64, 1}, 4);
  options.species[0].charge = -1e-12;
  auto start = random_particles(options, 40000, 1, 5);
  for (std::size_t i = 0; i < start.id.size(); ++i) {  // all at (20.5, 40.5) after one time
    start.vx[i] = 20.5 - start.x[i];
    start.vy[i] = 40.5 - start.y[i];
  }
  const auto system = make_particle_in_cell(device(), options, Precision::single);
  system->start({start});
  system->advance(10, 0.1);
  const auto density = system->fields().density;
  double at_cell = 0;
  for (const int y : {40, 41})
    for (const int x : {20, 21}) at_cell += density[y * 64 + x];
  EXPECT_NEAR(at_cell, -1e-12 * 10000, 1e-3 * 1e-8);  // less the background, 4e-12 · 10000/4096
  EXPECT_EQ(system->count(), 40000);
  system->advance(10, 0.1);
  const auto end = system->particles(0);
  ASSERT_EQ(end.id, start.id);
  for (std::size_t i = 0; i < start.id.size(); ++i)
    EXPECT_NEAR(std::remainder(end.x[i] - start.x[i] - 2 * start.vx[i], 64.0), 0, 1e-4);
}

TEST_P(ParticleInCellTest, VelocityThatIsNotANumberStopsWithTheId) {
  const auto options = electrons({16, 16, 1}, 4);
  auto start = random_particles(options, 1000, 1, 6);
  start.vx[77] = 3e38;
  const auto system = make_particle_in_cell(device(), options, Precision::single);
  system->start({start});
  try {
    system->advance(3, 0.1);
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::numerics);
    EXPECT_NE(std::string(error.what()).find("id 78"), std::string::npos) << error.what();
  }
}

TEST_P(ParticleInCellTest, BoxThatIsNotNeutralIsRefusedWithItsCharge) {
  auto options = electrons({16, 16, 1}, 4);
  options.background = false;
  const auto system = make_particle_in_cell(device(), options, Precision::single);
  try {
    system->start({random_particles(options, 1024, 1, 6)});
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::input);
    EXPECT_NE(std::string(error.what()).find("-256"), std::string::npos) << error.what();
  }
}

TEST_P(ParticleInCellTest, MeasuredVelocitiesAreThoseOfTheParticlesGivenOut) {
  for (const auto& box : boxes) {
    const auto options = two_species(box, PlasmaShape::quadratic, true);
    const auto system = make_particle_in_cell(device(), options, Precision::double_);
    system->start(start_of(options));
    system->advance(5, 0.2);
    const auto energies = system->energies();
    for (int s = 0; s < 2; ++s) {
      const auto particles = system->particles(s);
      const auto& species = options.species[s];
      const auto energy_of = [&](const std::vector<double>& v) {
        return 0.5 * species.mass * species.weight * std::inner_product(v.begin(), v.end(), v.begin(), 0.0);
      };
      const Vec3<double> expected{energy_of(particles.vx), energy_of(particles.vy), energy_of(particles.vz)};
      const double kinetic = energies.species[s].kinetic();
      const Vec3<double> apart = energies.species[s].energy - expected;
      EXPECT_LT(dot(apart, apart), 1e-20 * kinetic * kinetic);
      EXPECT_NEAR(kinetic, expected.x + expected.y + expected.z, 1e-10 * kinetic);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Devices, ParticleInCellTest, OnEachDevice(), device_test_name);

}  // namespace
}  // namespace pergola
