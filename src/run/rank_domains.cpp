#include "run/rank_domains.hpp"

#include <algorithm>
#include <cmath>

#include "base/philox.hpp"
#include "comm/shares.hpp"
#include "physics/mesh_weights.hpp"

namespace pergola {

namespace {

/// A sample tells how many partners a rank has where each of them got so many of its particles; else they are all.
constexpr double particles_of_a_partner = 4;
/// Displacements of a lattice along z are far below this part of the box; places anywhere are not.
constexpr double most_displaced = 0.1;

double wrapped(double u) {
  u -= std::floor(u);
  return u < 1 ? u : 0;
}

/// Counts copies, one after the other.
class Counter {
 public:
  Counter(const SampledPlaces& sample, int ranks, int ranks_per_node)
      : sample_(sample), ranks_(ranks), per_node_(ranks_per_node), arrived_(static_cast<std::size_t>(ranks)) {}

  int keeper(std::size_t i) const { return static_cast<int>(sample_.kept[i] * ranks_); }
  void add(int from, int worker) {
    ++copies_, ++arrived_[static_cast<std::size_t>(worker)];
    if (worker == from) return;
    ++leaving_;
    if (worker / per_node_ != from / per_node_) ++off_node_;
    pairs_.push_back(static_cast<std::uint64_t>(from) * static_cast<std::uint64_t>(ranks_) +
                     static_cast<std::uint64_t>(worker));
  }
  const std::vector<double>& arrived() const { return arrived_; }

  RoutedCopies found() {
    std::sort(pairs_.begin(), pairs_.end());
    const auto pairs = static_cast<double>(std::unique(pairs_.begin(), pairs_.end()) - pairs_.begin());
    const auto n = static_cast<double>(sample_.at.size());
    RoutedCopies routed;
    routed.copies = copies_ / n, routed.leaving = leaving_ / n;
    routed.off_node = leaving_ > 0 ? off_node_ / leaving_ : 0;
    const bool well_sampled = leaving_ >= particles_of_a_partner * pairs;
    routed.partners = leaving_ == 0 ? 0 : well_sampled ? pairs / ranks_ : ranks_ - 1.0;
    return routed;
  }

 private:
  const SampledPlaces& sample_;
  int ranks_, per_node_;
  double copies_ = 0, leaving_ = 0, off_node_ = 0;
  std::vector<std::uint64_t> pairs_;
  std::vector<double> arrived_;  // by rank
};

/// The most over the mean that so many ranks have where their numbers scatter by more than those of a sample do: a
/// normal distribution's largest of that many, and at most what was counted.
double clustering(const std::vector<double>& counts, const std::vector<double>& expected) {
  double excess = 0, ranks = 0, most = 1;
  for (std::size_t r = 0; r < counts.size(); ++r) {
    if (!(expected[r] > 0)) continue;
    const double off = counts[r] / expected[r] - 1;
    excess += off * off - 1 / expected[r];
    most = std::max(most, 1 + off);
    ranks += 1;
  }
  return ranks > 1 && excess > 0 ? std::min(most, 1 + std::sqrt(excess / ranks * 2 * std::log(ranks))) : 1;
}

int first_plane(double u, int order) {
  switch (order) {
    case 1:
      return physics::axis_weights<1, double>(u).first;
    case 2:
      return physics::axis_weights<2, double>(u).first;
    case 3:
      return physics::axis_weights<3, double>(u).first;
    default:
      return physics::axis_weights<4, double>(u).first;
  }
}

}  // namespace

SampledPlaces SampledPlaces::of(const Particles& particles, const Box& box, std::int64_t side, double run_side,
                                double grown) {
  SampledPlaces sample;
  const std::int64_t n = particles.size();
  const auto unit = [](double x, double corner, double length) { return wrapped((x - corner) / length); };
  for (std::size_t i = 0; i < static_cast<std::size_t>(n); ++i)
    sample.at.push_back({unit(particles.x[i], box.corner.x, box.side.x), unit(particles.y[i], box.corner.y, box.side.y),
                         unit(particles.z[i], box.corner.z, box.side.z)});
  for (std::int64_t i = 0; i < n; ++i) sample.kept.push_back((static_cast<double>(i) + 0.5) / static_cast<double>(n));
  if (side == 0 || side * side * side != n) return sample;
  const auto cells = static_cast<double>(side);
  std::vector<double> displaced;
  double sum = 0, squares = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    const double from = (static_cast<double>(i / (side * side)) + 0.5) / cells;
    displaced.push_back(std::remainder(sample.at[static_cast<std::size_t>(i)].z - from, 1.0));
    sum += displaced.back(), squares += displaced.back() * displaced.back();
  }
  if (std::sqrt(squares / static_cast<double>(n)) > most_displaced) return sample;
  sample.in_order = true;
  // The lattice may begin at the corner of its cells, or anywhere in them.
  const double longer = std::cbrt(grown), offset = sum / static_cast<double>(n), run_offset = offset * cells / run_side;
  for (std::size_t i = 0; i < displaced.size(); ++i) {
    Philox anywhere(0, 0, i);
    Vec3<double>& at = sample.at[i];
    at.x = wrapped(at.x + (anywhere.uniform() - 0.5) / cells);
    at.y = wrapped(at.y + (anywhere.uniform() - 0.5) / cells);
    sample.kept[i] = (std::floor(sample.kept[i] * cells) + anywhere.uniform()) / cells;
    at.z = wrapped(sample.kept[i] + (displaced[i] - offset) / longer + run_offset);
  }
  return sample;
}

