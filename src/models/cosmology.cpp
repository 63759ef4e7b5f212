#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/error.hpp"
#include "base/text.hpp"
#include "base/units.hpp"
#include "comm/shares.hpp"
#include "models/density_wave.hpp"
#include "models/displaced_lattice.hpp"
#include "models/glass.hpp"
#include "models/lagrangian.hpp"
#include "models/model_entry.hpp"
#include "models/sampling.hpp"
#include "models/transfer_table.hpp"
#include "particles/box.hpp"
#include "physics/cosmology.hpp"
#include "physics/green.hpp"
#include "physics/power_spectrum.hpp"

// The model `cosmology`. Steps: (1) the linear power spectrum from a fit or a table, (2) Gaussian waves of the density
// contrast today, (3) displacements of a lattice or a glass to order 1, 2 or 3, (4) each term times its growth D(a)
// gives positions, and times f D H gives velocities.
// Units: Mpc/h, 1e10 solar masses/h, km/s; velocities are GADGET's √a dx/dt. Positions are comoving.
// Ranks make the same bits as one process. A GPU makes lattices of order 1 and 2 (displaced_lattice_cuda.cu).
namespace pergola {

namespace {

/// The parameters of the model, with the combinations refused that no single range can refuse.
physics::Cosmology universe_of(const ModelInput& input) {
  physics::Cosmology universe;
  for (const auto& parameter : physics::cosmology_parameters) universe.*parameter.value = input.number(parameter.name);
  if (universe.omega_baryon > universe.omega_matter)
    throw Error(ErrorKind::input, fmt::format("cosmology: omega_baryon: expected at most omega_matter, {}, found {}",
                                              to_text(universe.omega_matter), to_text(universe.omega_baryon)));
  if (universe.h > 10)
    throw Error(ErrorKind::input,
                fmt::format("cosmology: h: expected H0 over 100 km/s/Mpc, such as 0.7, found {}", to_text(universe.h)));
  return universe;
}

double scale_factor(const ModelInput& input) { return 1 / (1 + input.number("redshift")); }

int side_of(const ModelInput& input) {
  return static_cast<int>(std::lround(std::cbrt(static_cast<double>(input.n()))));
}

std::optional<TransferTable> table_of(const ModelInput& input) {
  const std::string& word = input.word("transfer");
  if (word == "eisenstein-hu" || word == "no-wiggle") return std::nullopt;
  const auto universe = universe_of(input);
  return TransferTable(word, universe);
}

/// Normalised to sigma8 by LinearPower. A table bounds the wave numbers that can be drawn.
physics::LinearPower power_of(const ModelInput& input) {
  const auto universe = universe_of(input);
  if (const auto table = table_of(input))
    return {[table = *table](double k) { return table(k); }, universe.n_s, universe.sigma8, table->first(),
            table->last()};
  if (input.word("transfer") != "no-wiggle") return physics::eisenstein_hu_power(universe);
  const physics::EisensteinHu fit(universe.omega_matter, universe.omega_baryon, universe.h);
  return {[fit](double k) { return fit.smooth(k); }, universe.n_s, universe.sigma8};
}

/// For all wave numbers of the lattice: from one wave per box to the corner of the cube of Nyquist's numbers.
RootPower root_power_of(const ModelInput& input) {
  const double unit = physics::wave_number(1, input.number("box"));
  return {power_of(input), unit, unit * std::sqrt(3.0) * std::max(1, side_of(input) / 2)};
}
WaveDraw draw_of(const ModelInput& input) { return {input.seed(), input.flag("fixed"), input.flag("paired")}; }

/// Waves of the density contrast today, linear.
DensityWave waves_of(const ModelInput& input) {
  const double box = input.number("box");
  return [root = root_power_of(input), draw = draw_of(input), unit = physics::wave_number(1, box),
          volume = box * box * box](int kx, int ky, int kz) {
    const DrawnWave wave = DrawnWaves{draw, root.view(), unit, volume}(kx, ky, kz);
    return std::complex<double>(wave.real, wave.imaginary);
  };
}

int order_of(const ModelInput& input) {
  const double order = input.number("order");
  if (order != 1 && order != 2 && order != 3)
    throw Error(ErrorKind::input, fmt::format("cosmology: order: expected 1, 2 or 3, found {}", to_text(order)));
  return static_cast<int>(order);
}

/// The units of this model have the Hubble constant 100 km/s/Mpc × h in them.
physics::Background background_of(const ModelInput& input) {
  const UnitSystem units = *find_unit_system("cosmology");
  return universe_of(input).background(physics::hubble_in_units_per_h(units.length_cm, units.velocity_cm_per_s));
}

void check(const ModelInput& input) {
  const double g = find_unit_system("cosmology")->gravitational_constant;
  if (std::abs(input.gravitational_constant() - g) > 1e-3 * g)
    throw Error(ErrorKind::input,
                "cosmology: units: expected \"cosmology\", in which this model is made (Mpc/h, 1e10 solar masses/h, "
                "km/s), found others");
}

bool stands_on_lattice(const ModelInput& input) { return input.word("grid") == "lattice"; }

StartPlaces start_of(const ModelInput& input) {
  return stands_on_lattice(input) ? StartPlaces(side_of(input))
                                  : StartPlaces::glass(side_of(input), input.seed(), input.threads());
}

/// D and d ln D/d ln a of a term.
std::array<double, 2> growth_of(const physics::Growth& growth, LagrangianTerm term) {
  switch (term) {
    case LagrangianTerm::first:
      return {growth.d1, growth.f1};
    case LagrangianTerm::second:
      return {growth.d2, growth.f2};
    case LagrangianTerm::third_a:
      return {growth.d3a, growth.f3a};
    case LagrangianTerm::third_b:
      return {growth.d3b, growth.f3b};
    case LagrangianTerm::third_c:
      break;
  }
  return {growth.d3c, growth.f3c};
}

/// √a dx/dt, GADGET's velocity, is this times Σ f D ψ: dx/dt = H Σ f D ψ.
double gadget_speed(const physics::Background& background, double a) { return std::sqrt(a) * background.rate(a); }

/// The mass in the box: the mean density of matter times its volume.
double matter_of(const ModelInput& input) {
  const double box = input.number("box");
  return physics::mean_density(background_of(input), input.gravitational_constant()) * box * box * box;
}

/// A rank's share of them. Ranks make the displacements of their planes; those of a lattice move the particles of the
/// planes, of which the few that others keep go there. Points of a glass are anywhere in their tile: there every rank
/// gets all displacements for its share.
Particles make_cosmology(const ModelInput& input, const std::shared_ptr<Communicator>& ranks) {
  check(input);
  const int side = side_of(input), order = order_of(input);
  const double box = input.number("box"), a = scale_factor(input), spacing = box / side;
  const auto background = background_of(input);
  const physics::Growth growth = physics::growth_at(background, a);
  WaveCube cube(side, input.threads(), ranks);
  const LatticeCuts cuts(side, ranks->size());
  const auto &slabs = cuts.slabs, &shares = cuts.shares;
  const auto own = static_cast<std::size_t>(ranks->rank());
  const bool lattice = stands_on_lattice(input), alone = ranks->size() == 1;
  const Stretch made = lattice ? slabs[own] : shares[own];
  // The particles, and the waves that they are displaced with; of a glass three numbers of each particle of all ranks,
  // less than half of what it takes.
  check_memory((order < 3 ? 2 : 3) * made.count + (lattice || alone ? 0 : input.n() / 2));
  Particles particles = equal_masses(shares[own].count, 0);
  std::fill(particles.mass.begin(), particles.mass.end(), matter_of(input) / static_cast<double>(input.n()));
  std::iota(particles.id.begin(), particles.id.end(), static_cast<std::uint64_t>(shares[own].first) + 1);
  const std::array<std::vector<double>*, 3> x{&particles.x, &particles.y, &particles.z};
  const std::array<std::vector<double>*, 3> v{&particles.vx, &particles.vy, &particles.vz};
  for (std::size_t axis = 0; axis < 3; ++axis)
    for (auto* values : {x[axis], v[axis]}) values->resize(static_cast<std::size_t>(made.count));
  const StartPlaces start = start_of(input);
  const auto each = [&](const auto& body) {
    parallel_chunks(input.threads(), made.count, 65536, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i)
        for (std::size_t axis = 0; axis < 3; ++axis)
          body(i, axis, (*x[axis])[static_cast<std::size_t>(i)], (*v[axis])[static_cast<std::size_t>(i)]);
    });
  };
  each([&](std::int64_t i, std::size_t axis, double& place, double&) {
    place = start.at(made.first + i, axis) * spacing;
  });
  const double speed = gadget_speed(background, a);
  const auto displace = [&](LagrangianTerm term, const std::array<std::vector<double>, 3>& of_planes) {
    const auto [d, f] = growth_of(growth, term);
    const double length = box * d, velocity = speed * f * length;
    std::array<std::vector<double>, 3> of_all;
    if (!lattice && !alone)
      for (std::size_t axis = 0; axis < 3; ++axis)
        of_all[axis] =
            fetch_stretch(*ranks, slabs, std::vector<Stretch>(slabs.size(), {0, input.n()}), of_planes[axis].data());
    const auto& by = lattice || alone ? of_planes : of_all;
    each([&](std::int64_t i, std::size_t axis, double& place, double& moving) {
      const double here = lattice ? by[axis][static_cast<std::size_t>(i)] : start.of(by[axis], made.first + i);
      place += length * here;
      moving += velocity * here;
    });
  };
  lagrangian_displacements(cube, waves_of(input), order, displace, start.window());
  each([&](std::int64_t, std::size_t, double& place, double&) { place = wrap(place, 0.0, box); });
  if (lattice && !alone)
    for (std::size_t axis = 0; axis < 3; ++axis)
      for (auto* values : {x[axis], v[axis]}) *values = fetch_stretch(*ranks, slabs, shares, values->data());
  return particles;
}

