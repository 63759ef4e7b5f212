// The octree on the CPU: cells, build, upward pass, refresh, and what is kept of it. tree/moments.cpp has the loops
// over particles.
#include "tree/octree_cpu.hpp"

//
// Steps of build(): (1) the cube and the total mass, (2) keys of the particles and their order by key, and by id for
// equal keys, (3) particles copied into that order, in units of the cube's side and of the total mass, (4) cells, level
// by level from the root, (5) the upward pass, level by level from the leaves, (6) estimates of accelerations.
// The children of a cell are neighbours, and a level's cells are neighbours. The result does not depend on threads.
#include <algorithm>
#include <atomic>
#include <cmath>
#include <iterator>
#include <limits>
#include <numeric>
#include <utility>

#include "base/error.hpp"
#include "base/exact_sum.hpp"
#include "device/parallel.hpp"
#include "tree/estimate.hpp"
#include "tree/gather_points.hpp"
#include "tree/keys.hpp"
#include "tree/shape.hpp"

namespace pergola::tree {

// The root has all particles and is its own parent.
void build_cells_cpu(int threads, std::int64_t count, const std::uint64_t* upper, const std::uint64_t* lower,
                     Cells& cells) {
  cells.link.assign(1, {0, static_cast<std::uint32_t>(count), 0, 0});
  cells.parent.assign(1, 0);
  cells.level_begin.assign({0, 1});
  grow_cells_cpu(threads, {0}, upper, lower, cells);
}

// Level by level: threads split the cells of a level, a prefix sum numbers the children, threads write these.
void grow_cells_cpu(int threads, std::vector<std::uint32_t> from, const std::uint64_t* upper,
                    const std::uint64_t* lower, Cells& cells) {
  constexpr std::int64_t grow_chunk = 256;
  std::vector<Pieces> pieces;
  while (!from.empty()) {
    const std::uint32_t end = cells.size();
    pieces.resize(from.size());
    parallel_chunks(threads, std::ssize(from), grow_chunk, [&](std::int64_t first, std::int64_t last) {
      for (std::int64_t k = first; k < last; ++k) {
        const auto at = static_cast<std::size_t>(k);
        const CellLink& link = cells.link[from[at]];
        pieces[at] = split_cell(link.first, link.count, upper, lower);
      }
    });
    std::uint32_t next = end;
    for (std::size_t k = 0; k < from.size(); ++k) {
      CellLink& link = cells.link[from[k]];
      link.child = next;
      link.children = static_cast<std::uint32_t>(pieces[k].count);
      next += link.children;
    }
    if (next == end) return;
    cells.link.resize(next);
    cells.parent.resize(next);
    parallel_chunks(threads, std::ssize(from), grow_chunk, [&](std::int64_t first, std::int64_t last) {
      for (std::int64_t k = first; k < last; ++k) {
        const std::uint32_t cell = from[static_cast<std::size_t>(k)];
        const Pieces& piece = pieces[static_cast<std::size_t>(k)];
        std::uint32_t begin = cells.link[cell].first;
        for (int c = 0; c < piece.count; ++c) {
          const std::uint32_t child = cells.link[cell].child + static_cast<std::uint32_t>(c);
          cells.link[child] = {begin, piece.end[c] - begin, 0, 0};
          cells.parent[child] = cell;
          begin = piece.end[c];
        }
      }
    });
    cells.level_begin.push_back(next);
    from.resize(next - end);
    std::iota(from.begin(), from.end(), end);
  }
}

namespace {

constexpr std::int64_t particle_chunk = 8192, upward_chunk = 64, mass_chunk = 1 << 17;

/// So that a tree that grows a little needs no new memory: this part more.
constexpr std::int64_t tree_spare_part = 8;

/// Of one chunk of particles, in the units of the caller.
struct Bounds {
  double low[3], high[3];
  double mass = 0, least_mass, most_mass;
};

/// Sums of equal numbers do not depend on their order; others are summed exactly.
template <class Real>
double total_mass(int threads, const Points<Real>& points, const Bounds& all) {
  if (all.least_mass == all.most_mass || !std::isfinite(all.mass)) return all.mass;
  std::vector<ExactSum> parts(static_cast<std::size_t>((points.count + mass_chunk - 1) / mass_chunk));
  parallel_chunks(threads, points.count, mass_chunk, [&](std::int64_t begin, std::int64_t end) {
    ExactSum& part = parts[static_cast<std::size_t>(begin / mass_chunk)];
    for (std::int64_t i = begin; i < end; ++i) part.add(static_cast<double>(points.mass[i]));
  });
  for (std::size_t c = 1; c < parts.size(); ++c) parts[0].add(parts[c]);
  return parts[0].value();
}

}  // namespace

// Who builds a tree and who estimates its memory call the same functions: an Arena reserves or only counts.
template <class T>
template <class Self>
void OctreeCpu<T>::room_to_sort(Self& tree, Arena& arena, std::int64_t n) {
  const std::int64_t spare = n / tree_spare_part;
  arena.room(tree.sort_.keys, n, spare), arena.room(tree.sort_.other_keys, n, spare);
  arena.room(tree.sort_.values, n, spare), arena.room(tree.sort_.other_values, n, spare);
}

template <class T>
template <class Self>
void OctreeCpu<T>::room_for_particles(Self& tree, Arena& arena, std::int64_t n, bool by_particle) {
  const std::int64_t spare = n / tree_spare_part;
  for (auto* buffer : {&tree.x_, &tree.y_, &tree.z_, &tree.mass_}) arena.room(*buffer, n, spare);
  for (auto* buffer : {&tree.rx_, &tree.ry_, &tree.rz_, &tree.rmass_}) arena.room(*buffer, n, spare);
  if (by_particle) arena.room(tree.epsilon2_, n, spare), arena.room(tree.rsoftening_, n, spare);
}

template <class T>
template <class Self>
void OctreeCpu<T>::room_for_cells(Self& tree, Arena& arena, std::int64_t cells, int order) {
  const std::int64_t terms = multipole_stride(order), spare = cells / tree_spare_part;
  arena.room(tree.shape_, cells, spare), arena.room(tree.extent_, cells, spare);
  arena.room(tree.scale_, cells, spare), arena.room(tree.multipole_, cells * terms, spare * terms);
}

template <class T>
template <class Self>
void OctreeCpu<T>::room_for_accelerations(Self& tree, Arena& arena, std::int64_t cells) {
  arena.room(tree.acceleration_, cells, cells / tree_spare_part);
}

/// An estimate before the number of cells is known.
template <class T>
std::int64_t OctreeCpu<T>::device_bytes(std::int64_t n, int order, const TreeSoftening& softening) const {
  const std::int64_t cells = first_guess_of_cells(n);
  Arena count;
  room_to_sort(*this, count, n);
  room_for_particles(*this, count, n, softening.by_particle());
  count.count<CellLink>(cells), count.count<std::uint32_t>(cells);  // Cells
  room_for_cells(*this, count, cells, order);
  room_for_accelerations(*this, count, cells);
  return count.bytes();
}

/// Chunks have a fixed size, so that bounds and sums are the same for any number of threads.
template <class T>
template <class Real>
Frame OctreeCpu<T>::frame_of(const Points<Real>& points) const {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  const auto chunks = static_cast<std::size_t>((points.count + sum_chunk - 1) / sum_chunk);
  std::vector<Bounds> parts(chunks);
  parallel_chunks(device_.threads(), points.count, sum_chunk, [&](std::int64_t begin, std::int64_t end) {
    Bounds part{{infinity, infinity, infinity}, {-infinity, -infinity, -infinity}, 0, infinity, -infinity};
    const Real* const axes[3] = {points.x, points.y, points.z};
    bool finite = true;
    for (int a = 0; a < 3; ++a)
      for (std::int64_t i = begin; i < end; ++i) {
        const auto value = static_cast<double>(axes[a][i]);
        part.low[a] = std::min(part.low[a], value);
        part.high[a] = std::max(part.high[a], value);
        finite = finite && std::isfinite(value);
      }
    for (std::int64_t i = begin; i < end; ++i) {
      const auto mass = static_cast<double>(points.mass[i]);
      part.mass += mass;
      part.least_mass = std::min(part.least_mass, mass), part.most_mass = std::max(part.most_mass, mass);
    }
    if (!finite) throw Error(ErrorKind::numerics, "tree: a position is not a finite number");
    parts[static_cast<std::size_t>(begin / sum_chunk)] = part;
  });
  Bounds all = parts[0];
  for (std::size_t c = 1; c < chunks; ++c) {
    for (int a = 0; a < 3; ++a) {
      all.low[a] = std::min(all.low[a], parts[c].low[a]);
      all.high[a] = std::max(all.high[a], parts[c].high[a]);
    }
    all.mass += parts[c].mass;
    all.least_mass = std::min(all.least_mass, parts[c].least_mass);
    all.most_mass = std::max(all.most_mass, parts[c].most_mass);
  }
  return frame_within(all.low, all.high, total_mass(device_.threads(), points, all), points.box);
}

Frame frame_within(const double (&low)[3], const double (&high)[3], double mass, const Box& box) {
  double side = 0;
  for (int a = 0; a < 3; ++a) side = std::max(side, high[a] - low[a]);
  Frame frame;
  frame.corner = {low[0], low[1], low[2]};
  frame.side = side > 0 ? side : 1;
  if (box.periodic()) {
    frame.corner = box.corner;
    frame.side = std::max({box.side.x, box.side.y, box.side.z});
  }
  frame.mass = mass > 0 ? mass : 1;
  return frame;
}

/// Sorts by the upper key only; order_points() finds whether the lower one is needed.
template <class T>
template <class Real>
void OctreeCpu<T>::sort_by_place(const Points<Real>& points, const SofteningDigit& digit) {
  const std::int64_t n = points.count;
  Arena arena(device_);
  room_to_sort(*this, arena, n);
  parallel_chunks(device_.threads(), n, particle_chunk, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      sort_.keys.data()[i] = upper_key(points, frame_, digit, i);
      sort_.values.data()[i] = static_cast<std::uint32_t>(i);
    }
  });
  sort_by_key_cpu(device_, n, sort_);
}

