// The electromagnetic field on any device: see electromagnetic.hpp; the passes over the grid are in yee_loops.hpp.
#include "plasma/electromagnetic.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>
#include <utility>

#include "base/error.hpp"
#include "device/buffer.hpp"
#include "mesh/poisson.hpp"
#include "plasma/host_field.hpp"
#include "plasma/tiles.hpp"
#include "plasma/yee_loops.hpp"

namespace pergola {

namespace {

using plasma::YeePass;
using plasma::YeeTask;

void check_electromagnetic(const PlasmaOptions& options) {
  const auto refuse_light = [](const std::string& text) {
    throw Error(ErrorKind::input, "plasma: the electromagnetic field " + text);
  };
  if (!(options.light_speed > 0) || !std::isfinite(options.light_speed))
    refuse_light(fmt::format("needs a light_speed above zero, found {}", options.light_speed));
  if (options.velocities != 3) refuse_light("needs three velocities, found two");
  for (std::size_t a = 0; a < 3; ++a) {
    const bool there = static_cast<int>(a) < options.dimensions;
    if (!there && options.edges[a] != PlasmaEdge::periodic) refuse_light("has no ends along z in two dimensions");
    if (there && options.edges[a] == PlasmaEdge::absorbing &&
        (options.absorbing_cells < 1 || 2 * options.absorbing_cells >= options.cells[a]))
      refuse_light(fmt::format("needs absorbing layers of 1 to {} cells along {}, found {}", (options.cells[a] - 1) / 2,
                               "xyz"[a], options.absorbing_cells));
  }
  for (const PlasmaLaser& laser : options.lasers) {
    const int margin = options.edges[0] == PlasmaEdge::absorbing ? options.absorbing_cells + 1 : 1;
    if (!(laser.x >= margin && laser.x <= options.cells[0] - margin))
      refuse_light(fmt::format("needs the antenna of a laser at x of {} to {} cells, found {}", margin,
                               options.cells[0] - margin, laser.x));
    if (!(laser.wavelength > 2) || !(laser.duration > 0) || !(laser.waist >= 0) || !(std::cos(laser.angle) > 0))
      refuse_light(
          fmt::format("needs a laser with a wavelength above 2 cells, a duration above 0, a waist not below 0 "
                      "and an angle below 90 degrees, found {}, {}, {} and {} radians",
                      laser.wavelength, laser.duration, laser.waist, laser.angle));
  }
  if (options.smoothing != 0) refuse_light(fmt::format("has no smoothing, found {}", options.smoothing));
}

/// Each rank has its layers of all fields, and of E and B also layers around them: particles want slab.below and
/// slab.above of both, (2) of a step wants B one below, and (1) and (3) want E one above each layer of B.
template <class Real>
class Electromagnetic final : public PlasmaField<Real> {
  using Base = PlasmaField<Real>;
  using Base::device_, Base::options_, Base::ranks_, Base::slab_;
  using Components = std::array<Buffer<Real>, 3>;

 public:
  Electromagnetic(const Device& device, const PlasmaOptions& options, std::shared_ptr<Communicator> ranks)
      : Base(device, options, std::move(ranks)),
        pitch_((options.cells[0] + 16) / 16 * 16),
        below_(ranks_ ? std::max(slab_.below, 1) : 0),
        above_(ranks_ ? slab_.above + 1 : 0),
        layers_(slab_.count > 0 ? below_ + slab_.count + above_ : 0) {
    const auto make = [&](Buffer<Real>& field, int layers) {
      field = Buffer<Real>(device, layers * layer());
      field.zero();
    };
    for (auto* const field : {&electric_, &magnetic_})
      for (auto& component : *field) make(component, layers_);
    for (auto& component : moved_) make(component, slab_.count);
    make(density_, slab_.count);
    for (int a = 0; a < options.dimensions; ++a) {
      if (options.edges[static_cast<std::size_t>(a)] == PlasmaEdge::periodic) continue;
      End& end = ends_.emplace_back();
      end.axis = a;
      if (options.edges[static_cast<std::size_t>(a)] == PlasmaEdge::conducting) continue;
      end.cells = options.absorbing_cells;
      end.tables = Buffer<Real>(device, 4 * std::int64_t{options.cells[static_cast<std::size_t>(a)]});
      for (auto* const psi : {&end.electric, &end.magnetic})
        for (auto& component : *psi) make(component, layers_);
    }
    if (!options.lasers.empty()) clock_ = Buffer<plasma::YeeClock>(device, 1);
    set_time(0, 0);
    if (!ranks_) return;
    around_ = PlanesAround(*ranks_, slab_.planes(*ranks_), below_, above_);
    if constexpr (cuda_built)
      if (device.is_cuda()) planes_ = std::make_unique<DevicePlanes>(device, ranks_);
  }

