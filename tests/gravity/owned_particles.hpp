#pragma once
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <numeric>
#include <utility>
#include <vector>

#include "base/state_source.hpp"
#include "comm/collectives.hpp"
#include "domain/owners.hpp"
#include "gravity/solver.hpp"
#include "tree/kept_tree.hpp"

namespace pergola {

/// The particles of a rank around a solver that may divide them: they go to their owners, which answer, and come home,
/// as those of a leapfrog with block steps do. What update() builds on comes along.
template <class Real>
class OwnedParticles : public FieldList {
 public:
  using Answers = std::array<std::vector<Real>, 4>;  // accelerations and potentials, by given particle

  /// `ranks` null: one process.
  OwnedParticles(const Device& device, Solver<Real>& solver, std::shared_ptr<Communicator> ranks)
      : FieldList(device), solver_(solver), ranks_(std::move(ranks)), owners_(*this, ranks_) {}

  tree::KeptTree kept{*this};
  const std::shared_ptr<Communicator>& ranks() const { return ranks_; }

  /// All are home, with what was kept if this follows update() or prepare().
  void prepare(const Sources<Real>& given) {
    take(given);
    prepare_again();
  }
  /// Of the particles where they are.
  void prepare_again() {
    owners_.settle(solver_.divide(sources(), nullptr));
    solver_.prepare(sources());
  }
  bool update(const Sources<Real>& given) {
    take(given);
    owners_.settle(solver_.divide(sources(), &kept));
    return solver_.take_up(kept) && solver_.update(sources());
  }
  /// As a leapfrog does: prepare() where update() is of no use.
  void renew(const Sources<Real>& given) {
    if (update(given)) return;
    kept.forget();
    prepare_again();
  }
  /// Of these places among the given ones, or of all; then all come home, and what the solver keeps is aside.
  Answers evaluate(const std::vector<std::int64_t>* of_given, unsigned want);
  /// Where the particles here stand among all.
  std::vector<std::int64_t> places() const;
  /// The particles here.
  Sources<Real> sources() const {
    Sources<Real> s = given_;
    s.count = count();
    s.x = place[0].data(), s.y = place[1].data(), s.z = place[2].data(), s.mass = mass.data();
    s.species = species.used() ? species.data() : nullptr, s.id = identity.used() ? identity.data() : nullptr;
    s.place = owners_.places();
    return s;
  }
  /// What was kept, in blocks of all ranks on rank 0.
  StateBlocks saved();
  /// False: the solver does not take it.
  bool restore(StateInput& from) {
    kept.restore(from);
    FieldList::restore(from, ranks_ ? ranks_->rank() : 0, ranks_ ? ranks_->size() : 1);
    kept.check();
    return solver_.take_up(kept);
  }

 private:
  void take(const Sources<Real>& given);

