#include "analysis/local_structure.hpp"
#include "comm/collectives.hpp"
#include "device/parallel.hpp"
#include "physics/measures.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

// Searches happen twice at most. First each particle searches its own rank. If its sphere reaches the bounds of other
// ranks (or their periodic images), it asks them for all particles at most as far as its farthest neighbour, and keeps
// the nearest of all answers.
namespace pergola {

namespace {

/// A neighbour at the square of its distance; equal distances are ordered by id.
struct NearOne {
  double distance2;
  std::uint64_t id;
  std::size_t particle;
  bool operator<(const NearOne& other) const {
    return distance2 != other.distance2 ? distance2 < other.distance2 : id < other.id;
  }
};

/// The nearest particles so far: a heap with the farthest of them first.
class NearestSoFar {
 public:
  explicit NearestSoFar(std::size_t wanted) : wanted_(wanted) {}
  /// Particles beyond `limit2` will not count.
  void clear(double limit2 = std::numeric_limits<double>::infinity()) { found_.clear(), limit2_ = limit2; }
  double farthest2() const { return full() ? found_.front().distance2 : limit2_; }
  void offer(const NearOne& one) {
    if (one.distance2 > limit2_ || (full() && !(one < found_.front()))) return;
    if (full()) std::pop_heap(found_.begin(), found_.end()), found_.pop_back();
    found_.push_back(one);
    std::push_heap(found_.begin(), found_.end());
  }
  const std::vector<NearOne>& found() const { return found_; }

 private:
  bool full() const { return found_.size() == wanted_; }

  std::size_t wanted_;
  double limit2_ = std::numeric_limits<double>::infinity();
  std::vector<NearOne> found_;
};

/// The bounds of positions, and the distance of another position from them.
struct Bounds {
  std::array<double, 3> low{HUGE_VAL, HUGE_VAL, HUGE_VAL}, high{-HUGE_VAL, -HUGE_VAL, -HUGE_VAL};

  double distance2(const Vec3<double>& place) const {
    const double at[3] = {place.x, place.y, place.z};
    double sum = 0;
    for (std::size_t axis = 0; axis < 3; ++axis) {
      const double off = std::max({low[axis] - at[axis], at[axis] - high[axis], 0.0});
      sum += off * off;
    }
    return sum;
  }
};

/// A balanced tree: halves along the longest side. Bentley 1975, CACM 18, 509; Friedman, Bentley & Finkel 1977.
class HalvingTree {
 public:
  explicit HalvingTree(const Particles& particles) : p_(particles), order_(particles.id.size()) {
    std::iota(order_.begin(), order_.end(), std::size_t{0});
    build(0, 0, order_.size());
  }

  static constexpr std::size_t no_particle = std::numeric_limits<std::size_t>::max();

  const std::vector<std::size_t>& order() const { return order_; }
  /// Bounds of all particles.
  const Bounds& bounds() const { return nodes_.front(); }

  void search(const Vec3<double>& place, std::size_t but, NearestSoFar& nearest) const {
    search(0, 0, order_.size(), place, but, nearest);
  }

 private:
  static constexpr std::size_t leaf = 16;

  /// Nodes are numbered as a heap: the children of node n are 2 n + 1 and 2 n + 2.
  double coordinate(std::size_t i, std::size_t axis) const {
    return axis == 0 ? p_.x[i] : axis == 1 ? p_.y[i] : p_.z[i];
  }