SampledPlaces SampledPlaces::living_with(const std::vector<int>& rank, int ranks) const {
  SampledPlaces living{at, {}, false};
  for (const int of : rank) living.kept.push_back((of + 0.5) / ranks);
  return living;
}

RoutedCopies count_slabs(const SampledPlaces& sample, int ranks, int ranks_per_node, int planes, int order) {
  const auto n = static_cast<std::int64_t>(sample.at.size());
  const Shares shares{planes, ranks};
  const auto owner = [&](int plane) { return static_cast<int>(((std::int64_t{plane} + 1) * ranks - 1) / planes); };
  Counter counter(sample, ranks, ranks_per_node);
  for (std::size_t i = 0; i < sample.at.size(); ++i) {
    const int plane = first_plane(sample.at[i].z * planes, order);
    counter.add(counter.keeper(i), owner((plane % planes + planes) % planes));
  }
  RoutedCopies routed = counter.found();
  std::vector<double> expected;
  double most = 0;
  for (int r = 0; r < ranks; ++r) {
    const auto count = static_cast<double>(shares.count(r));
    expected.push_back(static_cast<double>(n) * count / planes);
    most = std::max(most, count * ranks / planes);
  }
  routed.imbalance = most * clustering(counter.arrived(), expected);
  return routed;
}

RoutedCopies count_rows(const SampledPlaces& sample, int ranks, int ranks_per_node, const std::array<int, 3>& cells,
                        int order, double particles, const RowCosts& costs) {
  const RoutedCopies by_slabs = count_slabs(sample, ranks, ranks_per_node, cells[2], order);
  const auto n = static_cast<double>(sample.at.size());
  const auto [nx, ny, nz] = cells;
  std::vector<std::int64_t> row;
  std::vector<double> found(static_cast<std::size_t>(ny) * static_cast<std::size_t>(nz));
  for (const Vec3<double>& at : sample.at) {
    const auto first = [&](double u, int count) { return (first_plane(u * count, order) % count + count) % count; };
    row.push_back(std::int64_t{first(at.z, nz)} * ny + first(at.y, ny));
    ++found[static_cast<std::size_t>(row.back())];
  }
  std::vector<std::int64_t> counts;
  for (const double one : found) counts.push_back(std::llround(one * particles / n));
  const RowDomains domains(ny, nx, ranks, counts, costs);
  const double mean = static_cast<double>(costs.particle) * particles / ranks;
  if (!RowDivision::pays(std::llround(by_slabs.imbalance * mean), std::llround(mean), domains)) return by_slabs;

  Counter counter(sample, ranks, ranks_per_node);
  for (std::size_t i = 0; i < row.size(); ++i) {
    const std::uint32_t owner = domains.owners()[static_cast<std::size_t>(row[i])];
    const int keeper = counter.keeper(i);
    counter.add(keeper, owner == RowDomains::nobody ? keeper : static_cast<int>(owner));
  }
  RoutedCopies routed = counter.found();
  routed.imbalance = clustering(counter.arrived(), std::vector<double>(static_cast<std::size_t>(ranks), n / ranks));
  const Shares shares{nz, ranks};
  for (int r = 0; r < ranks; ++r) {
    const PlaneRange range = domains.planes()[static_cast<std::size_t>(r)];
    const auto first = std::max<std::int64_t>(range.first, shares.first(r)),
               end = std::min<std::int64_t>(range.first + range.count, shares.first(r + 1));
    routed.planes += static_cast<double>(range.count) / ranks;
    routed.planes_of_others += static_cast<double>(range.count - std::max<std::int64_t>(0, end - first)) / ranks;
  }
  return routed;
}

