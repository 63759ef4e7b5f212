#pragma once
// CUDA only: TiledParticles on a GPU.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/error.hpp"
#include "device/buffer.hpp"
#include "device/parallel.hpp"
#include "device/side_stream.cuh"
#include "plasma/move_cuda.cuh"
#include "plasma/push_cuda.cuh"
#include "plasma/sums_cuda.cuh"
#include "plasma/tile_memory_cuda.cuh"

namespace pergola::cuda {

/// Calls body with the PushKind of these options.
template <class Real, class Body>
void for_kind(const PlasmaOptions& options, const Body& body) {
  const auto with_points = [&]<int dimensions, int velocities, int points>() {
    if (options.magnetised())
      body(PushKind<dimensions, velocities, points, true, Real>());
    else
      body(PushKind<dimensions, velocities, points, false, Real>());
  };
  const auto with_dimensions = [&]<int dimensions, int velocities>() {
    if (options.shape == PlasmaShape::linear)
      with_points.template operator()<dimensions, velocities, 2>();
    else
      with_points.template operator()<dimensions, velocities, 3>();
  };
  if (options.dimensions == 3)
    with_dimensions.template operator()<3, 3>();
  else if (options.velocities == 3)
    with_dimensions.template operator()<2, 3>();
  else
    with_dimensions.template operator()<2, 2>();
}

/// Measured on an H200; more registers where the cloud has 27 points.
template <class Kind>
struct ShapeOfKind {
  static constexpr bool single = sizeof(typename Kind::Real) == 4, volume = Kind::dimensions == 3;
  using type = PushShape<128, !single ? 1 : volume ? 2 : 4, volume && Kind::points == 3 ? 4 : 8>;
};

template <class Real>
class TiledParticlesCuda final : public TiledParticles<Real> {
  using Counts = physics::PlasmaCounts<Real>;
  using Number = typename Counts::Place;

 public:
  TiledParticlesCuda(const Device& device, const PlasmaOptions& options, const std::vector<std::int64_t>& counts)
      : device_(device), options_(options), memory_(device, options, counts), species_(options.species.size()) {
    device_.make_current();
    charge_ = Buffer<unsigned long long>(device_, options_.cell_count() * species_count());
    charge_.zero();
    charges_ = Buffer<SpeciesCharge>(device_, species_count());
    background_ = Buffer<double>(device_, 1);
    sums_ = Buffer<unsigned long long>(device_, 5);
    set_charges();
  }

  void load(int species, const PlasmaParticles& particles) override {
    join();
    memory_.load(species, particles);
    at(species).particles = particles.size();
    set_charges();
    counted_ = false;
  }
  PlasmaParticles unload(int species) const override {
    join();
    return memory_.unload(species);
  }
  std::int64_t count(int species) const override {
    join();
    return memory_.count(species);
  }

  void charge_density(const Field<Real>& density) override {
    device_.make_current();
    if (!counted_) join(), count_charge();
    counted_ = false;
    const DensityTask<Real> task{{options_.cells[0], options_.cells[1], options_.cells[2]},
                                 species_count(),
                                 Counts::charge_bits,
                                 charge_.data(),
                                 charges_.data(),
                                 background_.data(),
                                 density,
                                 memory_.groups().status};
    const std::int64_t each = sums_threads * cells_of_thread;
    const auto blocks = static_cast<unsigned>((options_.cell_count() + each - 1) / each);
    charge_to_density<<<blocks, sums_threads, 0, stream()>>>(task);
    check_launch("charge_to_density");
  }

  void push(const ElectricField<Real>& field, const PushTimes& times) override {
    join();
    if (counted_) charge_.zero();
    for (int s = 0; s < species_count(); ++s)
      if (at(s).particles > 0) push_species(s, field, times);
    const auto groups = memory_.groups();
    side_.fork(stream());
    take_arrivals<<<static_cast<unsigned>(groups.groups), move_threads, memory_.move_bytes(), side_.stream()>>>(groups);
    check_launch("take_arrivals");
    counted_ = true;
  }
  void join() const override {
    device_.make_current();
    side_.join(stream());
  }