/// With deep cells: sort by the lower key, then, as the sort is stable, by the upper one. All ranks decide alike.
template <class T>
template <class Real>
void OctreeCpu<T>::order_points(const Points<Real>& points, const SofteningDigit& digit, Communicator* ranks) {
  const std::int64_t n = points.count;
  std::uint64_t* keys = sort_.keys.data();
  // Where one cell of the finest upper level holds more than a leaf, the lower levels are needed too.
  std::atomic<bool> crowded = false;
  constexpr std::int64_t step = leaf_capacity;
  if (n > step)
    parallel_chunks(device_.threads(), n - step, particle_chunk, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i)
        if (keys[i] == keys[i + step]) crowded = true;
    });
  std::int64_t anywhere = crowded ? 1 : 0;
  if (ranks) ranks->all_reduce(&anywhere, 1, Reduction::maximum);
  has_lower_ = anywhere > 0;
  if (!has_lower_) return order_by_id(points.id);
  Arena arena(device_);
  room_to_sort(*this, arena, n);
  const auto each = [&](const auto& body) {
    parallel_chunks(device_.threads(), n, particle_chunk, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) body(i);
    });
  };
  std::uint32_t* values = sort_.values.data();
  each([&](std::int64_t i) { keys[i] = lower_key(points, frame_, digit, values[i]); });
  sort_by_key_cpu(device_, n, sort_);
  keys = sort_.keys.data(), values = sort_.values.data();
  each([&](std::int64_t i) { keys[i] = upper_key(points, frame_, digit, values[i]); });
  sort_by_key_cpu(device_, n, sort_);
  arena.room(lower_, n, n / tree_spare_part);
  values = sort_.values.data();
  each([&](std::int64_t i) { lower_.data()[i] = lower_key(points, frame_, digit, values[i]); });
  order_by_id(points.id);
}

