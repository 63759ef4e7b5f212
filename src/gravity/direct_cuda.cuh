#pragma once
// CUDA only. The direct sum on a GPU: how sources are stored, how the work is shared out over the device, and how
// partial sums are added up.
//
// gravity/direct_kernel.cuh has the kernel, gravity/direct_solver.cuh the solver; time/hermite_cuda.cu uses both. If
// there are few targets, the sources are split into segments. Segments are always the same for a number of targets, and
// their sums are added in order, so results do not depend on which block or rank computes them.
#include <cstdint>

#include "device/launch.cuh"
#include "gravity/direct.hpp"
#include "gravity/solver.hpp"
#include "physics/hermite.hpp"
#include "physics/pair.hpp"
#include "physics/separation.hpp"

namespace pergola::cuda {

template <class T>
struct alignas(16) Real4 {
  T x, y, z, w;
};

/// Sources at one time in the form the force kernel reads. `place` holds position and mass (times G); `rest` what the
/// high part of a position leaves over, and the pair law's number of the softening; `motion` the velocity.
template <Precision P>
struct SourcePack {
  using Number = float;  // pair arithmetic
  using Sum = float;     // sums over many tiles
  static constexpr bool has_rest = false;
  Real4<float>*place = nullptr, *rest = nullptr, *motion = nullptr;
};
template <>
struct SourcePack<Precision::mixed> {
  using Number = float;
  using Sum = double;
  static constexpr bool has_rest = true;
  Real4<float>*place = nullptr, *rest = nullptr, *motion = nullptr;
};
template <>
struct SourcePack<Precision::double_> {
  using Number = double;
  using Sum = double;
  static constexpr bool has_rest = false;
  Real4<double>*place = nullptr, *rest = nullptr, *motion = nullptr;
};

/// Stores one source. The softening stands in rest.w where there is a rest, else in motion.w.
template <Precision P>
__device__ __forceinline__ void store_source(const SourcePack<P>& pack, std::int64_t i, const Vec3<double>& x,
                                             const Vec3<double>& v, double gravitating_mass, double softening) {
  using T = typename SourcePack<P>::Number;
  const Real4<T> place{static_cast<T>(x.x), static_cast<T>(x.y), static_cast<T>(x.z), static_cast<T>(gravitating_mass)};
  pack.place[i] = place;
  if constexpr (SourcePack<P>::has_rest)
    pack.rest[i] = {static_cast<T>(x.x - static_cast<double>(place.x)),
                    static_cast<T>(x.y - static_cast<double>(place.y)),
                    static_cast<T>(x.z - static_cast<double>(place.z)), static_cast<T>(softening)};
  pack.motion[i] = {static_cast<T>(v.x), static_cast<T>(v.y), static_cast<T>(v.z), static_cast<T>(softening)};
}

/// The place and velocity of a source that is stored.
template <Precision P>
__device__ __forceinline__ void load_source(const SourcePack<P>& pack, std::int64_t i, Vec3<double>& x,
                                            Vec3<double>& v) {
  const auto place = pack.place[i], motion = pack.motion[i];
  x = {place.x, place.y, place.z}, v = {motion.x, motion.y, motion.z};
  if constexpr (SourcePack<P>::has_rest) {
    const auto rest = pack.rest[i];
    x = x + Vec3<double>{rest.x, rest.y, rest.z};
  }
}

/// Predicts source i to `now` and stores it.
template <Precision P, class Real>
__device__ __forceinline__ void predict_and_store(const SourcePack<P>& pack, const Sources<Real>& s, std::int64_t now,
                                                  double g, const SofteningTable& softening, std::int64_t i) {
  Vec3<double> x, v;
  predict_source(s, i, now, x, v);
  const double number = softening.number[s.species && softening.by_particle ? s.species[i] : 0];
  store_source(pack, i, x, v, g * static_cast<double>(s.mass[i]), number);
}

/// The same to `s.moment`, from the source's own time and with the snap.
template <Precision P, class Real>
__device__ __forceinline__ void predict_from_time_and_store(const SourcePack<P>& pack, const Sources<Real>& s, double g,
                                                            const SofteningTable& softening, std::int64_t i) {
  Vec3<double> x{s.x[i], s.y[i], s.z[i]}, v{s.vx[i], s.vy[i], s.vz[i]};
  physics::hermite_predict<double>(s.moment - s.time[i], x, v, {s.ax[i], s.ay[i], s.az[i]}, {s.jx[i], s.jy[i], s.jz[i]},
                                   {s.sx[i], s.sy[i], s.sz[i]});
  store_source(pack, i, x, v, g * static_cast<double>(s.mass[i]), softening.number[0]);
}

// ---- sharing out the work
// -------------------------------------------------------------------------------------------------------

inline constexpr int force_threads = 128;
inline constexpr int force_warps = force_threads / 32;
inline constexpr int narrow_group = 32;
/// Up to this many targets a block serves 32 of them and its warps share the sources; beyond it every thread serves
/// several.
inline constexpr std::int64_t narrow_limit = 3072;
inline constexpr int most_segments = 264;
inline constexpr int shortest_segment = 64;
/// Sources that are added up at once, in narrow launches a warp's part of it: fp32 sums run over one tile at most.
inline constexpr int force_tile = 256;

/// Targets are served in groups; the first `whole` groups by one block each over all sources, the others by `segments`
/// blocks, each over a range of the sources, so that the last wave of blocks is full as well (kirin section 3.2). A
/// function of the number of targets over all ranks, the number of sources and the device: never of what one rank
/// happens to serve.
struct Decomposition {
  std::int64_t groups = 0, whole = 0;
  std::int64_t segment_length = 0;
  int group = 0;  // targets per group
  int segments = 1;
  bool narrow = false;
};

/// a / b, rounded up; short division where both fit, for where only the device knows the count every thread does it.
PERGOLA_HD std::int64_t divide_up(std::int64_t a, std::int64_t b) {
  if (a < (std::int64_t{1} << 31) && b < (std::int64_t{1} << 31)) {
    const auto x = static_cast<std::uint32_t>(a), y = static_cast<std::uint32_t>(b);
    return (x + y - 1) / y;
  }
  return (a + b - 1) / b;
}

PERGOLA_HD Decomposition decompose(std::int64_t total, std::int64_t sources, int grid, int wide_group) {
  Decomposition d;
  d.narrow = total <= narrow_limit;
  d.group = d.narrow ? narrow_group : wide_group;
  d.groups = d.narrow ? divide_up(total, narrow_group) : divide_up(total, wide_group);
  d.whole = d.groups < grid ? 0 : d.groups / grid * grid;
  const int rest = static_cast<int>(d.groups - d.whole);
  if (rest > 0) {
    // Candidates fill one, two, three or four waves of blocks as nearly as whole numbers allow; fewer waves are
    // preferred.
    const std::int64_t longest = sources / shortest_segment;
    const int most = static_cast<int>(longest < most_segments ? (longest < 1 ? 1 : longest) : most_segments);
    float best = -1;
    for (int waves = 1; waves <= 4; ++waves) {
      int s = waves * grid / rest;
      s = s < 1 ? 1 : s < most ? s : most;
      const float full =
          static_cast<float>(s * rest) / static_cast<float>(waves * grid) - 0.01f * static_cast<float>(waves);
      if (full > best) best = full, d.segments = s;
    }
  }
  d.segment_length = (divide_up(sources, d.segments) + 31) / 32 * 32;
  return d;
}

/// Values per target in the sums: acceleration, jerk, potential.
inline constexpr int sum_values = 7;
inline constexpr int force_kinds = 5;

/// Room for the sums of the targets of split groups, one set per segment, for any number of targets.
PERGOLA_HD std::int64_t partial_capacity(int grid, int wide_group) {
  return 4 * std::int64_t{grid} * (wide_group > narrow_group ? wide_group : narrow_group) * sum_values;
}

/// The kernels by what they compute. Anything else is served by the next larger one.
enum class ForceKind {
  acceleration,
  acceleration_potential,
  potential,
  acceleration_jerk,
  acceleration_jerk_potential
};

/// Which of the seven values a kind computes, and where each stands among them.
template <ForceKind K>
struct ForceColumns {
  static constexpr bool acceleration = K != ForceKind::potential;
  static constexpr bool jerk = K == ForceKind::acceleration_jerk || K == ForceKind::acceleration_jerk_potential;
  static constexpr bool potential = K != ForceKind::acceleration && K != ForceKind::acceleration_jerk;
  static constexpr int values = (acceleration ? 3 : 0) + (jerk ? 3 : 0) + (potential ? 1 : 0);
  PERGOLA_HD static constexpr bool computes(int value) {
    return value < 3 ? acceleration : value < 6 ? jerk : potential;
  }
  PERGOLA_HD static constexpr int column(int value) { return value < 6 ? value : values - 1; }
  PERGOLA_HD static constexpr int value(int column) { return potential && column == values - 1 ? 6 : column; }
};

/// Sources in a row.
struct SourceRange {
  std::int64_t first, last;
};

/// What a launch of ranks has beside: some of the sources, where not all are here at once. It adds those tiles that
/// begin at places from … to − 1; what else such a tile has is here too.
struct SourceWindow {
  bool used = false;
  bool goes_on = false;  // sums go on from where they stand: `out`, `partial`, or of narrow groups `warp_sums`
  std::int64_t from = 0, to = INT64_MAX;
  std::int64_t held = 0;  // the place of the first source that is here