  DepositedFields<Real> deposited() override {
    DepositedFields<Real> fields{this->layers(density_.data(), slab_.count, pitch_)};
    for (std::size_t a = 0; a < 3; ++a) fields.current[a] = this->layers(moved_[a].data(), slab_.count, pitch_);
    return fields;
  }
  GatheredFields<Real> gathered() override {
    GatheredFields<Real> fields{{}, slab_.window};
    const auto view = [&](Buffer<Real>& component) {
      Real* const first = layers_ > 0 ? component.data() + (below_ - slab_.below) * layer() : nullptr;
      return this->layers(first, slab_.window.count, pitch_).read_only();
    };
    for (std::size_t a = 0; a < 3; ++a)
      fields.electric[a] = view(electric_[a]), fields.magnetic[a] = view(magnetic_[a]);
    return fields;
  }

  void start() override;
  void resume() override {
    for (auto* const field : {&electric_, &magnetic_}) fetch_around(*field);
    for (End& end : ends_)
      if (end.absorbs()) fetch_around(end.magnetic);
  }
  void advance(double step) override {
    const double longest = step / physics::courant_number(options_.dimensions, options_.light_speed, step);
    if (!(step < longest))
      throw Error(
          ErrorKind::input,
          fmt::format("plasma: the time step is {}, expected below {}: light would outrun the grid", step, longest));
    if (step != step_) set_absorbers(step);
    step_ = step;
    half_magnetic(false);
    const double factor = options_.light_speed * options_.light_speed * step;
    yee_pass(device_, YeePass::electric, task(below_, slab_.count, factor));
    for (End& end : ends_)
      if (end.absorbs())
        yee_pass(device_, YeePass::absorb_electric, end.task(task(below_, slab_.count, factor), end.electric));
    for (std::size_t k = 0; k < options_.lasers.size(); ++k)
      yee_send(device_, task(below_, slab_.count, 0), antenna(options_.lasers[k]), clock_.data(),
               k + 1 == options_.lasers.size());
    for (End& end : ends_) yee_pass(device_, YeePass::conduct, end.task(task(below_, slab_.count, 0), end.electric));
    fetch_around(electric_);
    half_magnetic(true);
  }

  void set_time(double from_time, std::int64_t steps) override {
    const plasma::YeeClock now{from_time, steps};
    clock_.from_host(&now);
  }

  std::vector<PlasmaStateField<Real>> state() override {
    std::vector<PlasmaStateField<Real>> fields;
    for (std::size_t a = 0; a < 3; ++a) fields.push_back({std::string("electric_") + "xyz"[a], own(electric_[a])});
    for (std::size_t a = 0; a < 3; ++a) fields.push_back({std::string("magnetic_") + "xyz"[a], own(magnetic_[a])});
    for (End& end : ends_)
      for (std::size_t k = 0; end.absorbs() && k < 2; ++k) {
        const std::string name = fmt::format("absorber_{}_{}", "xyz"[end.axis], k);
        fields.push_back({name + "_electric", own(end.electric[k])});
        fields.push_back({name + "_magnetic", own(end.magnetic[k])});
      }
    return fields;
  }
  /// The current is that of the last step; zero before the first one.
  std::vector<double> values(PlasmaFieldPart part) override {
    std::vector<double> found = Base::values(part);
    if (part >= PlasmaFieldPart::current_x)
      for (double& value : found) value = step_ > 0 ? value / step_ : 0.0;
    return found;
  }
  double energy() override {
    auto sums = yee_row_energies(device_, task(below_, slab_.count, 0), options_.light_speed, options_.magnetic_field);
    if (ranks_) sums = gather_layers(*ranks_, slab_, sums, slab_.rows_in_layer());
    return 0.5 * std::accumulate(sums.begin(), sums.end(), 0.0);
  }
  std::int64_t device_bytes() const override {
    std::size_t bytes = 3 * (electric_[0].bytes() + magnetic_[0].bytes() + moved_[0].bytes()) + density_.bytes();
    for (const End& end : ends_) bytes += 4 * end.electric[0].bytes();
    return static_cast<std::int64_t>(bytes) + (planes_ ? 6 * around_.message_bytes(layer_bytes()) : 0);
  }

 private:
  /// Values in a layer of grid points, with padding.
  std::int64_t layer() const { return slab_.rows_in_layer() * pitch_; }
  std::size_t layer_bytes() const { return static_cast<std::size_t>(layer()) * sizeof(Real); }
  Real* first_own(Buffer<Real>& component) const { return layers_ > 0 ? component.data() + below_ * layer() : nullptr; }
  Field<Real> own(Buffer<Real>& component) const { return this->layers(first_own(component), slab_.count, pitch_); }

