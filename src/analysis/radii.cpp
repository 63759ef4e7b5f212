#include "analysis/radii.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <numeric>
#include <ranges>
#include <utility>
#include <vector>

#include "analysis/analysis.hpp"
#include "analysis/centers.hpp"
#include "base/error.hpp"
#include "base/text.hpp"
#include "comm/collectives.hpp"

// The shrinking sphere keeps its members as ranges of the input. Sums go over these ranges in order, from rank to rank,
// so that a centre has the same bits on any number of ranks.
namespace pergola {

std::vector<std::size_t> counts_by_distance(Communicator& ranks, std::size_t count,
                                            const std::function<Distance(std::size_t)>& distance) {
  constexpr std::size_t samples_for_each = 16;
  const auto size = static_cast<std::size_t>(ranks.size());
  std::vector<Distance> samples;
  for (std::size_t k = 0; k < samples_for_each * size && count > 0; ++k)
    samples.push_back(distance(k * count / (samples_for_each * size)));
  samples = gather_lists_on_all(ranks, samples);
  std::sort(samples.begin(), samples.end());
  std::vector<std::size_t> counts;
  std::size_t begin = 0;
  for (std::size_t r = 1; r < size; ++r) {
    const auto is_nearer = [&](std::size_t k) { return distance(k) < samples[r * samples.size() / size]; };
    const auto rest = std::views::iota(begin, count);
    const auto end = begin + static_cast<std::size_t>(std::ranges::partition_point(rest, is_nearer) - rest.begin());
    counts.push_back(end - begin);
    begin = end;
  }
  counts.push_back(count - begin);
  return counts;
}

namespace {

using Indices = std::vector<std::size_t>;

/// A range of places in the input.
struct IndexRange {
  std::size_t begin = 0, end = 0;
};
using Ranges = std::vector<IndexRange>;

template <class Use>
void each_in(const Ranges& some, const Use& use) {
  for (const IndexRange& one : some)
    for (std::size_t i = one.begin; i < one.end; ++i) use(i);
}

/// Removes `some`, in ascending order, from the ranges.
void take_out(const Indices& some, const Ranges& from, Ranges& left) {
  left.clear();
  auto next = some.begin();
  for (IndexRange one : from) {
    for (; next != some.end() && *next < one.end; ++next) {
      if (one.begin < *next) left.push_back({one.begin, *next});
      one.begin = *next + 1;
    }
    if (one.begin < one.end) left.push_back(one);
  }
}

Vec3<double> place_of_particle(const Particles& p, std::size_t i) { return {p.x[i], p.y[i], p.z[i]}; }

double distance2_from(const Particles& p, std::size_t i, const Vec3<double>& from) {
  const auto d = place_of_particle(p, i) - from;
  return dot(d, d);
}

bool on_no_rank(bool here, Communicator& ranks) {
  std::int64_t anywhere = here ? 1 : 0;
  ranks.all_reduce(&anywhere, 1, Reduction::maximum);
  return anywhere == 0;
}

bool all_massless(const Particles& p, Communicator& ranks) {
  return on_no_rank(std::any_of(p.mass.begin(), p.mass.end(), [](double m) { return m != 0; }), ranks);
}

/// The number of particles on all ranks. Throws Error(input) if there are none.
std::int64_t count_of_some(std::size_t own, Communicator& ranks) {
  auto count = static_cast<std::int64_t>(own);
  ranks.all_reduce(&count, 1, Reduction::sum);
  if (count == 0) throw Error(ErrorKind::input, "radii: there are no particles, expected at least 1");
  return count;
}

/// The centre of mass of the members, summed from rank to rank in the order of the input.
Vec3<double> weighted_center(const Particles& p, const Ranges& members, bool equal_weights, Communicator& ranks) {
  struct Sums {
    Vec3<double> places{0, 0, 0};
    double total = 0;
  };
  const Sums sums = add_in_turn(ranks, Sums(), [&](Sums& to) {
    each_in(members, [&](std::size_t i) {
      const double weight = equal_weights ? 1.0 : p.mass[i];
      to.places = to.places + weight * place_of_particle(p, i);
      to.total += weight;
    });
  });
  if (sums.total == 0) return weighted_center(p, members, true, ranks);  // massless ones only
  return (1 / sums.total) * sums.places;
}

Ranges all_places(const Particles& p) { return {{0, p.id.size()}}; }

/// The particles in a sphere that shrinks. All particles are tested only sometimes. Between these times only those at
/// the edge are: the others were within `reach_` of the centre then, and cannot be outside yet.
class ShrinkingSphere {
 public:
  ShrinkingSphere(const Particles& own, Communicator& ranks) : own_(own), ranks_(ranks), members_(all_places(own)) {}