  Solver<Real>& solver_;
  std::shared_ptr<Communicator> ranks_;
  Owners owners_;
  Sources<Real> given_;
  using Field = ParticleField<Real>;
  Field place[3] = {{*this, "x", FieldUse::derived}, {*this, "y", FieldUse::derived}, {*this, "z", FieldUse::derived}};
  Field mass{*this, "mass", FieldUse::derived};
  ParticleField<std::uint8_t> species{*this, "species", FieldUse::derived};
  ParticleField<std::uint64_t> identity{*this, "identity", FieldUse::derived};
  Field answer[4] = {{*this, "ax", FieldUse::derived},
                     {*this, "ay", FieldUse::derived},
                     {*this, "az", FieldUse::derived},
                     {*this, "potential", FieldUse::derived}};
};

template <class Real>
void OwnedParticles<Real>::take(const Sources<Real>& given) {
  std::int64_t has[2] = {given.species ? 1 : 0, given.id ? 1 : 0};
  if (ranks_) ranks_->all_reduce(has, 2, Reduction::maximum);
  given_ = given;
  species.set_used(has[0] > 0), identity.set_used(has[1] > 0);
  if (!kept.is_there() || count() != given.count) {
    kept.forget();
    resize(given.count);
  }
  const auto copy = [&](auto& to, const auto* values) {
    if (to.used() && count() > 0)
      device().memory().copy(to.data(), values, static_cast<std::size_t>(count()) * to.value_bytes());
  };
  copy(place[0], given.x), copy(place[1], given.y), copy(place[2], given.z), copy(mass, given.mass);
  copy(species, given.species), copy(identity, given.id);
}

template <class Real>
std::vector<std::int64_t> OwnedParticles<Real>::places() const {
  std::int64_t first = 0;
  if (ranks_) {
    const std::vector<std::int64_t> counts = gather_values(*ranks_, given_.count);
    first = std::reduce(counts.begin(), counts.begin() + ranks_->rank(), first);
  }
  std::vector<std::int64_t> here(static_cast<std::size_t>(count()));
  std::iota(here.begin(), here.end(), first);
  if (owners_.away() && !here.empty())
    device().memory().to_host(here.data(), owners_.places(), here.size() * sizeof here[0]);
  return here;
}

template <class Real>
auto OwnedParticles<Real>::evaluate(const std::vector<std::int64_t>* of_given, unsigned want) -> Answers {
  std::vector<std::int64_t> asked;  // here, of all ranks' places
  const std::vector<std::int64_t> here = places();
  if (of_given) {
    std::vector<std::int64_t> among_all;
    std::int64_t first = 0;
    if (ranks_) {
      const std::vector<std::int64_t> counts = gather_values(*ranks_, given_.count);
      first = std::reduce(counts.begin(), counts.begin() + ranks_->rank(), first);
    }
    for (const std::int64_t one : *of_given) among_all.push_back(first + one);
    if (ranks_) among_all = gather_lists_on_all(*ranks_, among_all);
    for (std::size_t i = 0; i < here.size(); ++i)
      if (std::find(among_all.begin(), among_all.end(), here[i]) != among_all.end())
        asked.push_back(static_cast<std::int64_t>(i));
  }
  const std::int64_t n = of_given ? std::ssize(asked) : count();
  const Buffer<std::int64_t> index(device(), asked);
  Buffer<Real> found[4];
  for (auto& values : found) values = Buffer<Real>(device(), n);
  Forces<Real> forces;
  forces.ax = found[0].data(), forces.ay = found[1].data(), forces.az = found[2].data();
  if (want & want_potential) forces.potential = found[3].data();
  solver_.evaluate({of_given ? index.data() : nullptr, n, n}, want, forces);
  for (std::size_t f = 0; f < 4; ++f) {
    if (f == 3 && !(want & want_potential)) continue;
    const std::vector<Real> values = found[f].to_host();
    std::vector<Real> by_place(here.size());
    for (std::size_t k = 0; k < values.size(); ++k)
      by_place[of_given ? static_cast<std::size_t>(asked[k]) : k] = values[k];
    answer[f].from_host(0, count(), by_place.data());
  }
  if (!kept.is_there()) solver_.put_aside(kept);
  owners_.go_home();
  Answers all;
  for (std::size_t f = 0; f < (want & want_potential ? 4u : 3u); ++f) {
    std::vector<Real> by_place(static_cast<std::size_t>(count()));
    answer[f].to_host(0, count(), by_place.data());
    if (!of_given) all[f] = by_place;
    if (of_given)
      for (const std::int64_t one : *of_given) all[f].push_back(by_place[static_cast<std::size_t>(one)]);
  }
  return all;
}

template <class Real>
StateBlocks OwnedParticles<Real>::saved() {
  StateSource own;
  kept.save(own);
  FieldList::save(own);
  StateBlocks all = own.blocks();
  std::int64_t total = count();
  if (ranks_) ranks_->all_reduce(&total, 1, Reduction::sum);
  all.put_value("count", total);
  for (const StateRange& range : own.ranges())
    if (range.per_particle && ranks_) all.blocks()[range.name] = gather_on_root(*ranks_, all.blocks()[range.name]);
  return all;
}

}  // namespace pergola