  YeeTask<Real> task(int first, int count, double factor) {
    YeeTask<Real> task{
        options_.dimensions, options_.cells[0], static_cast<int>(slab_.rows_in_layer()), layers_, !ranks_, pitch_};
    for (std::size_t a = 0; a < 3; ++a)
      task.electric[a] = electric_[a].data(), task.magnetic[a] = magnetic_[a].data(), task.moved[a] = moved_[a].data();
    task.first_of_box = slab_.first - below_;
    task.layers_of_box = options_.cells[static_cast<std::size_t>(slab_.axis)];
    task.first = first, task.count = layers_ > 0 ? count : 0, task.factor = static_cast<Real>(factor);
    return task;
  }
  /// ψ belongs to the E that both halves around a whole step share: the first one to see it renews ψ.
  void half_magnetic(bool renews) {
    YeeTask<Real> half = task(0, ranks_ ? layers_ - 1 : layers_, 0.5 * step_);
    yee_pass(device_, YeePass::magnetic, half);
    half.renews = renews;
    for (End& end : ends_)
      if (end.absorbs()) yee_pass(device_, YeePass::absorb_magnetic, end.task(half, end.magnetic, true));
  }
  void set_absorbers(double step);
  plasma::YeeAntenna antenna(const PlasmaLaser& laser) const;

  template <std::size_t count>
  void fetch_around(std::array<Buffer<Real>, count>& field) {
    if (!ranks_) return;
    if constexpr (cuda_built)
      if (planes_) {
        std::vector<DevicePlanes::Wanted> wanted;
        for (auto& component : field)
          wanted.push_back({&around_, reinterpret_cast<std::byte*>(first_own(component)), layer_bytes()});
        return planes_->fetch(wanted);
      }
    for (auto& component : field)
      around_.fetch(*ranks_, device_, reinterpret_cast<std::byte*>(first_own(component)), layer_bytes());
  }
  std::vector<double> potential();

  /// An axis that is not periodic, with a conductor; `absorbs()`: and layers before it, with ψ of the two components
  /// across the axis, at all places in memory (those outside the layers are never touched).
  struct End {
    int axis = 0, cells = 0;  // of its layers; 0: none
    std::array<Buffer<Real>, 2> electric, magnetic;
    Buffer<Real> tables;  // memory and weight at the places of E, then at those of B

    bool absorbs() const { return cells > 0; }
    YeeTask<Real> task(YeeTask<Real> task, std::array<Buffer<Real>, 2>& psi, bool of_magnetic = false) {
      task.axis = axis, task.ends = absorbs() ? cells : 1;
      if (!absorbs()) return task;
      const std::int64_t length = tables.size() / 4;
      for (std::size_t k = 0; k < 2; ++k) task.psi[k] = psi[k].data();
      task.psi_memory = tables.data() + (of_magnetic ? 2 : 0) * length;
      task.psi_weight = task.psi_memory + length;
      return task;
    }
  };