ForestCopies count_forest(const SampledPlaces& sample, int ranks, int ranks_per_node, const tree::Forest& forest) {
  const auto n = static_cast<std::int64_t>(sample.at.size());
  const int shift = 3 * (tree::key_levels - forest.level);
  std::vector<std::uint32_t> place;
  std::vector<std::int64_t> counts(static_cast<std::size_t>(forest.plots()));
  for (const Vec3<double>& at : sample.at) {
    const Vec3<double> unit{at.x * forest.period.x, at.y * forest.period.y, at.z * forest.period.z};
    place.push_back(static_cast<std::uint32_t>(tree::upper_key(unit) >> shift));
    ++counts[place.back() >> forest.plot_shift()];
  }
  // Stretches of plots, about as many particles each.
  std::vector<int> owner;
  std::int64_t before = 0;
  for (const std::int64_t count : counts) {
    owner.push_back(static_cast<int>(std::min<std::int64_t>((before + count / 2) * ranks / n, ranks - 1)));
    before += count;
  }
  const auto owner_of = [&](std::uint64_t at) { return owner[at >> forest.plot_shift()]; };
  const double periods[3] = {forest.period.x, forest.period.y, forest.period.z};
  std::vector<tree::RootsAlong> along[3];
  for (int a = 0; a < 3; ++a) along[a] = tree::roots_along(forest, periods[a]);

  ForestCopies found;
  Counter own(sample, ranks, ranks_per_node), guests(sample, ranks, ranks_per_node);
  std::vector<int> others;
  for (std::size_t i = 0; i < place.size(); ++i) {
    const int worker = owner_of(place[i]);
    own.add(own.keeper(i), worker);
    found.worker.push_back(worker);
    others.clear();
    const tree::RootsAlong &x = along[0][tree::root_index(place[i], 0)], &y = along[1][tree::root_index(place[i], 1)],
                           &z = along[2][tree::root_index(place[i], 2)];
    for (std::uint32_t a = 0; a < x.count; ++a)
      for (std::uint32_t b = 0; b < y.count; ++b)
        for (std::uint32_t c = 0; c < z.count; ++c)
          if (const int other = owner_of(tree::interleave(x.index[a], y.index[b], z.index[c])); other != worker)
            others.push_back(other);
    std::sort(others.begin(), others.end());
    others.erase(std::unique(others.begin(), others.end()), others.end());
    for (const int other : others) guests.add(worker, other);
  }
  found.own = own.found(), found.guests = guests.found();
  std::vector<double> both = own.arrived();
  for (std::size_t r = 0; r < both.size(); ++r) both[r] += guests.arrived()[r];
  const double mean = static_cast<double>(n) * (1 + found.guests.copies) / ranks;
  found.trees_imbalance = clustering(both, std::vector<double>(both.size(), mean));
  found.own.imbalance = clustering(own.arrived(), std::vector<double>(both.size(), static_cast<double>(n) / ranks));
  return found;
}

}  // namespace pergola