/// Sorts particles with the same keys by their ids, so that their order in memory does not matter.
template <class T>
void OctreeCpu<T>::order_by_id(const std::uint64_t* id) {
  if (!id) return;
  const std::uint64_t *const upper = sort_.keys.data(), *const lower = has_lower_ ? lower_.data() : nullptr;
  std::uint32_t* const values = sort_.values.data();
  const auto same = [=](std::int64_t i, std::int64_t j) {
    return upper[i] == upper[j] && (!lower || lower[i] == lower[j]);
  };
  parallel_chunks(device_.threads(), count_, particle_chunk, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t first = begin, last; first < end; first = last) {
      for (last = first + 1; last < count_ && same(first, last);) ++last;
      if (last - first == 1 || (first == begin && first > 0 && same(first, first - 1))) continue;
      std::stable_sort(values + first, values + last, [=](std::uint32_t a, std::uint32_t b) { return id[a] < id[b]; });
    }
  });
}

/// Copies the particles in the order of the tree, in its units.
template <class T>
template <class Real>
void OctreeCpu<T>::gather(const Points<Real>& points, const TreeSoftening& softening) {
  const std::int64_t n = points.count;
  by_particle_ = softening.by_particle();
  kernel_ = softening.kernel;
  Arena arena(device_);
  room_for_particles(*this, arena, n, by_particle_);
  const double length = softening.epsilon[0] / frame_.side;
  same_epsilon2_ = length * length;
  const PointGatherer<Real> from{device_.threads(), points, frame_, sort_.values.data()};
  from.x(x_.data()), from.y(y_.data()), from.z(z_.data()), from.mass(mass_.data());
  if (by_particle_) from.epsilon2(softening, epsilon2_.data());
}

