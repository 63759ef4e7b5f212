// A field solver of a plasma that no file of src/ knows: one class, one entry and one line that registers it. Then a
// plasma starts, steps, is saved and resumed with it, on any number of ranks.
#include "plasma/field.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "base/error.hpp"
#include "base/philox.hpp"
#include "comm/shares.hpp"
#include "domain/spread_state.hpp"
#include "plasma/particle_in_cell.hpp"

namespace pergola {
namespace {

constexpr double spring = 0.25, amplitude = 0.5, turn = 0.7, middle = 36;

/// In two dimensions, on CPUs: E_x = amplitude cos(turn t), E_y = −spring (y − middle). E_x turns with its quadrature;
/// these three are the state. The charge is ignored.
template <class Real>
class ToyField final : public PlasmaField<Real> {
  using Base = PlasmaField<Real>;
  using Base::device_, Base::options_, Base::ranks_, Base::slab_;

 public:
  ToyField(const Device& device, const PlasmaOptions& options, const std::shared_ptr<Communicator>& ranks)
      : Base(device, options, ranks), pitch_(options.cells[0] + 3) {
    for (Buffer<Real>* one : {&density_, &quadrature_, &x_, &y_}) {
      *one = Buffer<Real>(device, slab_.count > 0 ? slab_.window.count * pitch_ : 0);
      one->zero();
    }
    if (ranks_) around_ = PlanesAround(*ranks_, slab_.planes(*ranks_), slab_.below, slab_.above);
  }

  DepositedFields<Real> deposited() override { return {own(density_)}; }
  GatheredFields<Real> gathered() override {
    const auto all = [&](Buffer<Real>& values) {
      return this->layers(values.data(), slab_.window.count, pitch_).read_only();
    };
    return {{all(x_), all(y_), {}}, slab_.window};
  }
  void start() override {
    each_value([&](std::int64_t at, int row) {
      own(x_).data[at] = static_cast<Real>(amplitude), own(quadrature_).data[at] = 0;
      own(y_).data[at] = static_cast<Real>(-spring * (row - middle));
    });
    resume();
  }
  void resume() override {
    for (Buffer<Real>* one : {&x_, &y_})
      if (ranks_)
        around_.fetch(*ranks_, device_, reinterpret_cast<std::byte*>(own(*one).data),
                      static_cast<std::size_t>(pitch_) * sizeof(Real));
  }
  void advance(double step) override {
    const double c = std::cos(turn * step), s = std::sin(turn * step);
    each_value([&](std::int64_t at, int) {
      Real &x = own(x_).data[at], &q = own(quadrature_).data[at];
      const double before = x;
      x = static_cast<Real>(c * before - s * q), q = static_cast<Real>(s * before + c * q);
    });
    resume();
  }
  std::vector<PlasmaStateField<Real>> state() override {
    return {{"electric_x", own(x_)}, {"electric_y", own(y_)}, {"quadrature", own(quadrature_)}};
  }
  double energy() override { return 0; }
  std::int64_t device_bytes() const override { return static_cast<std::int64_t>(4 * x_.bytes()); }

 private:
  Field<Real> own(Buffer<Real>& values) {
    return this->layers(values.data() ? values.data() + slab_.below * pitch_ : nullptr, slab_.count, pitch_);
  }
  /// body(index, row of the box) for the grid points of this rank.
  template <class Body>
  void each_value(const Body& body) {
    for (int row = 0; row < slab_.count; ++row)
      for (int x = 0; x < options_.cells[0]; ++x) body(row * pitch_ + x, slab_.first + row);
  }