  std::vector<PlasmaSums> measure(const ElectricField<Real>& field, double kick) const override {
    join();
    std::vector<PlasmaSums> result;
    for (int s = 0; s < species_count(); ++s) result.push_back(measure_species(s, field, kick));
    return result;
  }

  void check() override {
    join();
    const StreamStatus status = memory_.read_status();
    if (status.bad_group != 0) {
      const auto s = static_cast<int>(status.bad_group - 1) / memory_.groups().box.count();
      throw Error(
          ErrorKind::numerics,
          fmt::format(
              "plasma: species {}: particle id {} has velocity ({}, {}, {}) cells omega_p, expected finite numbers",
              kind_of(s).name, memory_.id(s, status.bad_rank), status.bad_velocity[0], status.bad_velocity[1],
              status.bad_velocity[2]));
    }
    for (int s = 0; s < species_count(); ++s) {
      const std::int64_t held = memory_.count(s);
      if (held != at(s).particles)
        throw Error(ErrorKind::numerics, fmt::format("plasma: species {}: {} particles are left of {}", kind_of(s).name,
                                                     held, at(s).particles));
      if (status.wrong_charge == static_cast<unsigned>(s) + 1)
        throw Error(ErrorKind::numerics,
                    fmt::format("plasma: species {}: the charge on the grid was not that of {} particles",
                                kind_of(s).name, at(s).particles));
    }
    if (status.balance != 0)
      throw Error(ErrorKind::numerics, "plasma: particles that left their tiles are not those that arrived");
    if (status.crowded != 0) memory_.grow(status.refused != 0);
  }

  std::uint64_t layout_version() const override { return memory_.version(); }
  std::int64_t device_bytes() const override {
    return memory_.bytes() +
           static_cast<std::int64_t>(charge_.bytes() + charges_.bytes() + background_.bytes() + sums_.bytes());
  }

 private:
  struct Species {
    std::int64_t particles = 0;
  };

  int species_count() const { return static_cast<int>(options_.species.size()); }
  Species& at(int s) { return species_[static_cast<std::size_t>(s)]; }
  const Species& at(int s) const { return species_[static_cast<std::size_t>(s)]; }
  const PlasmaSpecies& kind_of(int s) const { return options_.species[static_cast<std::size_t>(s)]; }
  cudaStream_t stream() const { return handle(device_.stream()); }
  static void check_launch(const char* name) { cuda::check(cudaGetLastError(), name); }

  ChargeSums charge_of(int s) {
    return {{options_.cells[0], options_.cells[1], options_.cells[2]}, charge_.data() + s * options_.cell_count()};
  }

  /// The charge of a macro-particle and the background that makes the box neutral.
  void set_charges() {
    std::vector<SpeciesCharge> charges;
    double background = 0;
    for (int s = 0; s < species_count(); ++s) {
      const double each = kind_of(s).charge * kind_of(s).weight;
      charges.push_back({std::ldexp(each, -Counts::charge_bits), at(s).particles, 0});
      background -= each * static_cast<double>(at(s).particles);
    }
    charges_.from_host(charges.data());
    background = options_.background ? background / static_cast<double>(options_.cell_count()) : 0;
    background_.from_host(&background);
  }

  void count_charge() {
    charge_.zero();
    const auto groups = memory_.groups();
    for_kind<Real>(options_, [&](auto kind) {
      using Kind = decltype(kind);
      for (int s = 0; s < species_count(); ++s)
        deposit_particles<Kind::dimensions, Kind::points, Real>
            <<<static_cast<unsigned>(groups.box.count()), sums_threads, 0, stream()>>>(groups, s * groups.box.count(),
                                                                                       charge_of(s));
    });
    check_launch("deposit_particles");
  }

  void push_species(int s, const ElectricField<Real>& field, const PushTimes& times) {
    PushTask<Real> task;
    task.all = memory_.groups();
    task.first_group = s * task.all.box.count();
    task.parts = memory_.parts(s);
    for (std::size_t a = 0; a < 3; ++a) task.field[a] = field[a];
    task.charge = charge_of(s);
    task.factors = factors(s, times.kick);
    task.drift = static_cast<Real>(times.drift * static_cast<double>(physics::place_grains<Real>));
    const auto blocks = static_cast<unsigned>(task.all.box.count() * task.parts);
    for_kind<Real>(options_, [&](auto kind) {
      using Kind = decltype(kind);
      using Shape = typename ShapeOfKind<Kind>::type;
      push_particles<Kind, Shape><<<blocks, Shape::threads, 0, stream()>>>(task);
    });
    check_launch("push_particles");
  }