  /// Whether a tile of these may begin here.
  PERGOLA_HD bool meets(const SourceRange& range) const { return range.first < to && range.last > from; }
};

/// One launch of the force kernel.
template <Precision P>
struct ForceTask {
  using Sum = typename SourcePack<P>::Sum;
  SourcePack<P> sources;
  std::int64_t source_count = 0;
  double softening = 0;                        // where one number serves all
  std::int64_t total = 0;                      // targets over all ranks …
  const std::int64_t* device_total = nullptr;  // … or where their number stands on the device
  std::int64_t first = 0;                      // this launch serves the targets first … first + count − 1 of them;
  std::int64_t count = -1;                     // −1: all
  const std::int64_t* index = nullptr;         // places of the targets served here; null: place = number
  SourcePack<P> points;                        // where targets are not sources: they, one per target served here
  Sum* out[sum_values] = {};                   // results of whole groups, one per target served here
  Sum* partial = nullptr;        // results of split groups: [target from the first split one][segment][column]
  SourceWindow window;           // and where it is used …
  Sum* warp_sums = nullptr;      // … where narrow groups go on: [warp_sums_at()][warp][column]
  std::int64_t index_from = 0;   // … the index counts from this place on
  bool points_by_place = false;  // … points are not one per target, but all from place index_from on

