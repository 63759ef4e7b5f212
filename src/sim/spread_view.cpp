#include "sim/spread_view.hpp"

#include <cstring>
#include <utility>

#include "analysis/energy.hpp"
#include "base/error.hpp"
#include "domain/spread_shown.hpp"
#include "domain/spread_state.hpp"
#include "gravity/solver_entry.hpp"

namespace pergola {

namespace {

// Numbers of requests, after those of the particles.
constexpr std::int64_t ask_potentials = SpreadShown::requests;
constexpr std::int64_t ask_state = ask_potentials + 1;  // and from here on the ranges of the state, by their names

}  // namespace

void SpreadView::find_potentials(AnySolver& solver) {
  auto* const single = dynamic_cast<Solver<float>*>(&solver);
  single_numbers_ = single != nullptr;
  if (single)
    single_ = potentials_of(*single, *own_, ShownPlaces<float>(*own_));
  else
    double_ = potentials_of(dynamic_cast<Solver<double>&>(solver), *own_, ShownPlaces<double>(*own_));
  own_->device().synchronize();
  has_potentials_ = true;
}

void SpreadView::find_pair_potentials(const SolverOptions& gravity, const std::shared_ptr<Communicator>& ranks,
                                      AnySolver& own) {
  const EnergyMethod& method = solver_entry(gravity.solver).energy;
  if (sums_over_pairs(gravity, rows_.shares().total)) return;
  if (!method.options || box_of(gravity).periodic()) return find_potentials(own.plain());
  SolverOptions finer = method.options(gravity);
  finer.external.clear();
  if (finer.precision == Precision::single)
    find_potentials(*make_spread_solver<float>(finer, own_->device(), ranks));
  else
    find_potentials(*make_spread_solver<double>(finer, own_->device(), ranks));
}

void SpreadView::on_root(const std::function<void()>& action) {
  rows_.on_root(action, [this](const RankRows::Request& request, std::byte* to) { answer(request, to); });
}

std::unique_ptr<ShownParticles> SpreadView::shown() { return std::make_unique<SpreadShown>(rows_, *own_); }

KnownPotentials SpreadView::potentials() {
  if (!has_potentials_)
    throw Error(ErrorKind::input,
                "on_root: expected GravitySystem::Reading::potentials or pair_potentials to read "
                "potentials, found neither");
  const std::int64_t value_bytes = single_numbers_ ? sizeof(float) : sizeof(double);
  return {single_numbers_, [this, value_bytes](std::int64_t first, std::int64_t n, void* to) {
            rows_.read({ask_potentials, first, n, value_bytes},
                       [&](std::int64_t at, std::int64_t count, const std::byte* rows) {
                         std::memcpy(static_cast<std::byte*>(to) + at * value_bytes, rows,
                                     static_cast<std::size_t>(count * value_bytes));
                       });
          }};
}

void SpreadView::save(StateSource& to) {
  if (!state_)
    throw Error(ErrorKind::input, "on_root: expected GravitySystem::Reading::particles to save, found another one");
  put_spread_state(rows_, *state_, ask_state, to);
  to.put_value("count", rows_.shares().total);
}

/// Of this rank's particles, which live on the CPU.
void SpreadView::answer(const RankRows::Request& request, std::byte* to) {
  if (request.what < ask_potentials) return answer_shown(*own_, request, to);
  if (request.what >= ask_state) {
    RankRows::Request of_state = request;
    of_state.what -= ask_state;
    return answer_state(*state_, of_state, to);
  }
  const auto* values = single_numbers_ ? reinterpret_cast<const std::byte*>(single_.data())
                                       : reinterpret_cast<const std::byte*>(double_.data());
  std::memcpy(to, values + request.first * request.row_bytes,
              static_cast<std::size_t>(request.count * request.row_bytes));
}

}  // namespace pergola
