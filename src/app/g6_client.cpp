// A Hermite integrator on top of the GRAPE-6 library, as production codes have it.
//
// Steps of a block: (1) find the particles whose step ends now, (2) predict them, (3) forces on them from the library,
// in pieces of its number of pipes, (4) correct them, choose new steps, (5) send them back as j-particles. Times are
// integer ticks of step_max / 2^deepest_level, so that sums of steps are exact. Units: G = 1. An error of the library
// throws Error(numerics); the library itself has printed the reason.
#include "app/g6_client.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>

#include "base/error.hpp"
#include "g6/interface.hpp"

namespace pergola::app {

namespace {

constexpr int cluster = 0;
constexpr std::size_t schedule_chunk = 256;

/// The library has printed the error.
void require(int result, const char* function) {
  if (result != 0) throw Error(ErrorKind::numerics, fmt::format("{} failed", function));
}

void put(const Vec3<double>& value, double factor, double to[3]) {
  to[0] = factor * value.x, to[1] = factor * value.y, to[2] = factor * value.z;
}

}  // namespace

void open_g6_library(const Device& device, int pipes) {
  ::setenv("PERGOLA_DEVICE", device.spec().c_str(), 1);
  ::setenv("PERGOLA_THREADS", std::to_string(device.is_cuda() ? 0 : device.threads()).c_str(), 1);
  ::setenv("PERGOLA_G6_PIPES", std::to_string(pipes).c_str(), 1);
  require(g6::open(cluster), "g6_open");
}

G6Client::G6Client(const Device& device, int pipes, double softening, double eta)
    : pipes_(pipes), softening_(softening), eta_(eta), tick_length_(std::ldexp(step_max_, -physics::deepest_level)) {
  open_g6_library(device, pipes);
}

G6Client::~G6Client() { g6::close(cluster); }

/// The library takes a/2 and j/6, as GRAPE-6 does; its sixth coefficient (snap/18) stays 0 here.
void G6Client::send(std::size_t i) {
  double x[3], v[3], a2[3], j6[3];
  const double k18[3] = {0, 0, 0};
  put(state_[i].x, 1, x), put(state_[i].v, 1, v), put(state_[i].a, 0.5, a2), put(state_[i].j, 1.0 / 6, j6);
  const int number = static_cast<int>(i);
  require(g6::set_j_particle(cluster, number, number, time_of(tick_[i]), given_.mass[i], k18, j6, a2, v, x),
          "g6_set_j_particle");
}

/// First forces need all j-particles; the first steps come from a and jerk (physics::starting_step).
void G6Client::start(const Particles& particles) {
  given_ = particles;
  const auto n = static_cast<std::size_t>(particles.size());
  state_.resize(n);
  tick_.assign(n, 0);
  level_.assign(n, 0);
  now_ = 0;
  for (std::size_t i = 0; i < n; ++i) {
    state_[i] = {{particles.x[i], particles.y[i], particles.z[i]},
                 {particles.vx[i], particles.vy[i], particles.vz[i]},
                 {0, 0, 0},
                 {0, 0, 0}};
    send(i);
  }
  active_.resize(n);
  for (std::size_t i = 0; i < n; ++i) active_[i] = static_cast<int>(i);
  evaluate();
  constexpr double eta_start = 0.005;
  double mass = 0;
  for (const double one : particles.mass) mass += one;
  for (std::size_t i = 0; i < n; ++i) {
    state_[i].a = new_a_[i], state_[i].j = new_j_[i];
    const double wanted = physics::starting_step(eta_start, new_a_[i], new_j_[i], pot_[i], mass);
    level_[i] = physics::first_level(wanted, step_max_, std::int64_t{0});
    send(i);
  }
  chunk_next_.resize((n + schedule_chunk - 1) / schedule_chunk);
  for (std::size_t c = 0; c < chunk_next_.size(); ++c) reschedule(c);
}

/// The earliest end of a step is kept per chunk of particles: a block then looks at few chunks only.
void G6Client::reschedule(std::size_t chunk) {
  std::int64_t next = std::numeric_limits<std::int64_t>::max();
  for (std::size_t i = chunk * schedule_chunk; i < std::min((chunk + 1) * schedule_chunk, tick_.size()); ++i)
    next = std::min(next, tick_[i] + physics::level_ticks(level_[i]));
  chunk_next_[chunk] = next;
}

/// The particle at now_, from its last correction.
HermiteStart G6Client::predicted(std::size_t i) const {
  HermiteStart p = state_[i];
  physics::hermite_predict(time_of(now_ - tick_[i]), p.x, p.v, p.a, p.j);
  return p;
}

/// Accelerations, jerks and potentials for active_ at now_, by the library. Results are in new_a_, new_j_ and pot_.
void G6Client::evaluate() {
  const std::size_t n = active_.size();
  x_.resize(3 * n), v_.resize(3 * n), acc_.resize(3 * n), jerk_.resize(3 * n), pot_.resize(n);
  new_a_.resize(n), new_j_.resize(n);
  for (std::size_t k = 0; k < n; ++k) {
    const HermiteStart p = predicted(static_cast<std::size_t>(active_[k]));
    put(p.x, 1, &x_[3 * k]), put(p.v, 1, &v_[3 * k]);
  }
  require(g6::set_ti(cluster, time_of(now_)), "g6_set_ti");
  const int nj = static_cast<int>(state_.size());
  const auto triples = [](std::vector<double>& values, std::size_t k) {
    return reinterpret_cast<double(*)[3]>(&values[3 * k]);
  };
  for (std::size_t begin = 0; begin < n; begin += static_cast<std::size_t>(pipes_)) {
    const int ni = static_cast<int>(std::min(n - begin, static_cast<std::size_t>(pipes_)));
    g6::firsthalf(cluster,
                  {nj, ni, &active_[begin], triples(x_, begin), triples(v_, begin), softening_ * softening_, nullptr});
    require(g6::lasthalf(cluster, {ni, triples(acc_, begin), triples(jerk_, begin), &pot_[begin]}), "g6calc_lasthalf");
  }
  for (std::size_t k = 0; k < n; ++k) {
    new_a_[k] = {acc_[3 * k], acc_[3 * k + 1], acc_[3 * k + 2]};
    new_j_[k] = {jerk_[3 * k], jerk_[3 * k + 1], jerk_[3 * k + 2]};
  }
}

void G6Client::step(std::int64_t now) {
  now_ = now;
  active_.clear();
  for (std::size_t c = 0; c < chunk_next_.size(); ++c) {
    if (chunk_next_[c] != now) continue;
    for (std::size_t i = c * schedule_chunk; i < std::min((c + 1) * schedule_chunk, tick_.size()); ++i)
      if (tick_[i] + physics::level_ticks(level_[i]) == now) active_.push_back(static_cast<int>(i));
  }
  evaluate();
  for (std::size_t k = 0; k < active_.size(); ++k) {
    const auto i = static_cast<std::size_t>(active_[k]);
    HermiteStart end = state_[i];
    bool again = false;
    const auto fault = hermite_end_step({now, eta_, step_max_, true}, time_of(now - tick_[i]), state_[i], new_a_[k],
                                        new_j_[k], end.x, end.v, level_[i], again);
    if (fault != StepFault::none)
      throw Error(ErrorKind::numerics,
                  fmt::format("particle {} at time {}: its step fell below the shortest one, or its "
                              "force is not a finite number",
                              i, time_of(now)));
    end.a = new_a_[k], end.j = new_j_[k];
    state_[i] = end;
    tick_[i] = now;
    send(i);
  }
  std::size_t done = chunk_next_.size();
  for (const int i : active_)
    if (const std::size_t chunk = static_cast<std::size_t>(i) / schedule_chunk; chunk != done) reschedule(done = chunk);
}

/// Steps from block to block; the time of the next block is the earliest end of any step.
bool G6Client::advance(double limit, const std::function<bool()>& stop) {
  while (true) {
    const std::int64_t next = *std::min_element(chunk_next_.begin(), chunk_next_.end());
    if (time_of(next) > limit) return true;
    step(next);
    if (stop && stop()) return false;
  }
}

Particles G6Client::state_at(double time) const {
  Particles particles = given_;
  for (std::size_t i = 0; i < state_.size(); ++i) {
    HermiteStart p = state_[i];
    physics::hermite_predict(time - time_of(tick_[i]), p.x, p.v, p.a, p.j);
    particles.x[i] = p.x.x, particles.y[i] = p.x.y, particles.z[i] = p.x.z;
    particles.vx[i] = p.v.x, particles.vy[i] = p.v.y, particles.vz[i] = p.v.z;
  }
  return particles;
}

}  // namespace pergola::app
