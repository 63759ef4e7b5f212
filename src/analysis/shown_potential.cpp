#include "analysis/shown_potential.hpp"

#include <utility>
#include <vector>

namespace pergola {

namespace {

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
  const auto values = std::make_shared<const Buffer<Real>>(potentials_of(solver, shown, ShownPlaces<Real>(shown)));
  const Device device = shown.device();
  device.synchronize();
  return {sizeof(Real) == sizeof(float), [values, device](std::int64_t first, std::int64_t n, void* to) {
            device.memory().to_host(to, values->data() + first, static_cast<std::size_t>(n) * sizeof(Real));
          }};
}

}  // namespace

KnownPotentials potentials_from(AnySolver& solver, const ShownParticles& shown) {
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