template <class T>
template <class Real>
void OctreeCpu<T>::make_cells(const Points<Real>& points, const SofteningDigit& digit) {
  sort_by_place(points, digit);
  order_points(points, digit);
  build_cells_cpu(device_.threads(), count_, sort_.keys.data(), has_lower_ ? lower_.data() : nullptr, cells_);
}

template <class T>
template <class Real>
void OctreeCpu<T>::build(const Points<Real>& points, const TreeSoftening& softening, int order, bool accelerations) {
  count_ = points.count;
  expansion_order_ = order;
  has_accelerations_ = accelerations;
  periodic_ = points.box.periodic();
  again_ = nullptr;
  if (count_ == 0) return;
  frame_ = frame_of(points);
  SofteningDigit digit = softening_digits(softening);
  if (!softening.uniform) digit.level = softening_level(frame_.side, softening.apart);
  digit_level_ = digit.level;
  make_cells(points, digit);
  gather(points, softening);
  upward_pass();
  spread_ = survey({0, 0, 0}).spread;
  if (accelerations)
    set_accelerations(
        [&](std::uint32_t cell) { return estimate_acceleration(shape_.data(), cells_.link.data(), cell); });
}

/// For the short range in a periodic box: `rest` has the accelerations of the mesh, times `unit` in units of the tree.
template <class T>
template <class Real>
void OctreeCpu<T>::estimate_accelerations(const ShortRangeBox<double>& box, const Real* const (&rest)[3], double unit) {
  has_accelerations_ = true;
  if (count_ == 0) return;
  set_accelerations([&](std::uint32_t cell) {
    const CellLink& link = cells_.link[cell];
    Vec3<double> sum{0, 0, 0};
    for (std::uint32_t k = link.first; k < link.first + link.count; ++k) {
      const std::uint32_t i = sort_.values.data()[k];
      sum = sum + Vec3<double>{static_cast<double>(rest[0][i]), static_cast<double>(rest[1][i]),
                               static_cast<double>(rest[2][i])};
    }
    return estimate_acceleration(shape_.data(), cells_.link.data(), cell, box, (unit / link.count) * sum);
  });
}

/// Centres, radii and moments, from the leaves up.
template <class T>
void OctreeCpu<T>::upward_pass() {
  upward_levels(begin_upward_pass(), 0);
}

template <class T>
UpwardPass<T> OctreeCpu<T>::begin_upward_pass() {
  Arena arena(device_);
  room_for_cells(*this, arena, cells_.size(), expansion_order_);
  UpwardPass<T> pass;
  pass.cells = &cells_;
  pass.x = x_.data(), pass.y = y_.data(), pass.z = z_.data(), pass.mass = mass_.data();
  pass.epsilon2 = by_particle_ ? epsilon2_.data() : nullptr;
  pass.same_epsilon2 = same_epsilon2_, pass.kernel = kernel_;
  pass.shape = shape_.data(), pass.extent = extent_.data(), pass.scale = scale_.data();
  pass.multipole = multipole_.data();
  pass.rx = rx_.data(), pass.ry = ry_.data(), pass.rz = rz_.data(), pass.rmass = rmass_.data();
  pass.rsoftening = by_particle_ ? rsoftening_.data() : nullptr;
  return pass;
}

template <class T>
void OctreeCpu<T>::upward_levels(const UpwardPass<T>& pass, std::size_t first_level) {
  for (std::size_t level = cells_.level_begin.size() - 1; level-- > first_level;) {
    const std::uint32_t begin = cells_.level_begin[level], end = cells_.level_begin[level + 1];
    parallel_chunks(device_.threads(), end - begin, upward_chunk, [&](std::int64_t first, std::int64_t last) {
      upward(pass, expansion_order_, begin + static_cast<std::uint32_t>(first),
             begin + static_cast<std::uint32_t>(last));
    });
  }
}

