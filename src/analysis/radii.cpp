#include "analysis/radii.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "base/error.hpp"
#include "base/text.hpp"
#include "comm/collectives.hpp"

namespace pergola {

namespace {

using Indices = std::vector<std::size_t>;

/// Particles in the order of the input as stretches of it.
struct IndexRange {
  std::size_t begin = 0, end = 0;
};
using Stretches = std::vector<IndexRange>;

template <class Use>
void each(const Stretches& some, const Use& use) {
  for (const IndexRange& one : some)
    for (std::size_t i = one.begin; i < one.end; ++i) use(i);
}

/// What is left without some of them, which are given in ascending order.
void take_out(const Indices& some, const Stretches& from, Stretches& left) {
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

Vec3<double> position(const Particles& p, std::size_t i) { return {p.x[i], p.y[i], p.z[i]}; }

double distance2(const Particles& p, std::size_t i, const Vec3<double>& from) {
  const auto d = position(p, i) - from;
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

/// On all ranks. Throws Error(input) for none.
std::int64_t count_of_some(std::size_t own, Communicator& ranks) {
  auto count = static_cast<std::int64_t>(own);
  ranks.all_reduce(&count, 1, Reduction::sum);
  if (count == 0) throw Error(ErrorKind::input, "radii: there are no particles, expected at least 1");
  return count;
}

Vec3<double> center_of(const Particles& p, const Stretches& members, bool equal_weights, Communicator& ranks) {
  struct Sums {
    Vec3<double> places{0, 0, 0};
    double total = 0;
  };
  const Sums sums = add_in_turn(ranks, Sums(), [&](Sums& to) {
    each(members, [&](std::size_t i) {
      const double weight = equal_weights ? 1.0 : p.mass[i];
      to.places = to.places + weight * position(p, i);
      to.total += weight;
    });
  });
  if (sums.total == 0) return center_of(p, members, true, ranks);  // massless ones only
  return (1 / sums.total) * sums.places;
}

Stretches everybody(const Particles& p) { return {{0, p.id.size()}}; }

/// The particles in a sphere that shrinks. Between times when all of them are looked at only those at its edge are: the
/// others were within `reach_` of where the centre was then, and cannot be outside yet.
class ShrinkingSphere {
 public:
  ShrinkingSphere(const Particles& own, Communicator& ranks) : own_(own), ranks_(ranks), members_(everybody(own)) {}

  const Stretches& members() const { return members_; }
  /// About this centre; how many are outside then, on all ranks.
  std::int64_t shrink(const Vec3<double>& center) {
    const double limit2 = shrunk2(center);
    leaving_.clear();
    std::erase_if(edge_, [&](std::size_t i) {
      if (distance2(own_, i, center) < limit2) return false;
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
  /// The square of the radius that it has next; those beyond are at its edge then.
  double shrunk2(const Vec3<double>& center) {
    constexpr double part = 0.975, inner_part = 0.8;
    double most = 0;
    for (const std::size_t i : edge_) most = std::max(most, distance2(own_, i, center));
    double limit2 = part * part * on_all_ranks(most);
    const Vec3<double> shift = center - seen_from_;
    // A hair less: distances are rounded.
    if (reach_ + std::sqrt(dot(shift, shift)) < (1 - 1e-9) * std::sqrt(limit2)) return limit2;
    most = 0;
    each(members_, [&](std::size_t i) { most = std::max(most, distance2(own_, i, center)); });
    limit2 = part * part * on_all_ranks(most);
    reach_ = inner_part * std::sqrt(limit2), seen_from_ = center;
    edge_.clear();
    each(members_, [&](std::size_t i) {
      if (!(distance2(own_, i, center) < reach_ * reach_)) edge_.push_back(i);
    });
    return limit2;
  }
  double on_all_ranks(double most) const {
    ranks_.all_reduce(&most, 1, Reduction::maximum);
    return most;
  }

  const Particles& own_;
  Communicator& ranks_;
  Stretches members_, left_;  // take turns
  Indices edge_, leaving_;
  Vec3<double> seen_from_{0, 0, 0};
  double reach_ = std::numeric_limits<double>::infinity();
};

/// The next ones by distance for each rank, in their order.
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

Vec3<double> mass_center(const Particles& particles) { return mass_center(particles, *serial_communicator()); }

Vec3<double> mass_center(const Particles& own, Communicator& ranks) {
  count_of_some(own.id.size(), ranks);
  return center_of(own, everybody(own), all_massless(own, ranks), ranks);
}

Vec3<double> density_center(const Particles& particles) { return density_center(particles, *serial_communicator()); }

Vec3<double> density_center(const Particles& own, Communicator& ranks) {
  constexpr std::int64_t too_few = 16;
  std::int64_t count = count_of_some(own.id.size(), ranks);
  const bool equal_weights = all_massless(own, ranks);
  ShrinkingSphere sphere(own, ranks);
  auto center = center_of(own, sphere.members(), equal_weights, ranks);
  if (count <= too_few) return center;
  const std::int64_t enough = std::max(count / 100, std::min<std::int64_t>(100, count / 4));
  while (count > enough) {
    count -= sphere.shrink(center);
    if (count < enough) break;
    center = center_of(own, sphere.members(), equal_weights, ranks);
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
    seen.push_back({{std::sqrt(distance2(particles, i, center)), particles.id[i]}, particles.mass[i]});
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
    // A hair less than the fraction: the sum of N equal masses may miss f M by rounding.
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

}  // namespace pergola