  const Ranges& members() const { return members_; }
  /// Shrinks about this centre. Returns how many particles are now outside, on all ranks.
  std::int64_t shrink(const Vec3<double>& center) {
    const double limit2 = shrunk2(center);
    leaving_.clear();
    std::erase_if(edge_, [&](std::size_t i) {
      if (distance2_from(own_, i, center) < limit2) return false;
      leaving_.push_back(i);
      return true;
    });
    take_out(leaving_, members_, left_);
    members_.swap(left_);
    auto count = std::ssize(leaving_);
    ranks_.all_reduce(&count, 1, Reduction::sum);
    return count;
  }

 private:
  /// The square of the next radius. Renews the list of the edge if particles outside it could leave.
  double shrunk2(const Vec3<double>& center) {
    constexpr double part = 0.975, inner_part = 0.8;
    double most = 0;
    for (const std::size_t i : edge_) most = std::max(most, distance2_from(own_, i, center));
    double limit2 = part * part * on_all_ranks(most);
    const Vec3<double> shift = center - seen_from_;
    // Slightly less, because distances are rounded.
    if (reach_ + std::sqrt(dot(shift, shift)) < (1 - 1e-9) * std::sqrt(limit2)) return limit2;
    most = 0;
    each_in(members_, [&](std::size_t i) { most = std::max(most, distance2_from(own_, i, center)); });
    limit2 = part * part * on_all_ranks(most);
    reach_ = inner_part * std::sqrt(limit2), seen_from_ = center;
    edge_.clear();
    each_in(members_, [&](std::size_t i) {
      if (!(distance2_from(own_, i, center) < reach_ * reach_)) edge_.push_back(i);
    });
    return limit2;
  }
  double on_all_ranks(double most) const {
    ranks_.all_reduce(&most, 1, Reduction::maximum);
    return most;
  }