  std::int64_t pitch_;
  PlanesAround around_;
  Buffer<Real> density_, quadrature_, x_, y_;
};

template <class Real>
std::unique_ptr<PlasmaField<Real>> make_toy(const Device& device, const PlasmaOptions& options,
                                            std::shared_ptr<Communicator> ranks) {
  return std::make_unique<ToyField<Real>>(device, options, ranks);
}

PlasmaFieldEntry toy_field_entry() {
  return {.name = "toy",
          .parts =
              [](const PlasmaOptions&) {
                return std::vector{PlasmaFieldPart::density, electric_part(0), electric_part(1)};
              },
          .device_bytes = [](const Device&, const PlasmaOptions& options, int real_bytes,
                             int) { return 4 * real_bytes * options.cell_count(); },
          .make_single = make_toy<float>,
          .make_double = make_toy<double>};
}

/// One that wants what particles do not give.
PlasmaFieldEntry greedy_field_entry() {
  PlasmaFieldEntry entry = toy_field_entry();
  entry.name = "greedy";
  entry.gathers = PlasmaGather::electric_and_magnetic;
  return entry;
}

const bool registered = (register_plasma_field(toy_field_entry()), register_plasma_field(greedy_field_entry()), true);

/// Five rows of tiles, of which the last has eight rows of cells.
PlasmaOptions toy_options(PlasmaShape shape = PlasmaShape::linear) {
  PlasmaOptions options;
  options.field = "toy";
  options.cells = {20, 72, 1};
  options.shape = shape;
  options.species = {{"ions", 1, 1, 0.01}};
  return options;
}

/// Particles `first` … `first + count − 1`, so far from the edges that the spring has no jump there.
PlasmaParticles toy_particles(std::int64_t first, std::int64_t count) {
  PlasmaParticles all;
  for (std::int64_t i = first; i < first + count; ++i) {
    Philox random(11, 0, static_cast<std::uint64_t>(i));
    all.id.push_back(static_cast<std::uint64_t>(i) + 1);
    all.x.push_back(20 * random.uniform()), all.y.push_back(middle + 50 * (random.uniform() - 0.5));
    all.vx.push_back(6 * random.uniform() - 3), all.vy.push_back(2 * random.uniform() - 1);
  }
  return all;
}

std::unique_ptr<ParticleInCell> started(const PlasmaOptions& options, Precision precision,
                                        const std::shared_ptr<Communicator>& ranks = nullptr) {
  auto system = make_particle_in_cell(Device::open("cpu", 2), options, precision, nullptr, ranks);
  const Shares shares{200, ranks ? ranks->size() : 1};
  const int rank = ranks ? ranks->rank() : 0;
  system->start({toy_particles(shares.first(rank), shares.count(rank))});
  return system;
}

StateBlocks saved(const ParticleInCell& system) {
  StateSource state;
  system.save(state);
  return state.blocks();
}

std::shared_ptr<Communicator> shared(Communicator& communicator) {
  return {&communicator, [](Communicator*) {}};
}

// Reference: the leapfrog's own orbits. In the spring sin(Ω dt/2) = ω dt/2; under a force that turns by θ = turn dt in
// a step, sums of cosines. Linear and quadratic clouds have a linear field without error.
TEST(ToyPlasmaField, ParticlesFollowTheOrbitsOfTheLeapfrog) {
  ASSERT_TRUE(registered);
  const double dt = 0.1;
  const int steps = 130;
  const double frequency = 2 / dt * std::asin(std::sqrt(spring) * dt / 2), phase = frequency * dt * steps;
  const double half = turn * dt / 2, time = dt * steps;
  for (const auto shape : {PlasmaShape::linear, PlasmaShape::quadratic})
    for (const auto precision : {Precision::single, Precision::double_}) {
      const auto system = started(toy_options(shape), precision);
      system->advance(steps, dt);
      const auto begin = toy_particles(0, 200), end = system->particles(0);
      const double tolerance = precision == Precision::single ? 2e-4 : 1e-9;
      for (std::size_t i = 0; i < 200; ++i) {
        const double y = begin.y[i] - middle, vx = begin.vx[i], vy = begin.vy[i];
        const double pushed = amplitude * dt * dt * std::pow(std::sin(steps * half) / std::sin(half), 2) / 2;
        ASSERT_NEAR(std::remainder(end.x[i] - (begin.x[i] + vx * time + pushed), 20), 0, tolerance);
        ASSERT_NEAR(end.vx[i], vx + amplitude * dt * std::sin(2 * steps * half) / std::tan(half) / 2, tolerance);
        const double slope = dt / std::sin(frequency * dt);
        ASSERT_NEAR(end.y[i], middle + y * std::cos(phase) + vy * slope * std::sin(phase), tolerance);
        ASSERT_NEAR(end.vy[i], -y / slope * std::sin(phase) + vy * std::cos(phase), tolerance);
      }
    }
}

TEST(ToyPlasmaField, ItsStateIsSavedAndResumedWithTheSameBits) {
  const auto options = toy_options(PlasmaShape::quadratic);
  const auto whole = started(options, Precision::single);
  whole->advance(9, 0.1);
  StateBlocks blocks = saved(*whole);
  for (const char* name : {"electric_x", "electric_y", "quadrature"})
    EXPECT_EQ(blocks.blocks().at(std::string("plasma.field.") + name).size(), 20 * 72 * sizeof(double)) << name;
  const auto resumed = make_particle_in_cell(Device::open("cpu", 1), options, Precision::single);
  BlocksInput input(blocks);
  resumed->restore(input);
  whole->advance(8, 0.15), resumed->advance(8, 0.15);
  EXPECT_EQ(saved(*whole).blocks(), saved(*resumed).blocks());

  blocks.blocks().erase("plasma.field.quadrature");
  try {
    resumed->restore(input);
    ADD_FAILURE() << "no error";
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "checkpoint: block plasma.field.quadrature is missing");
  }
}

// A solver without state leaves checkpoints as they were.
TEST(ToyPlasmaField, TheElectrostaticFieldSavesNothing) {
  PlasmaOptions options = toy_options();
  options.field = "electrostatic";
  const StateBlocks blocks = saved(*started(options, Precision::single));
  for (const auto& [name, bytes] : blocks.blocks()) EXPECT_FALSE(name.starts_with("plasma.field.")) << name;
}

// Also with more ranks than rows of tiles. A rank saves an equal share of each field, whatever rows it has.
TEST(ToyPlasmaField, RanksHaveTheBitsOfOneAndResumeItsState) {
  const auto options = toy_options(PlasmaShape::quadratic);
  const auto alone = started(options, Precision::double_);
  alone->advance(9, 0.1);
  const StateBlocks before = saved(*alone);
  alone->advance(5, 0.2);
  const StateBlocks after = saved(*alone);
  for (const int ranks : {2, 3, 7})
    run_on_thread_ranks(ranks, [&](Communicator& communicator) {
      const auto resumed =
          make_particle_in_cell(Device::open("cpu", 1), options, Precision::double_, nullptr, shared(communicator));
      BlocksInput input(before);
      resumed->restore(input);
      const auto run = started(options, Precision::double_, shared(communicator));
      run->advance(9, 0.1);
      const auto expect_state = [&](const StateBlocks& expected, const ParticleInCell& system) {
        StateSource own;
        system.save(own);
        RankRows rows(communicator, {200, ranks});
        const auto gather = [&] {
          StateSource all;
          put_distributed_state(rows, own, 0, all);
          EXPECT_TRUE(all.blocks().blocks() == expected.blocks()) << ranks << " ranks";
        };
        rows.on_root(gather, [&](const auto& request, std::byte* to) { answer_state(own, request, to); });
      };
      expect_state(before, *resumed), expect_state(before, *run);
      resumed->advance(5, 0.2), run->advance(5, 0.2);
      expect_state(after, *resumed), expect_state(after, *run);
    });
}

TEST(ToyPlasmaField, ItsFieldsAreShownAndItsMemoryIsCounted) {
  const auto system = started(toy_options(), Precision::double_);
  const PlasmaFields fields = system->fields();
  ASSERT_EQ(fields.electric[1].size(), 20u * 72u);
  EXPECT_EQ(fields.electric[1][20 * 30 + 7], -spring * (30 - middle));
  EXPECT_EQ(fields.density.size(), 20u * 72u);
  EXPECT_TRUE(fields.potential.empty());
  EXPECT_THROW(system->field(PlasmaFieldPart::potential), Error);
  PlasmaOptions other = toy_options();
  other.field = "electrostatic";
  const auto bytes = [](const PlasmaOptions& options) {
    return plasma_device_bytes(Device::open("cpu", 1), options, Precision::double_, {200});
  };
  EXPECT_GT(bytes(toy_options()), 4 * 8 * 20 * 72);
  EXPECT_LT(bytes(toy_options()), bytes(other));
}

TEST(ToyPlasmaField, WhatParticlesDoNotGiveAndUnknownNamesAreRefused) {
  PlasmaOptions options = toy_options();
  const auto words = [&](const char* field) -> std::string {
    options.field = field;
    try {
      make_particle_in_cell(Device::open("cpu", 1), options, Precision::single);
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::input);
      return error.what();
    }
    return "nothing was refused";
  };
  EXPECT_EQ(words("greedy"),
            "plasma: particles deposit charge and gather an electric field, or deposit currents and gather a magnetic "
            "field too; the field solver greedy wants neither");
  EXPECT_EQ(words("electrostatik"),
            "plasma.field: expected electrostatic, electromagnetic, toy, greedy, found \"electrostatik\"; did you mean "
            "\"electrostatic\"?");
}

}  // namespace
}  // namespace pergola
