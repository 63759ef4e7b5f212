// The loops of block steps on the CPU. Threads take chunks of particles; each chunk notes its own changes of the
// census, and these are added after the loop. So the census, the list of active particles and the reported fault (the
// lowest place) are the same for any number of threads. Formulas are the functions of time/block_loops.hpp.
#include <algorithm>
#include <cmath>
#include <vector>

#include "device/parallel.hpp"
#include "time/block_loops.hpp"

namespace pergola {

namespace {

constexpr std::int64_t chunk = 1024;
constexpr std::int64_t list_chunk = 16384;

/// What a chunk of particles changes in the census.
struct Change {
  std::int64_t fault = BlockCensus::no_fault;
  std::int32_t population[block_levels] = {};
};

/// Needs no memory of its own beyond the census; scratch of a loop is local to it.
template <class Real>
class BlockLoopsCpu final : public BlockLoops<Real> {
 public:
  explicit BlockLoopsCpu(const Device& device) : threads_(device.threads()) {}

  void set_census(const BlockCensus& census) override { census_ = census; }
  BlockCensus census() override { return census_; }

  void choose_first_levels(const BlockArrays<Real>& s, const BlockStep& step) override {
    change_census(s.particle.count, [&](std::int64_t i, Change& change) {
      int level = 0;
      const StepFault fault = first_block_level(s, step, epsilon(s, step, i), i, level);
      if (fault != StepFault::none) return note(change, i, fault);
      s.level[i] = static_cast<std::int8_t>(level);
      ++change.population[level];
    });
  }

  /// Opening kicks of the steps that begin at step.now, then a drift of all. Whether all positions are finite is found
  /// in the vectorised loop; only a chunk that has a bad one is searched for it.
  void begin_step(const BlockArrays<Real>& s, const BlockStep& step) override {
    const auto& p = s.particle;
    const int starting = physics::lowest_level_at(step.now);
    const auto dt = static_cast<Real>(step.drift);
    std::vector<std::int64_t> found(static_cast<std::size_t>((p.count + chunk - 1) / chunk), BlockCensus::no_fault);
    parallel_chunks(threads_, p.count, chunk, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i)
        if (s.level[i] >= starting) kick_of_level(s, step.open, i);
      const bool finite = drift(end - begin, dt, p.x + begin, p.vx + begin) &
                          drift(end - begin, dt, p.y + begin, p.vy + begin) &
                          drift(end - begin, dt, p.z + begin, p.vz + begin);
      for (std::int64_t i = begin; !finite && i < end; ++i)
        if (!is_finite(Vec3<Real>{p.x[i], p.y[i], p.z[i]})) {
          found[static_cast<std::size_t>(begin / chunk)] = fault_at(i, StepFault::state_not_finite);
          break;
        }
      for (std::int64_t i = begin; step.box.periodic() && i < end; ++i) wrap_position(s, step.box, i);
    });
    for (const std::int64_t fault : found) census_.fault = std::min(census_.fault, fault);
  }

  void kick_by_long_range(const BlockArrays<Real>& s, double kick) override {
    const auto by = static_cast<Real>(kick);
    parallel_chunks(threads_, s.particle.count, chunk, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) pergola::kick_by_long_range(s, by, i);
    });
  }

  /// Two passes: the number of active particles per chunk, then their places. The list is in rising order.
  void list_active(const BlockArrays<Real>& s, int lowest) override {
    const std::int64_t n = s.particle.count;
    std::vector<std::int64_t> begin_of(static_cast<std::size_t>((n + list_chunk - 1) / list_chunk) + 1);
    parallel_chunks(threads_, n, list_chunk, [&](std::int64_t begin, std::int64_t end) {
      begin_of[static_cast<std::size_t>(begin / list_chunk) + 1] =
          std::count_if(s.level + begin, s.level + end, [=](std::int8_t level) { return level >= lowest; });
    });
    for (std::size_t c = 1; c < begin_of.size(); ++c) begin_of[c] += begin_of[c - 1];
    parallel_chunks(threads_, n, list_chunk, [&](std::int64_t begin, std::int64_t end) {
      const auto c = static_cast<std::size_t>(begin / list_chunk);
      if (begin_of[c] == begin_of[c + 1]) return;
      std::int64_t* to = s.active + begin_of[c];
      for (std::int64_t i = begin; i < end; ++i)
        if (s.level[i] >= lowest) *to++ = i;
    });
  }

  /// Entry t of the list has its new acceleration at t; with `all` there is no list, and t is the place.
  void end_step(const BlockArrays<Real>& s, const BlockStep& step, std::int64_t count, bool all) override {
    change_census(count, [&](std::int64_t t, Change& change) {
      const std::int64_t i = all ? t : s.active[t];
      int level = s.level[i];
      const StepFault fault = close_block_step(s, step, epsilon(s, step, i), t, i, level);
      if (fault != StepFault::none) return note(change, i, fault);
      --change.population[s.level[i]];
      ++change.population[level];
      s.level[i] = static_cast<std::int8_t>(level);
    });
  }

  void end_all_early(const BlockArrays<Real>& s, const EarlyEnd& end, const Box& box) override {
    change_census(s.particle.count, [&](std::int64_t i, Change& change) {
      const StepFault fault = end_early(s, end, box, i);
      if (fault != StepFault::none) note(change, i, fault);
    });
  }

  void close_all_early(const BlockArrays<Real>& s, const EarlyEnd& end) override {
    change_census(s.particle.count, [&](std::int64_t i, Change& change) {
      const StepFault fault = close_early(s, end, i);
      if (fault != StepFault::none) note(change, i, fault);
    });
  }

 private:
  static double epsilon(const BlockArrays<Real>& s, const BlockStep& step, std::int64_t i) {
    return step.wish.softening.epsilon[s.particle.species[i]];
  }
  static void note(Change& change, std::int64_t place, StepFault fault) {
    change.fault = std::min(change.fault, fault_at(place, fault));
  }

  /// One axis of a chunk, in a form that the compiler vectorises; false where a number is not finite.
  static bool drift(std::int64_t size, Real dt, Real* __restrict x, const Real* __restrict v) {
    constexpr Real largest = std::numeric_limits<Real>::max();
    int finite = 1;
    for (std::int64_t i = 0; i < size; ++i) {
      physics::drift_axis(dt, x[i], v[i]);
      finite &= std::abs(x[i]) <= largest;
    }
    return finite;
  }

  /// body(t, change) for t = 0 … count − 1; then the census with all changes.
  template <class Body>
  void change_census(std::int64_t count, const Body& body) {
    std::vector<Change> changes(static_cast<std::size_t>((count + chunk - 1) / chunk));
    parallel_chunks(threads_, count, chunk, [&](std::int64_t begin, std::int64_t end) {
      Change& change = changes[static_cast<std::size_t>(begin / chunk)];
      for (std::int64_t t = begin; t < end; ++t) body(t, change);
    });
    for (const Change& change : changes) {
      census_.fault = std::min(census_.fault, change.fault);
      for (int level = 0; level <= physics::deepest_level; ++level)
        census_.population[level] += change.population[level];
    }
  }

  int threads_;
  BlockCensus census_;
};

}  // namespace

template <class Real>
std::unique_ptr<BlockLoops<Real>> make_block_loops_cpu(const Device& device) {
  return std::make_unique<BlockLoopsCpu<Real>>(device);
}
template std::unique_ptr<BlockLoops<float>> make_block_loops_cpu(const Device& device);
template std::unique_ptr<BlockLoops<double>> make_block_loops_cpu(const Device& device);

}  // namespace pergola