  const Particles& own_;
  Communicator& ranks_;
  Ranges members_, left_;  // take turns
  Indices edge_, leaving_;
  Vec3<double> seen_from_{0, 0, 0};
  double reach_ = std::numeric_limits<double>::infinity();
};

/// Gives each rank the next range of particles by distance, sorted.
std::vector<SeenMass> sorted_over_ranks(std::vector<SeenMass> own, Communicator& ranks) {
  const auto sort = [](std::vector<SeenMass>& some) {
    std::sort(some.begin(), some.end(), [](const SeenMass& a, const SeenMass& b) { return a.from < b.from; });
  };
  sort(own);
  if (ranks.size() == 1) return own;
  auto sent = counts_by_distance(ranks, own.size(), [&](std::size_t k) { return own[k].from; });
  for (std::size_t& bytes : sent) bytes *= sizeof(SeenMass);
  std::vector<std::size_t> received(sent.size());
  const std::vector<std::size_t> one(sent.size(), sizeof(std::size_t));
  ranks.all_to_all(sent.data(), one, received.data(), one);
  std::vector<SeenMass> here(std::accumulate(received.begin(), received.end(), std::size_t{0}) / sizeof(SeenMass));
  ranks.all_to_all(own.data(), sent, here.data(), received);
  sort(here);
  return here;
}

}  // namespace

Vec3<double> mass_center(const Particles& own, Communicator& ranks) {
  count_of_some(own.id.size(), ranks);
  return weighted_center(own, all_places(own), all_massless(own, ranks), ranks);
}

Vec3<double> density_center(const Particles& own, Communicator& ranks) {
  constexpr std::int64_t too_few = 16;
  std::int64_t count = count_of_some(own.id.size(), ranks);
  const bool equal_weights = all_massless(own, ranks);
  ShrinkingSphere sphere(own, ranks);
  auto center = weighted_center(own, sphere.members(), equal_weights, ranks);
  if (count <= too_few) return center;
  const std::int64_t enough = std::max(count / 100, std::min<std::int64_t>(100, count / 4));
  while (count > enough) {
    count -= sphere.shrink(center);
    if (count < enough) break;
    center = weighted_center(own, sphere.members(), equal_weights, ranks);
  }
  return center;
}

std::vector<double> lagrangian_radii(const Particles& particles, const Vec3<double>& center,
                                     const std::vector<double>& fractions) {
  return lagrangian_radii(seen_masses(particles, center), fractions, *serial_communicator());
}

std::vector<SeenMass> seen_masses(const Particles& particles, const Vec3<double>& center) {
  std::vector<SeenMass> seen;
  seen.reserve(particles.id.size());
  for (std::size_t i = 0; i < particles.id.size(); ++i)
    seen.push_back({{std::sqrt(distance2_from(particles, i, center)), particles.id[i]}, particles.mass[i]});
  return seen;
}

std::vector<double> lagrangian_radii(std::vector<SeenMass> own, const std::vector<double>& fractions,
                                     Communicator& ranks) {
  count_of_some(own.size(), ranks);
  const bool equal_weights =
      on_no_rank(std::any_of(own.begin(), own.end(), [](const SeenMass& one) { return one.mass != 0; }), ranks);
  std::vector<SeenMass> next = sorted_over_ranks(std::move(own), ranks);
  const double total = add_in_turn(ranks, 0.0, [&](double& sum) {
    for (SeenMass& one : next) one.mass = sum += equal_weights ? 1.0 : one.mass;  // from here on all of the mass within
  });
  std::vector<double> radii;
  for (const double fraction : fractions) {
    if (!(fraction > 0 && fraction <= 1))
      throw Error(
          ErrorKind::input,
          fmt::format("Lagrangian radii: the mass fraction is {}, expected above 0 and at most 1", to_text(fraction)));
    // Slightly less than the fraction: the rounded sum of N equal masses may miss f M.
    const double wanted = fraction * total * (1 - 1e-12);
    const auto found = std::lower_bound(next.begin(), next.end(), wanted,
                                        [](const SeenMass& one, double mass) { return one.mass < mass; });
    radii.push_back(found == next.end() ? std::numeric_limits<double>::infinity() : found->from.radius);
  }
  ranks.all_reduce(radii.data(), radii.size(), Reduction::minimum);
  return radii;
}

std::string lagrangian_column(double fraction) { return fmt::format("r{:g}", 100 * fraction); }

double half_mass_radius(const Particles& particles) {
  return lagrangian_radii(particles, density_center(particles), {0.5}).front();
}

namespace {

/// The radii of the particles of all ranks. Frees the particles of `own`.
std::vector<double> radii_about(const Vec3<double>& center, AnalysisSnapshot& own, Communicator& ranks) {
  const Particles& p = own.particles;
  std::vector<SeenMass> seen;
  seen.reserve(p.id.size());
  for (std::size_t i = 0; i < p.id.size(); ++i) {
    const Vec3<double> d = place_from(own, i, center);  // in a periodic box of the image nearest to the centre
    seen.push_back({{std::sqrt(dot(d, d)), p.id[i]}, p.mass[i]});
  }
  own.particles = {};
  return lagrangian_radii(std::move(seen), {lagrangian_fractions.begin(), lagrangian_fractions.end()}, ranks);
}

/// Adds the line of one file to the table.
void add_radii(AnalysisSnapshot own, const AnalysisOptions& options, const Device& device,
               const std::shared_ptr<Communicator>& ranks, Table& table) {
  std::int64_t count = own.particles.size();
  ranks->all_reduce(&count, 1, Reduction::sum);
  const Vec3<double> center = place_of_center(own, options, device, ranks);
  const auto radii = radii_about(center, own, *ranks);
  const AnalysisUnits& units = own.units;
  table.add("time", units.time, own.time);
  for (std::size_t k = 0; k < radii.size(); ++k)
    table.add(lagrangian_column(lagrangian_fractions[k]), units.length, radii[k]);
  table.add("center_x", units.length, center.x);
  table.add("center_y", units.length, center.y);
  table.add("center_z", units.length, center.z);
  table.add("particles", "", static_cast<double>(count));
}

AnalysisResult analyze_radii(const AnalysisFiles& files, const AnalysisOptions& options, const Device& device) {
  AnalysisResult result;
  AnalysisUnits units;
  for (std::size_t k = 0; k < files.names.size(); ++k) {
    AnalysisSnapshot own = chosen_species(files.snapshot(k), options, files.ranks);
    units = own.units;
    add_radii(std::move(own), options, device, files.ranks, result.table);
  }
  result.findings.push_back({"center", "", options.center});
  const Table& table = result.table;
  result.findings.push_back({"half-mass radius at the end", units.length, table.numbers("r50").back()});
  Figure figure{"Lagrangian radii", "time", units.time, "radius", units.length, false, true, {}};
  for (const double fraction : lagrangian_fractions)
    figure.lines.push_back({fmt::format("{:g} %", 100 * fraction), table.numbers("time"),
                            table.numbers(lagrangian_column(fraction)), table.rows() == 1});
  result.figures.push_back(figure);
  return result;
}

}  // namespace

AnalysisEntry radii_entry() {
  return {.name = "radii",
          .help = "Lagrangian radii and the half-mass radius through time",
          .details =
              "Columns: time; r1, r5, r10, r25, r50 (the half-mass radius), r75, r90: the radii that hold so "
              "many per cent of the mass; the centre that they are about; the number of particles.",
          .example = "cluster -o radii.csv --plot radii.png",
          .needs = AnalysisNeeds::particles,
          .span = AnalysisSpan::through_time,
          .by_ranks = true,
          .keys = {center_key(), species_key(), softening_key()},
          .analyze = analyze_radii};
}

}  // namespace pergola