/// On a GPU: a lattice to first or second order. Null: the CPU makes it.
std::unique_ptr<DeviceSource> make_on_device(const ModelInput& input, const Device& device) {
  check(input);
  const int order = order_of(input);
  if (!device.is_cuda() || !stands_on_lattice(input) || order > 2) return nullptr;
  const double box = input.number("box"), a = scale_factor(input);
  const auto background = background_of(input);
  const physics::Growth growth = physics::growth_at(background, a);
  DisplacedLattice lattice{side_of(input),       order,         box, matter_of(input) / static_cast<double>(input.n()),
                           root_power_of(input), draw_of(input)};
  for (int k = 0; k < 2; ++k) {
    const auto [d, f] = growth_of(growth, k == 0 ? LagrangianTerm::first : LagrangianTerm::second);
    lattice.length[k] = d;
    lattice.velocity[k] = gadget_speed(background, a) * f * box * d;
  }
  if constexpr (cuda_built) return make_displaced_lattice_cuda(std::move(lattice), device);
  return nullptr;
}

std::vector<ModelOption> options() {
  std::vector<ModelOption> all{
      {"box", 100.0, "side of the periodic box, Mpc/h", Range::above(0), {}, false, dimension::length},
      {"redshift", 49.0, "at which the run starts", Range::at_least(0), {}},
      {"order",
       2.0,
       "of Lagrangian perturbation theory: 1, 2 or 3; to 2 a lattice is made on the GPU of a run",
       Range::between(1, 3),
       {}},
      {"grid", std::string("lattice"), "what is displaced: lattice, or glass (made for it)", {}, {"lattice", "glass"}},
      {"transfer",
       std::string("eisenstein-hu"),
       "eisenstein-hu, no-wiggle, or a table of CAMB or CLASS",
       {},
       {"eisenstein-hu", "no-wiggle"},
       true},
      {"fixed", false, "all waves at their rms amplitude", {}, {}},
      {"paired", false, "the opposite of the field", {}, {}}};
  const physics::Cosmology defaults;
  for (const auto& parameter : physics::cosmology_parameters) {
    Range range = Range::between(parameter.low, parameter.high);
    if (parameter.above) range = Range::above(parameter.low);
    all.push_back({parameter.name, defaults.*parameter.value, parameter.help, range, {}});
  }
  return all;
}

