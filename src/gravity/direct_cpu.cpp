// The direct sum on the CPU: packs sources, fills tiles of targets, shares tiles and spans of sources out over threads,
// and adds the sums of spans in order. The inner loops are those of the pair law (gravity/direct_loops.inl).
//
// Steps of evaluate(): (1) targets are cut into tiles of as many as the SIMD loops take, (2) each tile visits all spans
// of sources; within a block sums are in the pair's number type, over blocks in double precision, (3) sums of spans are
// added in the order of the spans, (4) answers are written, and the lowest target without a finite one is reported.
// Two ways to use threads, with the same bits: whole tiles per thread, or, if tiles are few, spans of a tile per
// thread.
#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>
#include <vector>

#include "device/buffer.hpp"
#include "device/parallel.hpp"
#include "gravity/direct.hpp"
#include "gravity/direct_tiles.hpp"
#include "gravity/pair_laws.hpp"
#include "gravity/solver.hpp"

namespace pergola {

namespace {

using direct::block_size, direct::Kind, direct::Numbers, direct::pairs_worth_threads, direct::sources_worth_threads;

/// A tile per thread at a time; with fewer tiles than this many per thread, the sources are shared out too.
constexpr std::int64_t tiles_per_thread = 8;

/// Stores one answer in the type of the caller, and notes whether it is still a finite number there.
template <class To>
void write(To* to, std::int64_t at, double value, bool& finite) {
  to[at] = static_cast<To>(value);
  finite = finite && std::isfinite(to[at]);
}

/// All pairs on the CPU. Sources are packed by prepare(); evaluate() hands tiles of targets to the kernels. The sums of
/// a target run over spans of sources that are always the same and are added in their order, so that they depend
/// neither on the number of threads nor on which other targets are asked for.
template <Precision precision>
class DirectCpu final : public DirectSolver<typename Numbers<precision>::State> {
 public:
  using State = typename Numbers<precision>::State;
  using Pair = typename Numbers<precision>::Pair;

  DirectCpu(const SolverOptions& options, const Device& device)
      : options_(options), law_(pair_law(options.softening.kernel)), device_(device) {
    sources_.softening = softening_table(options.softening);
  }
  const SolverInfo& info() const override { return direct_info(); }
  void prepare(const Sources<State>& sources) override;
  void evaluate(const Targets& targets, unsigned want, const Forces<State>& forces) override;
  void evaluate(const Points& points, unsigned want, const Forces<State>& forces) override;
  NeighbourLists neighbour_lists(const Targets& targets, double radius) override {
    const double radius2 = radius * radius;
    return lists(
        targets, [radius2](std::int64_t) { return radius2; }, std::numeric_limits<std::int64_t>::max());
  }
  NeighbourLists neighbour_lists(const Points& points, const double* radius2, std::int64_t most) override {
    return lists(
        points, [radius2](std::int64_t t) { return radius2[t]; }, most);
  }
  std::int64_t device_bytes(std::int64_t n) const override { return (n + block_size - 1) / block_size * block_bytes; }

 private:
  static constexpr std::int64_t block_values = Numbers<precision>::fields * block_size;
  static constexpr std::int64_t block_bytes = block_values * static_cast<std::int64_t>(sizeof(Pair));

  // Asking is Targets or Points.
  template <class Asking>
  std::int64_t sum_wanted(const Asking& asking, unsigned want, const Forces<State>& out);
  template <class Asking>
  std::int64_t sum(Kind kind, const Asking& asking, unsigned want, const Forces<State>& out);
  void sum_spans(Kind kind, const direct::Tile<precision>& tile, direct::TileSums& total) const;
  void sum_few_tiles(Kind kind, std::vector<direct::Tile<precision>>& tiles, std::vector<direct::TileSums>& totals);
  void fill(Kind kind, const Targets& targets, std::int64_t begin, int lanes, direct::Tile<precision>& tile) const;
  void fill(Kind kind, const Points& points, std::int64_t begin, int lanes, direct::Tile<precision>& tile) const;
  template <class Asking>
  void find_nearest(const Asking& asking, const Forces<State>& out) const;
  template <class Asking>
  void search_tile(const Asking& asking, std::int64_t begin, std::int64_t first, std::int64_t last,
                   direct::Nearest* found) const;
  template <class Asking, class Radius2>
  NeighbourLists lists(const Asking& asking, const Radius2& radius2, std::int64_t most) const;
  [[noreturn]] void fail(std::int64_t place) const;