  std::int64_t pitch_;
  int below_, above_, layers_;  // around the rank's layers, and all in memory
  PlanesAround around_;
  std::unique_ptr<DevicePlanes> planes_;  // on a GPU with ranks
  Components electric_, magnetic_;        // with the layers around
  Components moved_;                      // the charge that the last step has moved
  Buffer<Real> density_;
  std::vector<End> ends_;
  Buffer<plasma::YeeClock> clock_;  // if there are lasers
  double step_ = 0;                 // the last one
};

template <class Real>
void Electromagnetic<Real>::set_absorbers(double step) {
  for (End& end : ends_) {
    if (!end.absorbs()) continue;
    const int length = options_.cells[static_cast<std::size_t>(end.axis)];
    std::vector<Real> tables;
    for (const double place : {0.0, 0.5}) {
      std::vector<Real> memory, weight;
      for (int i = 0; i < length; ++i) {
        const double from_end = std::min(i + place, length - (i + place));
        const auto found = physics::yee_absorber(1 - from_end / options_.absorbing_cells, options_.light_speed, step);
        memory.push_back(static_cast<Real>(found.memory)), weight.push_back(static_cast<Real>(found.weight));
      }
      for (const auto* part : {&memory, &weight}) tables.insert(tables.end(), part->begin(), part->end());
    }
    end.tables.from_host(tables.data());
  }
}

template <class Real>
plasma::YeeAntenna Electromagnetic<Real>::antenna(const PlasmaLaser& laser) const {
  constexpr double two_pi = 2 * std::numbers::pi;
  const double c = options_.light_speed, frequency = two_pi * c / laser.wavelength;
  plasma::YeeAntenna antenna;
  antenna.pulse = {
      laser.amplitude * c * frequency, frequency, c, laser.waist, laser.focus, laser.duration, laser.delay, laser.angle,
      options_.dimensions - 1};
  antenna.plane = static_cast<int>(std::lround(laser.x)), antenna.y = laser.y, antenna.z = laser.z;
  antenna.polarisation = laser.polarisation, antenna.step = step_;
  const double half_wave = std::sin(0.5 * frequency * step_) / (c * step_) * std::cos(laser.angle);  // sin(k_x/2)
  antenna.emits = 2 * c * step_ * std::sqrt(1 - half_wave * half_wave);
  return antenna;
}

/// On the host, so that all devices start with the same field.
template <class Real>
void Electromagnetic<Real>::start() {
  step_ = 0;
  for (End& end : ends_)
    for (auto* const psi : {&end.electric, &end.magnetic})
      for (auto& component : *psi) component.zero();
  const std::vector<double> phi = potential();
  const std::int64_t nx = options_.cells[0], rows = slab_.rows_in_layer(), all = slab_.count * rows * nx;
  std::vector<double> values(static_cast<std::size_t>(all));
  const auto set = [&](Buffer<Real>& component, const auto& value_at) {
    for (std::int64_t k = 0; k < all; ++k) values[static_cast<std::size_t>(k)] = value_at(k);
    values_to_device(device_, values, own(component));
  };
  const auto minus_difference = [&](std::int64_t k, std::int64_t next) {
    return phi[static_cast<std::size_t>(k)] - phi[static_cast<std::size_t>(next)];
  };
  const auto across = [&](std::int64_t k) { return minus_difference(k, k + rows * nx); };
  set(electric_[0], [&](std::int64_t k) { return minus_difference(k, k % nx == nx - 1 ? k + 1 - nx : k + 1); });
  if (options_.dimensions == 3) {
    set(electric_[1],
        [&](std::int64_t k) { return minus_difference(k, k / nx % rows == rows - 1 ? k - (rows - 1) * nx : k + nx); });
    set(electric_[2], across);
  } else {
    set(electric_[1], across);
    set(electric_[2], [](std::int64_t) { return 0.0; });
  }
  const auto& b = options_.magnetic_field;
  for (const auto& [a, value] : {std::pair{0, b.x}, {1, b.y}, {2, b.z}})
    set(magnetic_[static_cast<std::size_t>(a)], [v = value](std::int64_t) { return v; });
  resume();
}

/// The potential of the deposited charge in the scheme, ∇²φ = −ρ with the Laplacian that is the divergence of the
/// gradient: in the rank's layers and the next one, without padding.
template <class Real>
std::vector<double> Electromagnetic<Real>::potential() {
  const Device host = Device::open("cpu", device_.threads());
  PoissonFftOptions found;
  found.ranks = ranks_;
  found.slab_unit = plasma::slab_unit(options_.dimensions);
  const auto poisson = make_poisson_fft<double>(host, plasma_grid(options_), found);
  Field<double> field = poisson->layout();
  Buffer<double> values(host, field.size());
  Buffer<std::byte> scratch(host, poisson->scratch_bytes());
  field.data = values.data();
  values_to_device(host, values_on_host(device_, deposited().density.read_only()), field);
  poisson->solve(field, -1.0, scratch.data());
  std::vector<double> phi = values_on_host(host, field.read_only());
  const auto layer = static_cast<std::size_t>(slab_.rows_in_layer() * options_.cells[0]);
  phi.resize(static_cast<std::size_t>(slab_.count + 1) * layer);
  if (!ranks_)
    std::copy_n(phi.begin(), layer, phi.end() - static_cast<std::ptrdiff_t>(layer));
  else
    PlanesAround(*ranks_, slab_.planes(*ranks_), 0, 1)
        .fetch(*ranks_, host, reinterpret_cast<std::byte*>(phi.data()), layer * sizeof(double));
  return phi;
}

}  // namespace

template <class Real>
std::unique_ptr<PlasmaField<Real>> make_electromagnetic(const Device& device, const PlasmaOptions& options,
                                                        std::shared_ptr<Communicator> ranks) {
  check_electromagnetic(options);
  return std::make_unique<Electromagnetic<Real>>(device, options, std::move(ranks));
}

template std::unique_ptr<PlasmaField<float>> make_electromagnetic(const Device&, const PlasmaOptions&,
                                                                  std::shared_ptr<Communicator>);
template std::unique_ptr<PlasmaField<double>> make_electromagnetic(const Device&, const PlasmaOptions&,
                                                                   std::shared_ptr<Communicator>);

}  // namespace pergola
