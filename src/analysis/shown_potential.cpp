#include "analysis/shown_potential.hpp"
#include "analysis/energy.hpp"
#include "device/sort.hpp"
#include "gravity/solver_entry.hpp"

#include <utility>
#include <vector>

// A solver works on sources in the order in which they are stored. If that is not the order of the input, potentials
// are reordered on the device before they are read.
namespace pergola {

namespace {

/// Reads particles from an output view, and their potentials from where they are known.
class SourceWithPotentials final : public ParticleSource {
 public:
  SourceWithPotentials(std::unique_ptr<ShownParticles> shown, KnownPotentials potentials)
      : shown_(std::move(shown)), potentials_(std::move(potentials)), fetched_(*shown_) {}
  std::int64_t count() const override { return shown_->count(); }
  void read(std::int64_t first, std::int64_t n, Particles& to) override {
    fetched_.read(first, n, to);
    to.potential.resize(static_cast<std::size_t>(n));
    if (n == 0) return;
    if (!potentials_.single) return potentials_.read(first, n, to.potential.data());
    numbers_.resize(static_cast<std::size_t>(n));
    potentials_.read(first, n, numbers_.data());
    to.potential.assign(numbers_.begin(), numbers_.end());
  }

 private:
  std::unique_ptr<ShownParticles> shown_;
  KnownPotentials potentials_;
  FetchedParticles fetched_;
  std::vector<float> numbers_;
};

template <class Real>
KnownPotentials potentials_by(Solver<Real>& solver, const ShownParticles& shown) {
  const Device device = shown.device();
  auto values = std::make_shared<Buffer<Real>>();
  {
    const ShownSources<Real> sources(shown);
    *values = potentials_of(solver, device, sources.sources());
    if (sources.place_of()) {
      Buffer<Real> as_given(device, shown.count());
      permute(device, shown.count(), sources.place_of(), values->data(), as_given.data());
      device.synchronize();
      values->swap(as_given);
    }
    device.synchronize();
  }
  return {sizeof(Real) == sizeof(float), [values, device](std::int64_t first, std::int64_t n, void* to) {
            device.memory().to_host(to, values->data() + first, static_cast<std::size_t>(n) * sizeof(Real));
          }};
}

}  // namespace

std::int64_t shown_energy_bytes(const ShownParticles& as, const SolverOptions& gravity, std::int64_t count) {
  const EnergyMethod& method = solver_entry(gravity.solver).energy;
  const bool another = !box_of(gravity).periodic() && method.options;  // solver, in numbers of its own
  if (sums_over_pairs(gravity, count) || another || !stored_as_shown(as)) return energy_bytes(gravity, count);
  return count * static_cast<std::int64_t>(gravity.precision == Precision::single ? sizeof(float) : sizeof(double));
}

bool stored_as_shown(const ShownParticles& shown) {
  const auto* const floats = dynamic_cast<const StoredParticles<float>*>(&shown);
  const auto* const doubles = dynamic_cast<const StoredParticles<double>*>(&shown);
  return (floats && floats->stored_places()) || (doubles && doubles->stored_places());
}

KnownPotentials potentials_from(AnySolver& solver, const ShownParticles& shown) {
  if (!shown.device().is_cuda()) solver.give_back_memory();
  if (auto* single = dynamic_cast<Solver<float>*>(&solver)) return potentials_by(*single, shown);
  return potentials_by(dynamic_cast<Solver<double>&>(solver), shown);
}

std::unique_ptr<ParticleSource> with_potentials(std::unique_ptr<ShownParticles> shown, KnownPotentials potentials) {
  return std::make_unique<SourceWithPotentials>(std::move(shown), std::move(potentials));
}

std::unique_ptr<ParticleSource> with_potentials(std::unique_ptr<ShownParticles> shown, AnySolver& solver) {
  KnownPotentials potentials = potentials_from(solver, *shown);
  return with_potentials(std::move(shown), std::move(potentials));
}

}  // namespace pergola
