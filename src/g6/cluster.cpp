// One block of i-particles from start to finish: see cluster.hpp.
//
// Steps of start(): (1) changed j-particles go to the device, (2) the solver prepares them for the time, (3) the block
// is copied, checked, and each particle's own address is found, (4) the sum is launched. Steps of finish(): (5) nearest
// neighbours, if the client wants them, (6) wait, (7) sums for particles with several own addresses. Nearest neighbours
// cost time: they are launched with the forces only if the last block needed them.
#include "g6/cluster.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>

#include "device/parallel.hpp"

namespace pergola::g6 {

namespace {

constexpr unsigned forces_wanted = want_acceleration | want_jerk | want_potential;

/// Replaces an own address if there are several.
constexpr std::int64_t several = -2;

/// Softening is not an option here: each block brings its own eps².
SolverOptions solver_options(const ClusterOptions& options) {
  SolverOptions solver;
  solver.precision = options.precision;
  return solver;
}

}  // namespace

Cluster::Cluster(const Device& device, const ClusterOptions& options)
    : device_(device), options_(options), memory_(device), block_(device) {}

void Cluster::start(std::int64_t nj, const IParticles& i) {
  if (nj < 0 || i.count < 0 || (i.count > 0 && (!i.index || !i.x)))
    throw Error(
        ErrorKind::input,
        fmt::format("a block needs nj and ni from 0 and arrays of indices and positions; found nj = {}, ni = {}", nj,
                    i.count));
  if (!(i.epsilon2 >= 0)) throw Error(ErrorKind::input, fmt::format("eps2: expected 0 or more, found {}", i.epsilon2));
  if (running_) wait();
  started_ = false;
  if (!solver_) solver_ = make_direct<double>(solver_options(options_), device_);
  const bool changed = memory_.apply();
  if (changed) prepared_ = false;
  if (nj > memory_.size())
    throw Error(ErrorKind::input,
                fmt::format("nj: expected at most {}, the addresses that were set, found {}", memory_.size(), nj));
  if (nj != sources_ || time_ != moment_) prepared_ = false;
  sources_ = nj;
  moment_ = time_;
  epsilon2_ = i.epsilon2;
  running_ = true;
  prepare();  // first: the device predicts while the block is copied
  take(i);
  solver_->evaluate(block_.points(epsilon2_), expect_nearest_ ? forces_wanted | want_nearest : forces_wanted,
                    block_.forces());
  nearest_started_ = expect_nearest_;
  repeated_due_ = true;
  list_begin_.clear();
  started_ = true;
}

/// The sources change with a j-particle, the time or nj; blocks between such changes share one preparation.
void Cluster::prepare() {
  if (!prepared_) solver_->prepare(memory_.sources(0, sources_, moment_));
  prepared_ = true;
}

/// Copies the block into shared memory and finds each particle's own address.
void Cluster::take(const IParticles& i) {
  block_.resize(i.count);
  index_.resize(static_cast<std::size_t>(i.count));
  repeated_.clear();
  std::atomic<bool> any_several = false, all_finite = true;
  parallel_chunks(threads_to_copy(i.count), i.count, copy_chunk, [&](std::int64_t begin, std::int64_t end) {
    copy_particles(i, begin, end);
    if (!finite_places(begin, end)) all_finite.store(false, std::memory_order_relaxed);
    if (find_addresses(begin, end)) any_several.store(true, std::memory_order_relaxed);
  });
  if (!all_finite) refuse_places();
  for (std::int64_t k = 0; any_several && k < i.count; ++k)
    if (block_.own()[k] == several) {
      const auto addresses = addresses_of(i.index[k]);
      block_.own()[k] = addresses.size() == 1 ? addresses[0] : -1;
      if (addresses.size() > 1) repeated_.push_back(k);
    }
}

/// Columns of the block are separate arrays: loops over one column at a time are fast.
void Cluster::copy_particles(const IParticles& i, std::int64_t begin, std::int64_t end) {
  double *const x = block_.x(0), *const y = block_.x(1), *const z = block_.x(2);
  double *const vx = block_.v(0), *const vy = block_.v(1), *const vz = block_.v(2);
  for (std::int64_t k = begin; k < end; ++k) x[k] = i.x[k][0], y[k] = i.x[k][1], z[k] = i.x[k][2];
  if (i.v)
    for (std::int64_t k = begin; k < end; ++k) vx[k] = i.v[k][0], vy[k] = i.v[k][1], vz[k] = i.v[k][2];
  else
    for (std::int64_t k = begin; k < end; ++k) vx[k] = vy[k] = vz[k] = 0;
  if (i.radius2)
    std::copy(i.radius2 + begin, i.radius2 + end, block_.radius2() + begin);
  else
    std::fill(block_.radius2() + begin, block_.radius2() + end, 0.0);
  std::copy(i.index + begin, i.index + end, index_.begin() + begin);
}

/// Whether positions and velocities are finite: x − x is 0 for a number and else NaN.
bool Cluster::finite_places(std::int64_t begin, std::int64_t end) {
  double sum = 0;
  for (int axis = 0; axis < 3; ++axis)
    for (std::int64_t k = begin; k < end; ++k)
      sum += (block_.x(axis)[k] - block_.x(axis)[k]) + (block_.v(axis)[k] - block_.v(axis)[k]);
  return sum == 0;
}

/// Names the first particle of the block whose position or velocity is not a number.
void Cluster::refuse_places() {
  for (std::int64_t k = 0;; ++k)
    if (!finite_places(k, k + 1))
      throw Error(ErrorKind::input,
                  fmt::format("xi, vi: expected numbers, found position {}, {}, {} and velocity {}, {}, {} of the "
                              "particle with index {}",
                              block_.x(0)[k], block_.x(1)[k], block_.x(2)[k], block_.v(0)[k], block_.v(1)[k],
                              block_.v(2)[k], index_[static_cast<std::size_t>(k)]));
}

/// Finds each particle's own address. Returns whether some particles have several.
bool Cluster::find_addresses(std::int64_t begin, std::int64_t end) {
  const IndexMap& map = memory_.map();
  std::int64_t* const own = block_.own();
  std::int32_t address = IndexMap::none;
  bool any_several = false;
  for (std::int64_t k = begin; k < end; ++k) {
    const int index = index_[static_cast<std::size_t>(k)];
    ++address;  // blocks are often runs of addresses
    if (!map.holds(address) || map.index(address) != index) address = map.first(index);
    if (address == IndexMap::none) {
      own[k] = -1;
    } else if (map.alone(address)) {
      own[k] = address < sources_ ? address : -1;
    } else {
      own[k] = several;
      any_several = true;
    }
  }
  return any_several;
}

void Cluster::wait() {
  device_.synchronize();
  running_ = false;
}

void Cluster::start_nearest() {
  prepare();
  solver_->evaluate(block_.points(epsilon2_), want_nearest, block_.forces());
  running_ = nearest_started_ = repeated_due_ = true;
}

void Cluster::finish(bool with_nearest) {
  if (!started_) throw Error(ErrorKind::input, "there is no block to finish: expected g6calc_firsthalf before");
  expect_nearest_ = with_nearest;
  if (with_nearest && !nearest_started_) start_nearest();
  if (running_) wait();
  if (repeated_due_) finish_repeated();
  if (!with_nearest) return;
  nearest_.resize(static_cast<std::size_t>(count()));
  const IndexMap& map = memory_.map();
  for (std::int64_t k = 0; k < count(); ++k) {
    const auto address = static_cast<std::int32_t>(block_.nearest()[k]);
    nearest_[static_cast<std::size_t>(k)] = map.holds(address) ? map.index(address) : -1;
  }
}

/// The addresses of this block's sources with an index, ascending.
std::vector<std::int64_t> Cluster::addresses_of(int index) const {
  std::vector<std::int64_t> found;
  const IndexMap& map = memory_.map();
  for (auto address = map.first(index); address != IndexMap::none; address = map.next(address))
    if (address < sources_) found.push_back(address);
  std::sort(found.begin(), found.end());
  return found;
}

/// For targets with the index of several sources: sums over the ranges of sources between these are added up.
void Cluster::finish_repeated() {
  repeated_due_ = false;
  if (repeated_.empty()) return;
  std::vector<std::int64_t> order = repeated_;
  const auto index = [this](std::int64_t k) { return index_[static_cast<std::size_t>(k)]; };
  std::stable_sort(order.begin(), order.end(), [&](auto a, auto b) { return index(a) < index(b); });
  for (auto begin = order.begin(); begin != order.end();) {
    const auto end = std::find_if(begin, order.end(), [&](auto k) { return index(k) != index(*begin); });
    answer_without(addresses_of(index(*begin)), {begin, end});
    begin = end;
  }
  prepared_ = false;
}

/// Results of all sources except those at some addresses.
void Cluster::answer_without(const std::vector<std::int64_t>& left_out, const std::vector<std::int64_t>& asking) {
  Block part(device_);
  part.resize(std::ssize(asking));
  for (std::int64_t t = 0; t < part.count(); ++t) {
    const std::int64_t k = asking[static_cast<std::size_t>(t)];
    for (int axis = 0; axis < 3; ++axis) {
      part.x(axis)[t] = block_.x(axis)[k], part.v(axis)[t] = block_.v(axis)[k];
      block_.acceleration(axis)[k] = block_.jerk(axis)[k] = 0;
    }
    part.own()[t] = -1;
    block_.potential()[k] = 0;
    block_.nearest()[k] = -1;
    block_.nearest_distance()[k] = std::numeric_limits<double>::infinity();
  }
  for (std::size_t gap = 0; gap <= left_out.size(); ++gap) {
    const std::int64_t first = gap == 0 ? 0 : left_out[gap - 1] + 1;
    const std::int64_t last = gap == left_out.size() ? sources_ : left_out[gap];
    if (first >= last) continue;
    solver_->prepare(memory_.sources(first, last - first, moment_));
    solver_->evaluate(part.points(epsilon2_), forces_wanted | want_nearest, part.forces());
    device_.synchronize();
    for (std::int64_t t = 0; t < part.count(); ++t) {
      const std::int64_t k = asking[static_cast<std::size_t>(t)];
      for (int axis = 0; axis < 3; ++axis) {
        block_.acceleration(axis)[k] += part.acceleration(axis)[t];
        block_.jerk(axis)[k] += part.jerk(axis)[t];
      }
      block_.potential()[k] += part.potential()[t];
      if (part.nearest()[t] < 0 || !(part.nearest_distance()[t] < block_.nearest_distance()[k])) continue;
      block_.nearest_distance()[k] = part.nearest_distance()[t];
      block_.nearest()[k] = first + part.nearest()[t];
    }
  }
}

void Cluster::require_finite() {
  for (std::int64_t k = 0; k < count(); ++k) {
    if (finite(k)) continue;
    if (!nearest_started_) finish(true);
    throw Error(ErrorKind::numerics,
                fmt::format("the force on the particle with index {} is not finite: the nearest one, index {}, is at "
                            "distance {} (eps2 = {})",
                            index_[static_cast<std::size_t>(k)], nearest(k), nearest_distance(k), epsilon2_));
  }
}

/// The solver lists addresses; here they become indices, without the particle itself unless the options ask for it.
bool Cluster::read_neighbour_lists() {
  if (!started_) throw Error(ErrorKind::input, "there is no block: expected g6calc_firsthalf before");
  if (running_) wait();
  prepare();
  Points points = block_.points(epsilon2_);
  points.own = nullptr;  // sources are left out by index below
  const NeighbourLists found = solver_->neighbour_lists(points, block_.radius2(), options_.most_neighbours);
  const bool fits = found.begin.back() <= options_.most_neighbours;
  const IndexMap& map = memory_.map();
  list_.clear();
  list_begin_.assign(1, 0);
  for (std::size_t k = 0; k < index_.size(); ++k) {
    for (std::int64_t at = found.begin[k]; fits && at < found.begin[k + 1]; ++at) {
      const auto address = static_cast<std::int32_t>(found.index[static_cast<std::size_t>(at)]);
      if (map.holds(address) && (options_.self_neighbour || map.index(address) != index_[k]))
        list_.push_back(map.index(address));
    }
    list_begin_.push_back(std::ssize(list_));
  }
  return fits;
}

}  // namespace pergola::g6