/// of_group(cell) estimates the acceleration of a group: the largest cell with at most estimate_capacity particles.
template <class T>
template <class OfGroup>
void OctreeCpu<T>::set_accelerations(const OfGroup& of_group) {
  const std::uint32_t cells = cells_.size();
  Arena arena(device_);
  room_for_accelerations(*this, arena, cells);
  double* const a = acceleration_.data();
  const CellLink* const link = cells_.link.data();
  const auto is_group = [&](std::uint32_t cell) {
    return link[cell].count <= estimate_capacity && (cell == 0 || link[cells_.parent[cell]].count > estimate_capacity);
  };
  parallel_chunks(device_.threads(), cells, upward_chunk, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t c = begin; c < end; ++c)
      if (const auto cell = static_cast<std::uint32_t>(c); is_group(cell)) a[c] = of_group(cell);
  });
  // Cells within a group have its value, which stands before theirs; cells above have the smallest of their children.
  for (std::uint32_t cell = 0; cell < cells; ++cell)
    if (link[cell].count <= estimate_capacity && !is_group(cell)) a[cell] = a[cells_.parent[cell]];
  for (std::uint32_t cell = cells; cell-- > 0;) {
    if (link[cell].count <= estimate_capacity) continue;
    a[cell] = std::numeric_limits<double>::infinity();
    for (std::uint32_t c = 0; c < link[cell].children; ++c) a[cell] = std::min(a[cell], a[link[cell].child + c]);
  }
}

/// Addresses for the walk; valid until the next build() or refresh().
template <class T>
TreeView<T> OctreeCpu<T>::view() const {
  TreeView<T> v;
  v.count = count_;
  v.shape = shape_.data();
  v.link = cells_.link.data();
  v.scale = scale_.data();
  v.multipole = multipole_.data();
  v.acceleration = has_accelerations_ ? acceleration_.data() : nullptr;
  v.x = rx_.data(), v.y = ry_.data(), v.z = rz_.data();
  v.mass = rmass_.data();
  v.kernel = kernel_;
  v.support = physics::support(kernel_);
  if (by_particle_)
    v.softening = rsoftening_.data();
  else
    v.same_epsilon2 = same_epsilon2_;
  return v;
}

/// Moves the particles within their old cells and repeats the upward pass. Returns false if the tree must be built
/// anew: the leaves have grown too much, a leaf has left the box too far, or a number is not finite.
template <class T>
template <class Real>
bool OctreeCpu<T>::refresh(const Points<Real>& points, const TreeSoftening& softening, int order) {
  if (points.count != (again_ ? again_->count() : count_)) return false;
  expansion_order_ = order;
  if (again_) make_again(points);
  if (count_ == 0) return true;
  const Vec3<double> period = periodic_ ? unit_period(points.box, frame_) : Vec3<double>{0, 0, 0};
  gather(points, softening);
  if (periodic_) follow_leaves(period);
  upward_pass();
  const CellShape& root = shape_.data()[0];
  const LeafSurvey now = survey(period);
  return std::isfinite(root.x + root.y + root.z) && std::isfinite(root.r) && !now.astray &&
         !has_grown(spread_, now.spread, now.leaves);
}

/// Of the leaves, in whole numbers: the same in any order.
template <class T>
typename OctreeCpu<T>::LeafSurvey OctreeCpu<T>::survey(const Vec3<double>& period) const {
  std::atomic<std::int64_t> spread = 0, leaves = 0;
  std::atomic<bool> astray = false;
  parallel_chunks(device_.threads(), cells_.size(), particle_chunk, [&](std::int64_t begin, std::int64_t end) {
    LeafSurvey part;
    for (std::int64_t c = begin; c < end; ++c) {
      const CellLink& link = cells_.link[static_cast<std::size_t>(c)];
      if (link.children > 0 || link.is_elsewhere()) continue;
      const CellShape& leaf = shape_.data()[c];
      part.spread += leaf_spread(leaf.r, smallest_scale);
      ++part.leaves;
      part.astray = part.astray || (period.x > 0 && is_astray({leaf.x, leaf.y, leaf.z}, period));
    }
    spread += part.spread, leaves += part.leaves;
    if (part.astray) astray = true;
  });
  return {spread, leaves, astray};
}

/// Particles that have left the box stay with their leaf: it is where its first particle was when the tree was built.
template <class T>
void OctreeCpu<T>::follow_leaves(const Vec3<double>& period) {
  parallel_chunks(device_.threads(), cells_.size(), upward_chunk, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t c = begin; c < end; ++c) {
      const CellLink& link = cells_.link[static_cast<std::size_t>(c)];
      if (link.children > 0 || link.is_elsewhere()) continue;
      const Vec3<double> leaf = place_of_key(sort_.keys.data()[link.first], digit_level_);
      for (std::int64_t k = link.first; k < std::int64_t{link.first} + link.count; ++k) {
        const Vec3<double> at = image_near({x_.data()[k], y_.data()[k], z_.data()[k]}, leaf, period);
        x_.data()[k] = at.x, y_.data()[k] = at.y, z_.data()[k] = at.z;
      }
    }
  });
}

