#include "analysis/local_structure.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>

#include "device/parallel.hpp"
#include "physics/profiles.hpp"

namespace pergola {

namespace {

struct NearOne {
  double distance2;
  std::size_t particle;
  bool operator<(const NearOne& other) const { return distance2 < other.distance2; }
};

/// The nearest so far; a heap whose first is the farthest of them.
class NearestSoFar {
 public:
  explicit NearestSoFar(std::size_t wanted) : wanted_(wanted) {}
  void clear() { found_.clear(); }
  bool full() const { return found_.size() == wanted_; }
  double farthest2() const { return full() ? found_.front().distance2 : std::numeric_limits<double>::infinity(); }
  void offer(const NearOne& one) {
    if (!(one.distance2 < farthest2())) return;
    if (full()) std::pop_heap(found_.begin(), found_.end()), found_.pop_back();
    found_.push_back(one);
    std::push_heap(found_.begin(), found_.end());
  }
  const std::vector<NearOne>& found() const { return found_; }

 private:
  std::size_t wanted_;
  std::vector<NearOne> found_;
};

/// A balanced tree of halves along the longest side. Bentley 1975, CACM 18, 509; Friedman, Bentley & Finkel 1977.
class HalvingTree {
 public:
  explicit HalvingTree(const Particles& particles) : p_(particles), order_(particles.id.size()) {
    std::iota(order_.begin(), order_.end(), std::size_t{0});
    build(0, 0, order_.size());
  }

  const std::vector<std::size_t>& order() const { return order_; }

  void search(const Vec3<double>& place, std::size_t but, NearestSoFar& nearest) const {
    search(0, 0, order_.size(), place, but, nearest);
  }

 private:
  static constexpr std::size_t leaf = 16;
  struct Bounds {
    std::array<double, 3> low{}, high{};
  };

  double coordinate(std::size_t i, std::size_t axis) const {
    return axis == 0 ? p_.x[i] : axis == 1 ? p_.y[i] : p_.z[i];
  }

  void build(std::size_t node, std::size_t begin, std::size_t end) {
    if (nodes_.size() <= node) nodes_.resize(node + 1);
    Bounds bounds;
    bounds.low.fill(HUGE_VAL), bounds.high.fill(-HUGE_VAL);
    for (std::size_t k = begin; k < end; ++k)
      for (std::size_t axis = 0; axis < 3; ++axis) {
        bounds.low[axis] = std::min(bounds.low[axis], coordinate(order_[k], axis));
        bounds.high[axis] = std::max(bounds.high[axis], coordinate(order_[k], axis));
      }
    nodes_[node] = bounds;
    if (end - begin <= leaf) return;
    std::size_t longest = 0;
    for (std::size_t axis = 1; axis < 3; ++axis)
      if (bounds.high[axis] - bounds.low[axis] > bounds.high[longest] - bounds.low[longest]) longest = axis;
    const std::size_t middle = (begin + end) / 2;
    const auto at = [this](std::size_t k) { return order_.begin() + static_cast<std::ptrdiff_t>(k); };
    std::nth_element(at(begin), at(middle), at(end), [&](std::size_t a, std::size_t b) {
      const double xa = coordinate(a, longest), xb = coordinate(b, longest);
      return xa != xb ? xa < xb : a < b;
    });
    build(2 * node + 1, begin, middle);
    build(2 * node + 2, middle, end);
  }

  double distance2(std::size_t node, const Vec3<double>& place) const {
    const Bounds& bounds = nodes_[node];
    const double at[3] = {place.x, place.y, place.z};
    double sum = 0;
    for (std::size_t axis = 0; axis < 3; ++axis) {
      const double off = std::max({bounds.low[axis] - at[axis], at[axis] - bounds.high[axis], 0.0});
      sum += off * off;
    }
    return sum;
  }