  physics::BorisFactors<Real> factors(int s, double time) const {
    return physics::boris_factors<Real>(kind_of(s).charge / kind_of(s).mass, options_.magnetic_field, time);
  }

  PlasmaSums measure_species(int s, const ElectricField<Real>& field, double kick) const {
    PlasmaSums result;
    if (at(s).particles == 0) return result;
    MeasureTask<Real> task;
    task.all = memory_.groups();
    task.first_group = s * task.all.box.count();
    for (std::size_t a = 0; a < 3; ++a) task.field[a] = field[a];
    task.factors = factors(s, kick);
    sums_.zero();
    task.sums = sums_.data(), task.fastest = sums_.data() + 4;
    launch_measure<false>(task);
    const auto largest = std::bit_cast<double>(sums_.to_host()[4]);
    if (!(largest > 0) || !std::isfinite(largest)) {
      result.kinetic = largest;
      return result;
    }
    // So many whole numbers per unit that all particles together stay below 2⁶².
    const double all = static_cast<double>(at(s).particles);
    task.energy_scale = std::exp2(std::floor(61 - std::log2(all * largest)));
    task.momentum_scale = std::exp2(std::floor(61 - std::log2(all * std::sqrt(largest))));
    launch_measure<true>(task);
    const auto sums = sums_.to_host();
    const auto number = [&](int k) {
      return static_cast<double>(static_cast<std::int64_t>(sums[static_cast<std::size_t>(k)]));
    };
    const double mass = kind_of(s).mass * kind_of(s).weight;
    result.kinetic = 0.5 * mass * number(0) / task.energy_scale;
    result.momentum = (mass / task.momentum_scale) * Vec3<double>{number(1), number(2), number(3)};
    return result;
  }

  template <bool scaled>
  void launch_measure(const MeasureTask<Real>& task) const {
    for_kind<Real>(options_, [&](auto kind) {
      using Kind = decltype(kind);
      measure_particles<Kind::dimensions, Kind::velocities, Kind::points, Kind::magnetised, scaled, Real>
          <<<static_cast<unsigned>(task.all.box.count()), sums_threads, 0, stream()>>>(task);
    });
    check_launch("measure_particles");
  }

  Device device_;
  PlasmaOptions options_;
  TileMemory<Real> memory_;
  std::vector<Species> species_;
  Buffer<unsigned long long> charge_;  // of all species, at the grid points
  Buffer<SpeciesCharge> charges_;
  Buffer<double> background_;
  mutable SideStream side_;                  // on which groups take in their arrivals, beside the field's solution
  mutable Buffer<unsigned long long> sums_;  // what measure() adds up
  bool counted_ = false;                     // charge_ is that of the particles where they are now
};

/// What TiledParticlesCuda takes for particles that are spread evenly.
template <class Real>
std::int64_t stream_bytes(const PlasmaOptions& options, const std::vector<std::int64_t>& counts) {
  const std::int64_t tiles = make_tile_box(options).count(), groups = tiles * std::ssize(options.species);
  std::int64_t all = 0, slots = 0, largest = 0;
  for (const std::int64_t count : counts) {
    const std::int64_t each = (count + tiles - 1) / tiles;
    slots += tiles * slots_for(each);
    all += count, largest = std::max(largest, each);
  }
  const std::int64_t of_particle = options.dimensions * std::int64_t{sizeof(Place<Real>)} +
                                   options.velocities * std::int64_t{sizeof(Real)} +
                                   2 * std::int64_t{sizeof(std::uint32_t)};
  return of_particle * (slots + groups * inbox_for(largest, all, groups)) +
         8 * options.cell_count() * std::ssize(options.species) + 24 * groups;
}

}  // namespace pergola::cuda