template <class T>
void OctreeCpu<T>::keep(KeptTree& to) const {
  to.begin(tree_kind(device_, periodic_), has_lower_, has_accelerations_);
  to.frame = frame_, to.digit_level = digit_level_, to.root_level = 0, to.spread = spread_;
  const std::uint32_t* const place = order();
  parallel_chunks(device_.threads(), count_, particle_chunk, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t k = begin; k < end; ++k) {
      to.upper.data()[place[k]] = sort_.keys.data()[k];
      if (has_lower_) to.lower.data()[place[k]] = lower_.data()[k];
    }
  });
  for (std::uint32_t cell = 0; has_accelerations_ && count_ > 0 && cell < cells_.size(); ++cell) {
    const CellLink& leaf = cells_.link[cell];
    if (leaf.children > 0 || leaf.first >= count_) continue;  // or of another rank
    for (std::uint32_t k = leaf.first; k < leaf.first + leaf.count; ++k)
      to.acceleration.data()[place[k]] = acceleration_.data()[cell];
  }
}

template <class T>
void OctreeCpu<T>::take_up(const KeptTree& kept) {
  again_ = &kept;
  count_ = 0;
  frame_ = kept.frame;
}

/// The cells of a kept tree, and the accelerations of their groups.
template <class T>
template <class Real>
void OctreeCpu<T>::make_again(Points<Real> points) {
  const KeptTree* const kept = std::exchange(again_, nullptr);
  count_ = points.count;
  periodic_ = points.box.periodic();
  has_accelerations_ = kept->has_accelerations();
  frame_ = kept->frame, digit_level_ = kept->digit_level, spread_ = kept->spread;
  if (count_ == 0) return;
  make_cells(with_keys(points, *kept), {});
  if (has_accelerations_)
    set_accelerations([&](std::uint32_t cell) { return kept->acceleration.data()[order()[cells_.link[cell].first]]; });
}

template class OctreeCpu<float>;
template class OctreeCpu<double>;
template Frame OctreeCpu<float>::frame_of(const Points<float>&) const;
template Frame OctreeCpu<float>::frame_of(const Points<double>&) const;
template Frame OctreeCpu<double>::frame_of(const Points<double>&) const;
template void OctreeCpu<float>::build(const Points<float>&, const TreeSoftening&, int, bool);
template void OctreeCpu<float>::build(const Points<double>&, const TreeSoftening&, int, bool);
template void OctreeCpu<double>::build(const Points<double>&, const TreeSoftening&, int, bool);
template void OctreeCpu<float>::estimate_accelerations(const ShortRangeBox<double>&, const float* const (&)[3], double);
template void OctreeCpu<float>::estimate_accelerations(const ShortRangeBox<double>&, const double* const (&)[3],
                                                       double);
template void OctreeCpu<double>::estimate_accelerations(const ShortRangeBox<double>&, const double* const (&)[3],
                                                        double);
template void OctreeCpu<float>::sort_by_place(const Points<float>&, const SofteningDigit&);
template void OctreeCpu<float>::order_points(const Points<float>&, const SofteningDigit&, Communicator*);
template void OctreeCpu<float>::sort_by_place(const Points<double>&, const SofteningDigit&);
template void OctreeCpu<float>::order_points(const Points<double>&, const SofteningDigit&, Communicator*);
template void OctreeCpu<double>::sort_by_place(const Points<double>&, const SofteningDigit&);
template void OctreeCpu<double>::order_points(const Points<double>&, const SofteningDigit&, Communicator*);
template void OctreeCpu<float>::gather(const Points<float>&, const TreeSoftening&);
template void OctreeCpu<float>::gather(const Points<double>&, const TreeSoftening&);
template void OctreeCpu<double>::gather(const Points<double>&, const TreeSoftening&);
template bool OctreeCpu<float>::refresh(const Points<float>&, const TreeSoftening&, int);
template bool OctreeCpu<float>::refresh(const Points<double>&, const TreeSoftening&, int);
template bool OctreeCpu<double>::refresh(const Points<double>&, const TreeSoftening&, int);

}  // namespace pergola::tree
