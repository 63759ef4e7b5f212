#include "sim/spread_view.hpp"

#include <cstring>

#include "base/error.hpp"
#include "domain/spread_shown.hpp"
#include "domain/spread_state.hpp"

namespace pergola {

namespace {

// Numbers of requests, after those of the particles.
constexpr std::int64_t ask_potentials = DistributedShown::requests;
constexpr std::int64_t ask_state = ask_potentials + 1;  // and from here on the ranges of the state, by their names

}  // namespace

void DistributedView::on_root(const std::function<void()>& action) {
  rows_.on_root(action, [this](const RankRows::Request& request, std::byte* to) { answer(request, to); });
}

std::unique_ptr<ShownParticles> DistributedView::shown() { return std::make_unique<DistributedShown>(rows_, *own_); }

KnownPotentials DistributedView::potentials() {
  if (!potentials_)
    throw Error(ErrorKind::input,
                "on_root: expected GravitySystem::Reading::potentials to read potentials, found another one");
  return {potentials_->single,
          [this, value_bytes = potentials_->value_bytes()](std::int64_t first, std::int64_t n, void* to) {
            rows_.read({ask_potentials, first, n, value_bytes},
                       [&](std::int64_t at, std::int64_t count, const std::byte* rows) {
                         std::memcpy(static_cast<std::byte*>(to) + at * value_bytes, rows,
                                     static_cast<std::size_t>(count * value_bytes));
                       });
          }};
}

void DistributedView::save(StateSource& to) {
  if (!state_)
    throw Error(ErrorKind::input, "on_root: expected GravitySystem::Reading::particles to save, found another one");
  put_distributed_state(rows_, *state_, ask_state, to);
  to.put_value("count", rows_.shares().total);
}

/// Of this rank's particles.
void DistributedView::answer(const RankRows::Request& request, std::byte* to) {
  if (request.what < ask_potentials) return answer_shown(*own_, request, to);
  if (request.what >= ask_state) {
    RankRows::Request of_state = request;
    of_state.what -= ask_state;
    return answer_state(*state_, of_state, to);
  }
  potentials_->read(request.first, request.count, to);
}

}  // namespace pergola