  void build(std::size_t node, std::size_t begin, std::size_t end) {
    if (nodes_.size() <= node) nodes_.resize(node + 1);
    Bounds bounds;
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

  /// Nearer half first; a node beyond the farthest neighbour so far is left out.
  void search(std::size_t node, std::size_t begin, std::size_t end, const Vec3<double>& place, std::size_t but,
              NearestSoFar& nearest) const {
    if (nodes_[node].distance2(place) > nearest.farthest2()) return;
    if (end - begin <= leaf) {
      for (std::size_t k = begin; k < end; ++k) {
        const std::size_t i = order_[k];
        const Vec3<double> d{p_.x[i] - place.x, p_.y[i] - place.y, p_.z[i] - place.z};
        if (i != but) nearest.offer({dot(d, d), p_.id[i], i});
      }
      return;
    }
    const std::size_t middle = (begin + end) / 2;
    const bool left_first = nodes_[2 * node + 1].distance2(place) <= nodes_[2 * node + 2].distance2(place);
    if (left_first) search(2 * node + 1, begin, middle, place, but, nearest);
    search(2 * node + 2, middle, end, place, but, nearest);
    if (!left_first) search(2 * node + 1, begin, middle, place, but, nearest);
  }

  const Particles& p_;
  std::vector<std::size_t> order_;
  std::vector<Bounds> nodes_;
};

/// The periodic images of a position, itself first.
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

/// What a neighbour contributes.
struct Neighbour {
  double mass;
  Vec3<double> velocity;
};

/// A search on another rank for the nearest particles around a position, and one particle of its answer.
struct Question {
  Vec3<double> place;
  double limit2;
};
struct Answer {
  double distance2;
  std::uint64_t id;
  Neighbour of;
};

/// The particles of this rank and the search for their neighbours.
class Surroundings {
 public:
  Surroundings(const Particles& particles, const Box& box, int neighbours, int threads, Communicator& ranks)
      : p_(particles), box_(box), threads_(threads), ranks_(ranks), tree_(particles) {
    std::int64_t all = p_.size(),
                 massive = std::any_of(p_.mass.begin(), p_.mass.end(), [](double m) { return m != 0; });
    ranks_.all_reduce(&all, 1, Reduction::sum);
    ranks_.all_reduce(&massive, 1, Reduction::maximum);
    massless_ = massive == 0;
    wanted_ = static_cast<std::size_t>(std::clamp<std::int64_t>(all - 1, 0, neighbours));
    if (ranks_.size() > 1) bounds_ = gather_lists_on_all(ranks_, std::vector<Bounds>{tree_.bounds()});
    for (auto* list : {&found_.length, &found_.density, &found_.dispersion}) list->assign(p_.id.size(), 0);
  }

  /// Call it once.
  LocalStructure find() {
    if (wanted_ == 0) return std::move(found_);
    std::vector<std::uint8_t> asks(ranks_.size() > 1 ? p_.id.size() : 0);
    parallel_chunks(threads_, p_.size(), 1024, [&](std::int64_t begin, std::int64_t end) {
      NearestSoFar nearest(wanted_);
      for (auto k = static_cast<std::size_t>(begin); k < static_cast<std::size_t>(end); ++k) {
        const std::size_t i = tree_.order()[k];
        look_here(i, nearest);
        if (!asks.empty() && !asked(place(i), nearest.farthest2()).empty())
          asks[i] = 1;
        else
          note(i, nearest.found(), {});
      }
    });
    if (ranks_.size() > 1) ask_others(asks);
    return std::move(found_);
  }

 private:
  static constexpr std::size_t questions_at_once = 2048;  // some 7 kB each

  Vec3<double> place(std::size_t i) const { return {p_.x[i], p_.y[i], p_.z[i]}; }

  /// The nearest particles of this rank, over all images of the place.
  void look_here(std::size_t i, NearestSoFar& nearest) const {
    nearest.clear();
    for (const auto& image : images_of(place(i), box_)) tree_.search(image, i, nearest);
  }

  /// Other ranks that may have particles at most as far away.
  std::vector<std::size_t> asked(const Vec3<double>& at, double limit2) const {
    std::vector<std::size_t> others;
    const auto images = images_of(at, box_);
    for (std::size_t r = 0; r < bounds_.size(); ++r)
      if (r != static_cast<std::size_t>(ranks_.rank()) &&
          std::any_of(images.begin(), images.end(),
                      [&](const auto& image) { return bounds_[r].distance2(image) <= limit2; }))
        others.push_back(r);
    return others;
  }

  /// Asks in batches of particles, because each may receive all its neighbours from other ranks.
  void ask_others(const std::vector<std::uint8_t>& asks) {
    std::vector<std::size_t> asking;
    for (std::size_t i = 0; i < asks.size(); ++i)
      if (asks[i]) asking.push_back(i);
    auto rounds = static_cast<std::int64_t>((asking.size() + questions_at_once - 1) / questions_at_once);
    ranks_.all_reduce(&rounds, 1, Reduction::maximum);
    for (std::size_t first = 0; rounds > 0; --rounds, first += questions_at_once) {
      const std::size_t begin = std::min(first, asking.size()),
                        end = std::min(begin + questions_at_once, asking.size());
      ask({asking.begin() + static_cast<std::ptrdiff_t>(begin), asking.begin() + static_cast<std::ptrdiff_t>(end)});
    }
  }

