#include "analysis/shown_potential.hpp"

#include <vector>

namespace pergola {

namespace {

template <class Real>
class SourceWithPotentials final : public ParticleSource {
 public:
  SourceWithPotentials(std::unique_ptr<ShownParticles> shown, Solver<Real>& solver)
      : shown_(std::move(shown)),
        potential_(potentials_of(solver, *shown_, ShownPlaces<Real>(*shown_))),
        fetched_(*shown_) {
    shown_->device().synchronize();
  }
  std::int64_t count() const override { return shown_->count(); }
  void read(std::int64_t first, std::int64_t n, Particles& to) override {
    fetched_.read(first, n, to);
    numbers_.resize(static_cast<std::size_t>(n));
    if (n > 0)
      shown_->device().memory().to_host(numbers_.data(), potential_.data() + first, numbers_.size() * sizeof(Real));
    to.potential.assign(numbers_.begin(), numbers_.end());
  }

 private:
  std::unique_ptr<ShownParticles> shown_;
  Buffer<Real> potential_;
  FetchedParticles fetched_;
  std::vector<Real> numbers_;
};

}  // namespace

std::unique_ptr<ParticleSource> with_potentials(std::unique_ptr<ShownParticles> shown, AnySolver& solver) {
  if (auto* single = dynamic_cast<Solver<float>*>(&solver))
    return std::make_unique<SourceWithPotentials<float>>(std::move(shown), *single);
  return std::make_unique<SourceWithPotentials<double>>(std::move(shown), dynamic_cast<Solver<double>&>(solver));
}

}  // namespace pergola