  /// Lanes of the tiles that sum_tile() takes.
  int tile_size(Kind kind) const { return law_.direct.packs(kind) * direct::search_tile_size<precision>(); }
  void sum_tile(const direct::TileTask<precision>& task) const { law_.direct.sum_tile<precision>()(task); }
  std::int64_t spans() const { return (sources_.blocks() + direct::blocks_per_span - 1) / direct::blocks_per_span; }
  int threads_for(std::int64_t work, std::int64_t worth) const { return work < worth ? 1 : device_.threads(); }
  /// Targets for one piece of work of a search: all threads are to have some.
  std::int64_t search_chunk(std::int64_t count) const { return count < 64 * device_.threads() ? 1 : 16; }
  /// The place of a target among the sources, so that it is left out of its own sum; -1: the point is no source.
  static std::int64_t place_of(const Targets& targets, std::int64_t t) {
    return targets.index ? targets.index[t] : targets.first + t;
  }
  static std::int64_t place_of(const Points& points, std::int64_t t) { return points.own ? points.own[t] : -1; }
  Vec3<double> position(const Targets& targets, std::int64_t t) const {
    return sources_.position(place_of(targets, t));
  }
  static Vec3<double> position(const Points& points, std::int64_t t) { return {points.x[t], points.y[t], points.z[t]}; }