  /// Collective. Questions, counts of answers and answers travel in three exchanges; lists are in the order of asking.
  void ask(const std::vector<std::size_t>& asking) {
    const auto size = static_cast<std::size_t>(ranks_.size());
    std::vector<std::vector<NearOne>> near(asking.size());
    std::vector<std::vector<Question>> questions(size);
    std::vector<std::vector<std::size_t>> asker(size);
    NearestSoFar nearest(wanted_);
    for (std::size_t k = 0; k < asking.size(); ++k) {
      look_here(asking[k], nearest);
      near[k] = nearest.found();
      for (const std::size_t r : asked(place(asking[k]), nearest.farthest2()))
        questions[r].push_back({place(asking[k]), nearest.farthest2()}), asker[r].push_back(k);
    }
    std::vector<std::vector<std::int64_t>> counts(size);
    std::vector<std::vector<Answer>> answers(size);
    const auto arrived = exchange_lists(ranks_, questions);
    for (std::size_t r = 0; r < size; ++r)
      for (const Question& question : arrived[r]) {
        nearest.clear(question.limit2);
        for (const auto& image : images_of(question.place, box_))
          tree_.search(image, HalvingTree::no_particle, nearest);
        counts[r].push_back(std::ssize(nearest.found()));
        for (const NearOne& one : nearest.found())
          answers[r].push_back({one.distance2, one.id, neighbour(one.particle)});
      }
    const auto counted = exchange_lists(ranks_, counts);
    const auto answered = exchange_lists(ranks_, answers);
    std::vector<Neighbour> others;
    for (std::size_t r = 0; r < size; ++r) {
      std::size_t next = 0;
      for (std::size_t k = 0; k < asker[r].size(); ++k)
        for (std::int64_t of = counted[r][k]; of > 0; --of, ++next) {
          const Answer& one = answered[r][next];
          near[asker[r][k]].push_back({one.distance2, one.id, p_.id.size() + others.size()});
          others.push_back(one.of);
        }
    }
    parallel_chunks(threads_, std::ssize(asking), 1024, [&](std::int64_t begin, std::int64_t end) {
      for (auto k = static_cast<std::size_t>(begin); k < static_cast<std::size_t>(end); ++k)
        note(asking[k], near[k], others);
    });
  }

  /// Without masses each particle counts as 1.
  Neighbour neighbour(std::size_t i) const { return {massless_ ? 1 : p_.mass[i], {p_.vx[i], p_.vy[i], p_.vz[i]}}; }

  /// Stores the values of particle i. Particles of other ranks have numbers beyond this rank's, and are in `others`.
  void note(std::size_t i, std::vector<NearOne> near, const std::vector<Neighbour>& others) {
    std::sort(near.begin(), near.end());
    near.resize(wanted_);
    const Neighbour self = neighbour(i);
    double mass = self.mass, square = 0;
    Vec3<double> sum{0, 0, 0};
    for (std::size_t j = 0; j < near.size(); ++j) {
      const std::size_t at = near[j].particle;
      const Neighbour one = at < p_.id.size() ? neighbour(at) : others[at - p_.id.size()];
      if (j + 1 < near.size()) mass += one.mass;
      // Relative to its own velocity, so that a common velocity does not cost digits.
      const Vec3<double> v = one.velocity - self.velocity;
      sum = sum + v;
      square += dot(v, v);
    }
    const double count = static_cast<double>(near.size()) + 1;
    found_.length[i] = std::sqrt(near.back().distance2);
    found_.density[i] = mass / physics::shell_volume(0.0, found_.length[i]);
    found_.dispersion[i] = std::sqrt(std::max(0.0, square / count - dot(sum, sum) / (count * count)) / 3);
  }

  const Particles& p_;
  const Box& box_;
  int threads_;
  Communicator& ranks_;
  HalvingTree tree_;
  std::vector<Bounds> bounds_;  // of the ranks
  bool massless_ = false;
  std::size_t wanted_ = 0;
  LocalStructure found_;
};

}  // namespace

LocalStructure local_structure(const Particles& particles, const Box& box, int neighbours, int threads,
                               Communicator& ranks) {
  return Surroundings(particles, box, neighbours, threads, ranks).find();
}

}  // namespace pergola