  void search(std::size_t node, std::size_t begin, std::size_t end, const Vec3<double>& place, std::size_t but,
              NearestSoFar& nearest) const {
    if (!(distance2(node, place) < nearest.farthest2())) return;
    if (end - begin <= leaf) {
      for (std::size_t k = begin; k < end; ++k) {
        const std::size_t i = order_[k];
        const Vec3<double> d{p_.x[i] - place.x, p_.y[i] - place.y, p_.z[i] - place.z};
        if (i != but) nearest.offer({dot(d, d), i});
      }
      return;
    }
    const std::size_t middle = (begin + end) / 2;
    const bool left_first = distance2(2 * node + 1, place) <= distance2(2 * node + 2, place);
    if (left_first) search(2 * node + 1, begin, middle, place, but, nearest);
    search(2 * node + 2, middle, end, place, but, nearest);
    if (!left_first) search(2 * node + 1, begin, middle, place, but, nearest);
  }

  const Particles& p_;
  std::vector<std::size_t> order_;
  std::vector<Bounds> nodes_;
};

/// The places at which a periodic box has images of a place, itself first.
std::vector<Vec3<double>> images_of(const Vec3<double>& place, const Box& box) {
  std::vector<Vec3<double>> images{place};
  if (!box.periodic()) return images;
  for (int z = -1; z <= 1; ++z)
    for (int y = -1; y <= 1; ++y)
      for (int x = -1; x <= 1; ++x)
        if (x != 0 || y != 0 || z != 0)
          images.push_back({place.x + x * box.side.x, place.y + y * box.side.y, place.z + z * box.side.z});
  return images;
}

double dispersion_of(const Particles& p, std::size_t self, const std::vector<NearOne>& near) {
  Vec3<double> sum{0, 0, 0};
  double square = 0;
  // About its own velocity, so that a common one does not cancel digits.
  for (const NearOne& one : near) {
    const std::size_t i = one.particle;
    const Vec3<double> v{p.vx[i] - p.vx[self], p.vy[i] - p.vy[self], p.vz[i] - p.vz[self]};
    sum = sum + v;
    square += dot(v, v);
  }
  const double count = static_cast<double>(near.size()) + 1;
  return std::sqrt(std::max(0.0, square / count - dot(sum, sum) / (count * count)) / 3);
}

}  // namespace

LocalStructure local_structure(const Particles& particles, const Box& box, int neighbours, int threads) {
  const std::size_t n = particles.id.size();
  LocalStructure found;
  for (auto* list : {&found.length, &found.density, &found.dispersion}) list->assign(n, 0);
  if (n < 2) return found;
  const bool massless = std::all_of(particles.mass.begin(), particles.mass.end(), [](double m) { return m == 0; });
  const HalvingTree tree(particles);
  const auto wanted = std::min(static_cast<std::size_t>(neighbours), n - 1);
  parallel_chunks(threads, static_cast<std::int64_t>(n), 1024, [&](std::int64_t begin, std::int64_t end) {
    NearestSoFar nearest(wanted);
    for (auto k = static_cast<std::size_t>(begin); k < static_cast<std::size_t>(end); ++k) {
      const std::size_t i = tree.order()[k];
      nearest.clear();
      for (const auto& place : images_of({particles.x[i], particles.y[i], particles.z[i]}, box))
        tree.search(place, i, nearest);
      auto near = nearest.found();
      std::sort(near.begin(), near.end(), [](const NearOne& a, const NearOne& b) {
        return a.distance2 != b.distance2 ? a.distance2 < b.distance2 : a.particle < b.particle;
      });
      double mass = massless ? 1 : particles.mass[i];
      for (std::size_t j = 0; j + 1 < near.size(); ++j) mass += massless ? 1 : particles.mass[near[j].particle];
      found.length[i] = std::sqrt(near.back().distance2);
      found.density[i] = mass / physics::shell_volume(0.0, found.length[i]);
      found.dispersion[i] = dispersion_of(particles, i, near);
    }
  });
  return found;
}

}  // namespace pergola