  SolverOptions options_;
  PairLawEntry law_;
  Device device_;
  Buffer<Pair> memory_;
  direct::Blocks<precision> sources_;
  std::vector<direct::TileSums> parts_;
};

/// Packs all sources. Memory grows when it must and is kept for the next step.
template <Precision precision>
void DirectCpu<precision>::prepare(const Sources<State>& from) {
  sources_.count = from.count;
  if (memory_.size() < sources_.blocks() * block_values)
    memory_ = Buffer<Pair>(device_, sources_.blocks() * block_values);
  sources_.data = memory_.data();
  parallel_for(threads_for(from.count, sources_worth_threads), sources_.blocks(),
               [&](std::int64_t block) { direct::pack_block(from, options_.gravitational_constant, block, sources_); });
}

template <Precision precision>
void DirectCpu<precision>::evaluate(const Targets& targets, unsigned want, const Forces<State>& forces) {
  if (targets.count == 0) return;
  sources_.softening = softening_table(options_.softening);
  const std::int64_t failed = sum_wanted(targets, want, forces);
  if (failed < targets.count) fail(place_of(targets, failed));
  if (want & want_nearest) find_nearest(targets, forces);
}

template <Precision precision>
void DirectCpu<precision>::evaluate(const Points& points, unsigned want, const Forces<State>& forces) {
  if (sources_.softening.by_particle) throw softening_for_points();
  if (points.count == 0) return;
  sources_.softening.number[0] = law_.softening_number(points.epsilon2);
  sum_wanted(points, want, forces);
  if (want & want_nearest) find_nearest(points, forces);
}

/// Sums what is wanted. Returns the lowest number of a target whose answer is not finite, else the number of targets.
template <Precision precision>
template <class Asking>
std::int64_t DirectCpu<precision>::sum_wanted(const Asking& asking, unsigned want, const Forces<State>& out) {
  const auto kind = direct::kind_of(want);
  return kind ? sum(*kind, asking, want, out) : asking.count;
}

/// Copies targets from the packed sources into the lanes of a tile. Lanes beyond the last target repeat it; their sums
/// are not written.
template <Precision precision>
void DirectCpu<precision>::fill(Kind kind, const Targets& targets, std::int64_t begin, int lanes,
                                direct::Tile<precision>& tile) const {
  for (int lane = 0; lane < lanes; ++lane)
    tile.place[lane] = place_of(targets, std::min(begin + lane, targets.count - 1));
  direct::each_target_field<precision>(kind, sources_.softening, [&](int first, int last) {
    for (int field = first; field <= last; ++field)
      for (int lane = 0; lane < lanes; ++lane)
        tile.field[field][lane] = sources_.field(tile.place[lane] / block_size, field)[tile.place[lane] % block_size];
  });
}

/// The same for free points, whose coordinates are split into high and low parts where the precision has them.
template <Precision precision>
void DirectCpu<precision>::fill(Kind kind, const Points& points, std::int64_t begin, int lanes,
                                direct::Tile<precision>& tile) const {
  const auto each_lane = [&](const auto& body) {
    for (int lane = 0; lane < lanes; ++lane) body(lane, std::min(begin + lane, points.count - 1));
  };
  const auto fetch = [&](const double* values, int field) {
    each_lane([&](int lane, std::int64_t t) { tile.field[field][lane] = static_cast<Pair>(values[t]); });
  };
  each_lane([&](int lane, std::int64_t t) { tile.place[lane] = place_of(points, t); });
  fetch(points.x, direct::x), fetch(points.y, direct::y), fetch(points.z, direct::z);
  if constexpr (Numbers<precision>::low_parts) {
    const auto fetch_low = [&](const double* values, int field) {
      each_lane([&](int lane, std::int64_t t) {
        tile.field[field][lane] = static_cast<Pair>(values[t] - static_cast<double>(static_cast<Pair>(values[t])));
      });
    };
    fetch_low(points.x, direct::x_low), fetch_low(points.y, direct::y_low), fetch_low(points.z, direct::z_low);
  }
  if (kind == Kind::acceleration_jerk_potential)
    fetch(points.vx, direct::vx), fetch(points.vy, direct::vy), fetch(points.vz, direct::vz);
}

/// Rows of TileSums: acceleration (0 to 2), jerk (3 to 5), potential (6).
void add(const direct::TileSums& part, int lanes, direct::TileSums& total) {
  for (int row = 0; row < 7; ++row)
    for (int lane = 0; lane < lanes; ++lane) total.value[row][lane] += part.value[row][lane];
}

/// All spans of sources for one tile, in their order.
template <Precision precision>
void DirectCpu<precision>::sum_spans(Kind kind, const direct::Tile<precision>& tile, direct::TileSums& total) const {
  const int lanes = tile_size(kind);
  const std::int64_t blocks = sources_.blocks();
  direct::TileSums part;
  for (std::int64_t first = 0; first < blocks; first += direct::blocks_per_span) {
    sum_tile({kind, sources_, tile, first, std::min(first + direct::blocks_per_span, blocks), part});
    add(part, lanes, total);
  }
}

/// The same sums, with the spans of each tile shared out over the threads, some at a time, and added in order.
template <Precision precision>
void DirectCpu<precision>::sum_few_tiles(Kind kind, std::vector<direct::Tile<precision>>& tiles,
                                         std::vector<direct::TileSums>& totals) {
  const int lanes = tile_size(kind);
  const auto tile_count = static_cast<std::int64_t>(tiles.size());
  const std::int64_t blocks = sources_.blocks();
  const std::int64_t at_a_time =
      std::min(spans(), (4 * tiles_per_thread * device_.threads() + tile_count - 1) / tile_count);
  parts_.resize(static_cast<std::size_t>(std::max<std::int64_t>(at_a_time * tile_count, std::ssize(parts_))));
  for (std::int64_t begin = 0; begin < spans(); begin += at_a_time) {
    const std::int64_t count = std::min(at_a_time, spans() - begin);
    parallel_for(device_.threads(), count * tile_count, [&](std::int64_t k) {
      const std::int64_t first = (begin + k % count) * direct::blocks_per_span;
      sum_tile({kind, sources_, tiles[static_cast<std::size_t>(k / count)], first,
                std::min(first + direct::blocks_per_span, blocks), parts_[static_cast<std::size_t>(k)]});
    });
    for (std::int64_t k = 0; k < count * tile_count; ++k)
      add(parts_[static_cast<std::size_t>(k)], lanes, totals[static_cast<std::size_t>(k / count)]);
  }
}

/// Chooses how threads share the work, sums all targets, and writes the answers. Returns as sum_wanted().
template <Precision precision>
template <class Asking>
std::int64_t DirectCpu<precision>::sum(Kind kind, const Asking& asking, unsigned want, const Forces<State>& out) {
  const int lanes = tile_size(kind);
  const std::int64_t tiles = (asking.count + lanes - 1) / lanes;
  std::atomic<std::int64_t> failed = asking.count;
  const auto put = [&](std::int64_t tile, const direct::TileSums& sums) {
    const std::int64_t end = std::min<std::int64_t>(lanes, asking.count - tile * lanes);
    for (std::int64_t lane = 0; lane < end; ++lane) {
      const std::int64_t t = tile * lanes + lane;
      const auto value = [&](int row) { return sums.value[row][lane]; };
      bool finite = true;
      if (want & want_acceleration)
        write(out.ax, t, value(0), finite), write(out.ay, t, value(1), finite), write(out.az, t, value(2), finite);
      if (want & want_jerk)
        write(out.jx, t, value(3), finite), write(out.jy, t, value(4), finite), write(out.jz, t, value(5), finite);
      if (want & want_potential) write(out.potential, t, value(6), finite);
      std::int64_t lowest = failed.load();
      while (!finite && t < lowest && !failed.compare_exchange_weak(lowest, t)) {
      }
    }
  };
  const int threads = threads_for(asking.count * sources_.count, pairs_worth_threads);
  if (threads == 1 || tiles >= tiles_per_thread * threads || spans() == 1) {
    parallel_for(threads, tiles, [&](std::int64_t k) {
      direct::Tile<precision> tile;
      direct::TileSums total{};
      fill(kind, asking, k * lanes, lanes, tile);
      sum_spans(kind, tile, total);
      put(k, total);
    });
  } else {
    std::vector<direct::Tile<precision>> few(static_cast<std::size_t>(tiles));
    std::vector<direct::TileSums> totals(static_cast<std::size_t>(tiles));
    for (std::int64_t k = 0; k < tiles; ++k) fill(kind, asking, k * lanes, lanes, few[static_cast<std::size_t>(k)]);
    sum_few_tiles(kind, few, totals);
    for (std::int64_t k = 0; k < tiles; ++k) put(k, totals[static_cast<std::size_t>(k)]);
  }
  return failed;
}

/// The nearest sources of the blocks first … last − 1 for the targets of a tile. Blocks that a rough distance rules out
/// are not looked at closely.
template <Precision precision>
template <class Asking>
void DirectCpu<precision>::search_tile(const Asking& asking, std::int64_t begin, std::int64_t first, std::int64_t last,
                                       direct::Nearest* found) const {
  constexpr std::int64_t at_a_time = 32;
  const int lanes = direct::search_tile_size<precision>();
  direct::Tile<precision> tile;
  fill(Kind::acceleration, asking, begin, lanes, tile);
  alignas(64) Pair rough[at_a_time][direct::tile_capacity];
  const std::int64_t count = std::min<std::int64_t>(lanes, asking.count - begin);
  for (std::int64_t base = first; base < last; base += at_a_time) {
    const std::int64_t end = std::min(base + at_a_time, last);
    direct::nearest_squares(sources_, tile, base, end, rough);
    for (std::int64_t lane = 0; lane < count; ++lane) {
      const auto point = position(asking, begin + lane);
      // Rough squares are off by 1e-6 of themselves, or by the last digits of the coordinates.
      const double slack = 1e-24 * dot(point, point);
      for (std::int64_t block = base; block < end; ++block)
        if (rough[block - base][lane] <= 1.00001 * found[lane].square + slack)
          direct::search_block(sources_, block, point, tile.place[lane], found[lane]);
    }
  }
}

/// Each target's nearest source. Ranges of blocks are searched separately; equal distances go to the earlier range.
template <Precision precision>
template <class Asking>
void DirectCpu<precision>::find_nearest(const Asking& asking, const Forces<State>& out) const {
  const int lanes = direct::search_tile_size<precision>();
  const int threads = threads_for(asking.count * sources_.count, pairs_worth_threads);
  const std::int64_t tiles = (asking.count + lanes - 1) / lanes, blocks = sources_.blocks();
  // Where tiles are few, each is worked on by several threads, on ranges of the sources.
  const std::int64_t ranges = tiles >= tiles_per_thread * threads ? 1 : std::min<std::int64_t>(threads * 2, blocks);
  std::vector<direct::Nearest> found(static_cast<std::size_t>(tiles * ranges * lanes));
  parallel_for(threads, tiles * ranges, [&](std::int64_t k) {
    const std::int64_t range = k % ranges;
    search_tile(asking, k / ranges * lanes, blocks * range / ranges, blocks * (range + 1) / ranges,
                found.data() + k * lanes);
  });
  for (std::int64_t t = 0; t < asking.count; ++t) {
    direct::Nearest best;
    for (std::int64_t range = 0; range < ranges; ++range) {
      const direct::Nearest& part = found[static_cast<std::size_t>((t / lanes * ranges + range) * lanes + t % lanes)];
      if (part.square < best.square) best = part;
    }
    out.nearest[t] = best.place;
    if (out.nearest_distance) out.nearest_distance[t] = static_cast<State>(std::sqrt(best.square));
  }
}

/// Says why the force on a particle is not a number.
template <Precision precision>
void DirectCpu<precision>::fail(std::int64_t place) const {
  const direct::Nearest other = direct::nearest(sources_, sources_.position(place), place);
  const auto unsoftened = [this](std::int64_t at) {
    return law_.is_unsoftened(sources_.softening.by_particle
                                  ? sources_.field(at / block_size, direct::softening)[at % block_size]
                                  : static_cast<Pair>(sources_.softening.number[0]));
  };
  direct::fail<precision>(place, other, unsoftened(place) && (other.place < 0 || unsoftened(other.place)));
}

/// Neighbours within radius2(t) of each target, in the order of their places. Lists are found in chunks of targets and
/// joined in order. With more than `most` in all, only the counts of the lists are returned.
template <Precision precision>
template <class Asking, class Radius2>
NeighbourLists DirectCpu<precision>::lists(const Asking& asking, const Radius2& radius2, std::int64_t most) const {
  const std::int64_t chunk = search_chunk(asking.count);
  std::vector<NeighbourLists> pieces(static_cast<std::size_t>((asking.count + chunk - 1) / chunk));
  std::atomic<std::int64_t> listed = 0;  // once there are too many, the rest is only counted
  parallel_chunks(threads_for(asking.count * sources_.count, pairs_worth_threads), asking.count, chunk,
                  [&](std::int64_t begin, std::int64_t end) {
                    auto& piece = pieces[static_cast<std::size_t>(begin / chunk)];
                    double squares[block_size];
                    for (std::int64_t t = begin; t < end; ++t) {
                      const std::int64_t own = place_of(asking, t);
                      const auto point = position(asking, t);
                      const double limit = radius2(t);
                      std::int64_t found = 0;
                      for (std::int64_t block = 0; limit > 0 && block < sources_.blocks(); ++block) {
                        if (!(direct::block_distances(sources_, block, point, squares) < limit)) continue;
                        const bool room = listed.load(std::memory_order_relaxed) <= most;
                        for (int k = 0; k < sources_.filled(block); ++k) {
                          if (!(squares[k] < limit) || block * block_size + k == own) continue;
                          if (room) piece.index.push_back(block * block_size + k);
                          ++found;
                        }
                      }
                      listed.fetch_add(found, std::memory_order_relaxed);
                      piece.begin.push_back(found);
                    }
                  });
  NeighbourLists lists;
  lists.begin.push_back(0);
  for (const auto& piece : pieces) {
    for (const std::int64_t found : piece.begin) lists.begin.push_back(lists.begin.back() + found);
    if (listed <= most) lists.index.insert(lists.index.end(), piece.index.begin(), piece.index.end());
  }
  return lists;
}

}  // namespace

const SolverInfo& direct_info() {
  static const SolverInfo info{.name = "direct",
                               .pairwise = true,
                               .jerk = true,
                               .potential = true,
                               .subset = true,
                               .nearest = true,
                               .neighbour_lists = true};
  return info;
}

template <class Real>
std::unique_ptr<DirectSolver<Real>> make_direct_cpu(const SolverOptions& options, const Device& device) {
  return make_for_precision<DirectSolver<Real>, DirectCpu>(options, device);
}
template std::unique_ptr<DirectSolver<float>> make_direct_cpu(const SolverOptions& options, const Device& device);
template std::unique_ptr<DirectSolver<double>> make_direct_cpu(const SolverOptions& options, const Device& device);

}  // namespace pergola