/// A thirtieth of the particles' mean distance.
std::array<double, species_count> advice(const ModelInput& input) {
  std::array<double, species_count> epsilon{};
  epsilon[1] = input.number("box") / side_of(input) / 30;
  return epsilon;
}

}  // namespace

ModelEntry cosmology_model() {
  ModelEntry entry{.info = {.name = "cosmology",
                            .summary = "a box of the universe: a lattice or a glass displaced by Gaussian waves, Mpc/h",
                            .default_n = 64 * 64 * 64,
                            .any_n = true,
                            .options = options(),
                            .units = "cosmology",
                            .own_units = true,
                            .cube = true},
                   .make = [](const ModelInput& input) { return make_cosmology(input, serial_communicator()); },
                   .box_side = [](const ModelInput& input) { return input.number("box"); },
                   .side_option = "box",
                   .softening = advice};
  entry.cosmology = [](const ModelInput& input) -> std::optional<CosmologicalStart> {
    return CosmologicalStart{universe_of(input), scale_factor(input)};
  };
  entry.on_device = make_on_device;
  entry.share = make_cosmology;
  entry.total_mass = matter_of;
  entry.lattice = [](const ModelInput& input) { return stands_on_lattice(input) ? side_of(input) : 0; };
  entry.waves = [](const ModelInput& input) -> std::optional<ModelWaves> {
    const auto table = table_of(input);
    const std::string fit = input.word("transfer") == "no-wiggle"
                                ? "Eisenstein & Hu 1998 without the waves of the baryons"
                                : "Eisenstein & Hu 1998";
    return ModelWaves{power_of(input), input.flag("fixed"), order_of(input), table ? table->description() : fit,
                      table ? input.word("transfer") : ""};
  };
  entry.remark = [](const ModelInput& input) {
    const auto table = table_of(input);
    return table ? fmt::format("transfer: {}", table->description()) : std::string();
  };
  return entry;
}

}  // namespace pergola
