#include "tree/spread_octree.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <cstring>
#include <limits>

#include "base/error.hpp"
#include "base/exact_sum.hpp"
#include "device/parallel.hpp"
#include "tree/octree_cpu.hpp"

namespace pergola::tree {

namespace {

constexpr std::int64_t chunk = 8192;
/// What is fetched of other ranks finds room behind what is here: so many cells and particles for each of those, about
/// what half a million particles per rank meet. Memory is taken as it is written to; what more is fetched moves all.
constexpr std::int64_t cells_fetched = 2, particles_fetched = 1;

}  // namespace

void fail_elsewhere(std::uint32_t cell) {
  throw Error(
      ErrorKind::numerics,
      fmt::format("tree: internal error: cell {} is on another rank and was not fetched; please report it", cell));
}

template <class T>
template <class Real>
Routing& DistributedOctree<T>::divide(const Points<Real>& points, const TreeSoftening& softening,
                                      const KeptTree* again) {
  keep_weights();
  std::int64_t sums[2] = {points.count, std::ssize(weight_) != points.count ? 1 : 0};
  ranks_->all_reduce(sums, 2, Reduction::sum);
  total_ = sums[0];
  if (sums[1] > 0) weight_.clear();
  if (total_ >= std::numeric_limits<std::uint32_t>::max())
    throw Error(ErrorKind::input, fmt::format("tree: expected fewer than 2^32 particles, found {}", total_));
  count_ = 0;
  top_.reset();
  std::vector<std::int64_t> sent(static_cast<std::size_t>(ranks_->size()));
  std::vector<std::uint32_t> order;
  if (total_ > 0) {
    masses_differ_ = !find_common_frame(points, total_, frame_);
    digit_ = softening_digits(softening);
    if (!softening.uniform) digit_.level = softening_level(frame_.side, softening.apart);
    if (again) frame_ = again->frame, digit_.level = again->digit_level;
    const Points<Real> by_keys = again ? with_keys(points, *again) : points;
    this->sort_by_place(by_keys, digit_);
    top_ = find_top_tree(*ranks_, sort_.keys.data(), points.count, total_, weights_before(sort_, points.count));
    for (const TopTree::Leaf& leaf : top_->leaves) sent[static_cast<std::size_t>(leaf.rank)] += leaf.end - leaf.begin;
    order.assign(sort_.values.data(), sort_.values.data() + points.count);
  }
  routing_.plan(*ranks_, device_.threads(), order, sent, std::vector<PlaceRun>(sent.size()));
  return routing_;
}

template <class T>
template <class Real>
void DistributedOctree<T>::build(const Points<Real>& points, const TreeSoftening& softening, int order,
                                 const KeptTree* again) {
  expansion_order_ = order;
  has_accelerations_ = false;
  this->periodic_ = points.box.periodic();
  this->digit_level_ = digit_.level;
  count_ = 0;
  if (total_ == 0) return;
  const Points<Real> here = again ? with_keys(points, *again) : points;
  if (here.count != routing_.arriving() || !top_)
    throw Error(ErrorKind::numerics,
                fmt::format("tree: internal error: expected {} particles of this rank as they were divided, found {}; "
                            "please report it",
                            routing_.arriving(), here.count));
  count_ = here.count;
  const bool stands_sorted = routing_.leaving() == 0 && routing_.arriving() == routing_.kept();
  if (!stands_sorted) this->sort_by_place(here, digit_);
  this->order_points(here, digit_, ranks_.get());
  this->gather(here, softening);
  const std::vector<std::uint32_t> own = take_top(std::move(*top_));
  top_.reset();
  const std::uint64_t* const lower = this->has_lower_ ? this->lower_.data() : nullptr;
  grow_cells_cpu(device_.threads(), own, sort_.keys.data(), lower, cells_);
  give_back_sorting();
  begin_domain();
  if (again && this->periodic_) this->follow_leaves(unit_period(points.box, frame_));
  upward_to_top();
  this->spread_ = again ? again->spread : survey_all({0, 0, 0}).spread;
  if (again && again->has_accelerations()) take_accelerations(again->acceleration.data());
}

/// The cube and the mass of all particles, in the bits that one rank finds. Returns the mass that all have, if they do.
template <class T>
template <class Real>
std::optional<double> DistributedOctree<T>::find_common_frame(const Points<Real>& kept, std::int64_t total,
                                                              Frame& frame) const {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  using Least = std::array<double, 8>;  // of x, y, z and mass, and of what they are below 0
  Least least;
  least.fill(infinity);
  std::vector<Least> parts(static_cast<std::size_t>((kept.count + chunk - 1) / chunk), least);
  std::atomic<std::int64_t> all_finite = 1;
  const Real* const fields[4] = {kept.x, kept.y, kept.z, kept.mass};
  parallel_chunks(device_.threads(), kept.count, chunk, [&](std::int64_t begin, std::int64_t end) {
    Least& part = parts[static_cast<std::size_t>(begin / chunk)];
    for (std::size_t a = 0; a < 4; ++a) {
      double low = infinity, high = -infinity;
      bool finite = true;
      for (std::int64_t i = begin; i < end; ++i) {
        const auto value = static_cast<double>(fields[a][i]);
        low = std::min(low, value), high = std::max(high, value);
        finite &= value - value == 0;
      }
      part[a] = low, part[4 + a] = -high;
      if (a < 3 && !finite) all_finite = 0;
    }
  });
  for (const Least& part : parts)
    for (std::size_t a = 0; a < least.size(); ++a) least[a] = std::min(least[a], part[a]);
  std::int64_t finite = all_finite;
  ranks_->all_reduce(&finite, 1, Reduction::minimum);
  if (!finite) throw Error(ErrorKind::numerics, "tree: a position is not a finite number");
  ranks_->all_reduce(least.data(), least.size(), Reduction::minimum);
  const double low[3] = {least[0], least[1], least[2]}, high[3] = {-least[4], -least[5], -least[6]};
  const bool equal = least[3] == -least[7];
  double mass = equal ? sum_of_equal(least[3], total) : 0;
  if (!equal) {
    const auto rank = static_cast<std::size_t>(ranks_->rank()), size = static_cast<std::size_t>(ranks_->size());
    std::vector<ExactSum> sums(size);
    for (std::int64_t i = 0; i < kept.count; ++i) sums[rank].add(static_cast<double>(kept.mass[i]));
    ranks_->all_gather_in_place(sums.data(), std::vector<std::size_t>(size, sizeof(ExactSum)));
    for (std::size_t r = 1; r < size; ++r) sums[0].add(sums[r]);
    mass = sums[0].value();
  }
  frame = frame_within(low, high, mass, kept.box);
  return equal ? std::optional(least[3]) : std::nullopt;
}

template <class T>
template <class Real>
Frame DistributedOctree<T>::frame_of(const Points<Real>& kept) const {
  std::int64_t total = kept.count;
  ranks_->all_reduce(&total, 1, Reduction::sum);
  Frame frame;
  find_common_frame(kept, total, frame);
  return frame;
}

/// Returns its leaves that are this rank's.
template <class T>
std::vector<std::uint32_t> DistributedOctree<T>::take_top(TopTree top) {
  cells_ = std::move(top.cells);
  leaves_ = std::move(top.leaves);
  top_cells_ = cells_.size();
  origin_.assign(top_cells_, {});
  std::vector<std::uint32_t> own;
  std::uint32_t first = 0;
  for (const TopTree::Leaf& leaf : leaves_) {
    origin(leaf.cell) = {leaf.rank, leaf.cell, 0};
    CellLink& link = cells_.link[leaf.cell];
    if (leaf.rank != ranks_->rank()) {
      link.first = link.child = elsewhere;
      continue;
    }
    own.push_back(leaf.cell);
    link.first = first;
    first += link.count;
  }
  return own;
}

/// All cells of the domain are there.
template <class T>
void DistributedOctree<T>::begin_domain() {
  own_end_ = cells_.size();
  here_ = count_;
  mark_own_cells();
  work_.assign(own_end_, 0);
  partners_ = {};
  walks_ = 0, times_ = 1;
}

template <class T>
void DistributedOctree<T>::mark_own_cells() {
  own_cell_.assign(own_end_, 1), foreign_.assign(own_end_, 0);
  std::fill_n(own_cell_.begin(), top_cells_, std::uint8_t{0});
  for (const TopTree::Leaf& leaf : leaves_) {
    auto& marks = leaf.rank == ranks_->rank() ? own_cell_ : foreign_;
    for (std::uint32_t cell = leaf.cell; !marks[cell]; cell = cells_.parent[cell]) marks[cell] = 1;
  }
}

/// Centres, radii and moments: of the domain, then of the top, on every rank from the same numbers.
template <class T>
void DistributedOctree<T>::upward_to_top() {
  Arena arena(device_);
  const std::int64_t cells = cells_.size(), more_cells = cells_fetched * cells, more = particles_fetched * count_;
  const std::int64_t terms = multipole_stride(expansion_order_);
  for (auto* buffer : {&this->rx_, &this->ry_, &this->rz_, &this->rmass_}) arena.room(*buffer, count_, more);
  if (by_particle_) arena.room(this->rsoftening_, count_, more);
  arena.room(shape_, cells, more_cells), arena.room(scale_, cells, more_cells);
  arena.room(multipole_, cells * terms, more_cells * terms);
  const UpwardPass<T> pass = this->begin_upward_pass();
  this->upward_levels(pass, 1);
  for (const TopTree::Leaf& leaf : leaves_)
    if (leaf.rank == ranks_->rank()) upward(pass, expansion_order_, leaf.cell, leaf.cell + 1);
  share_top_leaves();
  for (std::uint32_t cell = top_cells_; cell-- > 0;)
    if (cells_.link[cell].children > 0 && cells_.link[cell].child < top_cells_)
      upward(pass, expansion_order_, cell, cell + 1);
}

/// What every rank has made of its own top leaves goes to all.
template <class T>
void DistributedOctree<T>::share_top_leaves() {
  const auto terms = static_cast<std::size_t>(multipole_stride(expansion_order_));
  const std::size_t numbers = (terms + 1) * sizeof(T), row = sizeof(TopLeafData) + numbers;
  std::vector<std::byte> rows(row * leaves_.size());
  std::vector<std::size_t> bytes(static_cast<std::size_t>(ranks_->size()));
  const auto each = [&](const auto& body) {
    std::byte* at = rows.data();
    for (const TopTree::Leaf& leaf : leaves_) {
      body(leaf.rank, leaf.cell, at);
      at += row;
    }
  };
  each([&](int rank, std::uint32_t cell, std::byte* at) {
    bytes[static_cast<std::size_t>(rank)] += row;
    if (rank != ranks_->rank()) return;
    const CellLink& link = cells_.link[cell];
    const TopLeafData data{shape_.data()[cell], extent_.data()[cell], link.children,
                           static_cast<std::uint32_t>(reply_bytes(link))};
    std::memcpy(at, &data, sizeof data);
    std::memcpy(at + sizeof data, scale_.data() + cell, sizeof(T));
    std::memcpy(at + sizeof data + sizeof(T), multipole_.data() + cell * terms, terms * sizeof(T));
  });
  ranks_->all_gather_in_place(rows.data(), bytes);
  each([&](int rank, std::uint32_t cell, const std::byte* at) {
    if (rank == ranks_->rank()) return;
    TopLeafData data;
    std::memcpy(&data, at, sizeof data);
    shape_.data()[cell] = data.shape, extent_.data()[cell] = data.extent;
    cells_.link[cell].children = data.children, origin(cell).bytes = data.reply_bytes;
    std::memcpy(scale_.data() + cell, at + sizeof data, sizeof(T));
    std::memcpy(multipole_.data() + cell * terms, at + sizeof data + sizeof(T), terms * sizeof(T));
  });
}

template class DistributedOctree<float>;
template class DistributedOctree<double>;
template Frame DistributedOctree<float>::frame_of(const Points<float>&) const;
template Frame DistributedOctree<float>::frame_of(const Points<double>&) const;
template Frame DistributedOctree<double>::frame_of(const Points<double>&) const;
template Routing& DistributedOctree<float>::divide(const Points<float>&, const TreeSoftening&, const KeptTree*);
template void DistributedOctree<float>::build(const Points<float>&, const TreeSoftening&, int, const KeptTree*);
template Routing& DistributedOctree<float>::divide(const Points<double>&, const TreeSoftening&, const KeptTree*);
template void DistributedOctree<float>::build(const Points<double>&, const TreeSoftening&, int, const KeptTree*);
template Routing& DistributedOctree<double>::divide(const Points<double>&, const TreeSoftening&, const KeptTree*);
template void DistributedOctree<double>::build(const Points<double>&, const TreeSoftening&, int, const KeptTree*);

}  // namespace pergola::tree