  /// The place of a target among the sources; −1 for a point that is none of them.
  template <bool windowed = false>
  __device__ std::int64_t place(std::int64_t slot) const {
    if (!index) return slot;
    return windowed ? index_from + index[slot - first] : index[slot - first];
  }
  __device__ std::int64_t targets() const { return device_total ? *device_total : total; }
  PERGOLA_HD std::int64_t end(std::int64_t targets) const { return count < 0 ? targets : first + count; }
};

/// Where one value of the target with number `slot` belongs; null if it is not wanted.
template <class Columns, Precision P>
__device__ __forceinline__ typename SourcePack<P>::Sum* sum_place(const ForceTask<P>& task, const Decomposition& d,
                                                                  std::int64_t slot, int segment, int column) {
  const std::int64_t first_split = d.whole * d.group;
  if (slot >= first_split)
    return task.partial + (((slot - first_split) * d.segments + segment) * Columns::values + column);
  auto* const out = task.out[Columns::value(column)];
  return out ? out + (slot - task.first) : nullptr;
}

/// The number of a target's segment among those served here; of the end: how many there are. A whole target has one.
template <Precision P>
PERGOLA_HD std::int64_t warp_sums_at(const ForceTask<P>& task, const Decomposition& d, std::int64_t slot,
                                     int segment = 0) {
  const std::int64_t first_split = d.whole * d.group;
  if (slot < first_split) return slot - task.first;
  const std::int64_t split = first_split > task.first ? first_split : task.first;
  return split - task.first + (slot - split) * d.segments + segment;
}

/// What a launch needs to know about its kernel on this device.
struct ForceGrid {
  int blocks = 0;
  int wide_group = 0;
};

/// The decomposition of a launch whose count the host knows: once here, not by every thread (of 187 µs for 16,384
/// targets and sources the divisions took ten). Elsewhere empty: the device makes it.
template <Precision P>
Decomposition decomposition(const ForceTask<P>& task, const ForceGrid& grid) {
  if (task.device_total) return {};
  return decompose(task.total, task.source_count, grid.blocks, grid.wide_group);
}

/// The loops over one pair law. by_particle: each particle has a softening length of its own.
template <Precision P>
struct ForceLoops {
  ForceGrid (*grid)(ForceKind kind, bool by_particle);
  void (*launch)(const ForceTask<P>& task, ForceKind kind, bool by_particle, const ForceGrid& grid, Stream stream);
};

/// Adds the segments of split targets into task.out; for launches whose counts the host knows.
template <Precision P>
void launch_collect(const ForceTask<P>& task, ForceKind kind, const ForceGrid& grid, Stream stream);

/// Adds the sums of the warps of narrow groups that went on from window to window, for launch_collect.
template <Precision P>
void launch_add_warps(const ForceTask<P>& task, ForceKind kind, const ForceGrid& grid, Stream stream);

/// Adds the segments of one target in a fixed order. A team of `lanes` (1 or 32) threads of a warp works together; all
/// of them must call, and lane 0 of the team gets the sums. Whole groups are read from `out`.
template <ForceKind K, Precision P>
__device__ __forceinline__ void collect_sums(const ForceTask<P>& task, const Decomposition& d, std::int64_t slot,
                                             int lane, int lanes, typename SourcePack<P>::Sum (&sum)[sum_values]) {
  using Sum = typename SourcePack<P>::Sum;
  const std::int64_t first_split = d.whole * d.group;
  if (slot < first_split) {
#pragma unroll
    for (int k = 0; k < sum_values; ++k) sum[k] = task.out[k] ? task.out[k][slot - task.first] : Sum(0);
    return;
  }
#pragma unroll
  for (int k = 0; k < sum_values; ++k) sum[k] = 0;
  using Columns = ForceColumns<K>;
  const Sum* at = task.partial + (slot - first_split) * d.segments * Columns::values;
  // Loads of several segments are in flight at once; the order of the sums stays that of the segments.
  constexpr int prefetched = 4;
  for (int base = lane; base < d.segments; base += prefetched * lanes) {
    Sum value[prefetched][sum_values];
#pragma unroll
    for (int u = 0; u < prefetched; ++u)
#pragma unroll
      for (int k = 0; k < sum_values; ++k)
        value[u][k] = Columns::computes(k) && base + u * lanes < d.segments
                          ? at[(base + u * lanes) * Columns::values + Columns::column(k)]
                          : Sum(0);
#pragma unroll
    for (int u = 0; u < prefetched; ++u)
#pragma unroll
      for (int k = 0; k < sum_values; ++k) sum[k] += value[u][k];
  }
  if (lanes == 32) {
#pragma unroll
    for (int offset = 16; offset > 0; offset /= 2)
#pragma unroll
      for (int k = 0; k < sum_values; ++k)
        if (Columns::computes(k)) sum[k] += __shfl_down_sync(0xffffffffu, sum[k], offset);
  }
}

/// Threads that share the segments of one target when sums are collected.
PERGOLA_HD int collect_lanes(const Decomposition& d) { return d.segments > 8 ? 32 : 1; }

}  // namespace pergola::cuda
