// What of the tree over spread particles outlasts a small step.
#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <numeric>
#include <utility>

#include "comm/gather.hpp"
#include "comm/shares.hpp"
#include "tree/spread_octree.hpp"

namespace pergola::tree {

/// Over the leaves of all ranks.
template <class T>
typename OctreeCpu<T>::LeafSurvey SpreadOctree<T>::survey_all(const Vec3<double>& period) const {
  const auto here = this->survey(period);
  std::int64_t sums[3] = {here.spread, here.leaves, here.astray ? 1 : 0};
  ranks_->all_reduce(sums, 3, Reduction::sum);
  return {sums[0], sums[1], sums[2] > 0};
}

/// Top and own cells are left.
template <class T>
void SpreadOctree<T>::forget_fetched() {
  cells_.link.resize(own_end_);
  origin_.resize(top_cells_);
  foreign_.resize(own_end_);
  here_ = count_;
  for (const TopTree::Leaf& leaf : leaves_)
    if (leaf.rank != ranks_->rank()) cells_.link[leaf.cell].first = cells_.link[leaf.cell].child = elsewhere;
}

template <class T>
template <class Real>
bool SpreadOctree<T>::refresh(const Points<Real>& kept, const TreeSoftening& softening) {
  std::int64_t sums[2] = {kept.count, kept.species && !softening.uniform ? 1 : 0};
  std::int64_t differs = kept.count != routing_.kept() ? 1 : 0;
  ranks_->all_reduce(sums, 2, Reduction::sum);
  ranks_->all_reduce(&differs, 1, Reduction::maximum);
  if (differs || sums[0] != total_) return false;
  if (total_ == 0) return true;
  forget_fetched();
  ++times_;
  double least[2] = {std::numeric_limits<double>::infinity(), std::numeric_limits<double>::infinity()};
  for (std::int64_t i = 0; i < kept.count; ++i) {
    const auto mass = static_cast<double>(kept.mass[i]);
    least[0] = std::min(least[0], mass), least[1] = std::min(least[1], -mass);
  }
  ranks_->all_reduce(least, 2, Reduction::minimum);
  masses_differ_ = least[0] != -least[1];
  const auto equal_mass = masses_differ_ ? std::nullopt : std::optional(least[0]);
  const Points<Real> here = bring(kept, equal_mass, sums[1] > 0, false);
  const Vec3<double> period = this->periodic_ ? unit_period(kept.box, frame_) : Vec3<double>{0, 0, 0};
  gather_arrived(here, softening);
  if (this->periodic_) this->follow_leaves(period);
  upward_to_top();
  const CellShape& root = shape_.data()[0];
  const auto now = survey_all(period);
  return std::isfinite(root.x + root.y + root.z) && std::isfinite(root.r) && !now.astray &&
         !has_grown(this->spread_, now.spread, now.leaves);
}

template <class T>
ActiveSet SpreadOctree<T>::asking(const std::vector<std::uint8_t>& kept, std::vector<std::uint32_t>& few) {
  const std::vector<std::uint8_t> arrived = routing_.there(kept.data());
  few.clear();
  for (std::uint32_t i = 0; i < arrived.size(); ++i)
    if (arrived[i]) few.push_back(i);
  asking_particle_.resize(static_cast<std::size_t>(count_));
  asking_cell_.assign(own_end_, 0);
  for (std::size_t k = 0; k < asking_particle_.size(); ++k) asking_particle_[k] = arrived[sort_.values.data()[k]];
  for (std::uint32_t cell = own_end_; cell-- > 0;) {
    const CellLink& link = cells_.link[cell];
    if (own_cell_[cell] && link.children == 0) {
      const std::uint8_t* const marks = asking_particle_.data() + link.first;
      asking_cell_[cell] = std::find(marks, marks + link.count, 1) != marks + link.count ? 1 : 0;
    }
    if (asking_cell_[cell]) asking_cell_[cells_.parent[cell]] = 1;
  }
  return {asking_particle_.data(), asking_cell_.data()};
}

/// Where this domain begins in the order of the whole tree.
template <class T>
std::uint32_t SpreadOctree<T>::first_in_tree() const {
  std::uint32_t before = 0;
  for (const TopTree::Leaf& leaf : leaves_)
    if (leaf.rank < ranks_->rank()) before += cells_.link[leaf.cell].count;
  return before;
}

template <class T>
SavedTree SpreadOctree<T>::save() const {
  SavedTree saved;
  saved.frame = frame_, saved.spread = this->spread_;
  if (total_ == 0) return saved;
  const Shares shares{total_, ranks_->size()};
  std::vector<std::uint32_t> places(static_cast<std::size_t>(routing_.kept())), order;
  std::iota(places.begin(), places.end(), static_cast<std::uint32_t>(shares.first(ranks_->rank())));
  const auto arrived = routing_.there(places.data());
  for (std::int64_t k = 0; k < count_; ++k) order.push_back(arrived[sort_.values.data()[k]]);
  saved.order = gather_on_root(*ranks_, order);

  std::vector<std::uint32_t> level(own_end_), first(top_cells_);
  for (std::uint32_t cell = 1; cell < own_end_; ++cell) level[cell] = level[cells_.parent[cell]] + 1;
  std::vector<std::uint8_t> of_rank(top_cells_, ranks_->is_root() ? 1 : 0);  // rank 0 says what the top is
  auto before = static_cast<std::uint32_t>(total_);
  for (auto leaf = leaves_.rbegin(); leaf != leaves_.rend(); ++leaf) {  // from the last one: the first one stays
    before -= cells_.link[leaf->cell].count;
    of_rank[leaf->cell] = leaf->rank == ranks_->rank() ? 1 : 0;
    for (std::uint32_t cell = leaf->cell;; cell = cells_.parent[cell]) {
      first[cell] = before;
      if (cell == 0) break;
    }
  }
  const std::uint32_t offset = first_in_tree();
  std::vector<SavedCell> own;
  for (std::uint32_t cell = 0; cell < own_end_; ++cell) {
    if (cell < top_cells_ && !of_rank[cell]) continue;
    const CellLink& link = cells_.link[cell];
    own.push_back({level[cell],
                   cell < top_cells_ ? first[cell] : offset + link.first,
                   link.count,
                   link.children,
                   has_accelerations_ ? this->acceleration_.data()[cell] : 0,
                   {0, 0, 0}});
    const CellShape* const shape = shape_.data() + cell;
    if (this->periodic_) own.back().centre = {shape->x, shape->y, shape->z};
  }
  const auto all = gather_on_root(*ranks_, own);
  if (ranks_->is_root())
    saved.put_cells(all, has_accelerations_, this->periodic_);
  else if (this->periodic_)
    saved.centre.assign(3, 0);
  return saved;
}

/// The cells below this rank's leaves of the top, level by level; `from`: their numbers in the saved tree.
template <class T>
void SpreadOctree<T>::copy_cells(const SavedTree& saved, const std::vector<std::uint32_t>& own,
                                 std::vector<std::uint32_t>& from) {
  const std::uint32_t offset = first_in_tree();
  std::vector<std::uint32_t> parents = own, next;
  for (; !parents.empty(); parents = std::exchange(next, {})) {
    for (const std::uint32_t cell : parents) {
      const CellLink there = saved.link[from[cell]];
      cells_.link[cell].child = cells_.size(), cells_.link[cell].children = there.children;
      for (std::uint32_t c = there.child; c < there.child + there.children; ++c) {
        next.push_back(cells_.size());
        cells_.link.push_back({saved.link[c].first - offset, saved.link[c].count, 0, 0});
        cells_.parent.push_back(cell);
        from.push_back(c);
      }
    }
    if (!next.empty()) cells_.level_begin.push_back(cells_.size());
  }
}

template <class T>
void SpreadOctree<T>::restore(const SavedTree& saved, int order, bool periodic) {
  expansion_order_ = order;
  this->periodic_ = periodic;
  total_ = std::ssize(saved.order);
  count_ = 0, routing_ = {};
  walks_ = 0, weight_.clear();
  if (total_ == 0) return;
  frame_ = saved.frame, this->spread_ = saved.spread;
  has_accelerations_ = !saved.acceleration.empty();
  std::vector<std::uint32_t> from;
  TopTree top = cut_top_tree(saved.link, ranks_->size(), from);

  const Shares shares{total_, ranks_->size()};
  const std::int64_t begin = shares.first(ranks_->rank()), kept = shares.count(ranks_->rank());
  std::vector<std::uint32_t> in_tree(static_cast<std::size_t>(kept)),
      leaving;  // places in the tree; own, as they leave
  std::vector<std::int64_t> sent(static_cast<std::size_t>(ranks_->size()));
  std::uint32_t k = 0;
  for (const TopTree::Leaf& leaf : top.leaves)
    for (const std::uint32_t end = k + top.cells.link[leaf.cell].count; k < end; ++k) {
      const std::int64_t i = saved.order[k] - begin;
      if (i < 0 || i >= kept) continue;
      in_tree[static_cast<std::size_t>(i)] = k;
      leaving.push_back(static_cast<std::uint32_t>(i));
      ++sent[static_cast<std::size_t>(leaf.rank)];
    }
  routing_ = Routing(*ranks_, device_.threads(), std::move(leaving), std::move(sent));
  const auto arrived = routing_.there(in_tree.data());
  count_ = std::ssize(arrived);
  std::vector<std::uint32_t> places(arrived.size());
  std::iota(places.begin(), places.end(), 0u);
  std::sort(places.begin(), places.end(), [&](std::uint32_t a, std::uint32_t b) { return arrived[a] < arrived[b]; });
  sort_.values = Buffer<std::uint32_t>(device_, places);

  const std::vector<std::uint32_t> own = take_top(std::move(top));
  copy_cells(saved, own, from);
  begin_domain();
  std::vector<double> acceleration;
  std::vector<CellShape> shape(periodic ? from.size() : 0);
  for (std::size_t c = 0; c < from.size(); ++c) {
    if (has_accelerations_) acceleration.push_back(saved.acceleration[from[c]]);
    const double* const centre = saved.centre.data() + 3 * std::size_t{from[c]};
    if (periodic) shape[c].x = centre[0], shape[c].y = centre[1], shape[c].z = centre[2];
  }
  this->acceleration_ = Buffer<double>(device_, acceleration);
  if (periodic) shape_ = Buffer<CellShape>(device_, shape);
}

template <class T>
void SpreadOctree<T>::put_aside() {
  Base::put_aside();
  aside_ = {std::exchange(routing_, {}),
            std::exchange(total_, 0),
            std::exchange(leaves_, {}),
            top_cells_,
            own_end_,
            std::exchange(origin_, {}),
            std::exchange(own_cell_, {}),
            std::exchange(foreign_, {}),
            std::exchange(work_, {}),
            std::exchange(walks_, 0),
            times_,
            std::exchange(weight_, {})};
}

template <class T>
void SpreadOctree<T>::take_up() {
  Base::take_up();
  routing_ = std::move(aside_.routing), total_ = aside_.total, leaves_ = std::move(aside_.leaves);
  top_cells_ = aside_.top_cells, own_end_ = aside_.own_end;
  origin_ = std::move(aside_.origin), own_cell_ = std::move(aside_.own_cell), foreign_ = std::move(aside_.foreign);
  work_ = std::move(aside_.work), walks_ = aside_.walks, times_ = aside_.times, weight_ = std::move(aside_.weight);
  aside_ = {};
}

template <class T>
void SpreadOctree<T>::keep_here(std::vector<std::uint32_t> places) {
  std::vector<std::int64_t> sent(static_cast<std::size_t>(ranks_->size()));
  sent[static_cast<std::size_t>(ranks_->rank())] = std::ssize(places);
  routing_ = Routing(*ranks_, device_.threads(), std::move(places), std::move(sent));
  if (walks_ == 0) weight_.clear();  // they are those of other particles
}

template <class T>
void SpreadOctree<T>::keep_elsewhere(Routing way) {
  for (std::int64_t k = 0; k < count_; ++k) sort_.values.data()[k] = routing_.order()[sort_.values.data()[k]];
  routing_ = std::move(way);
  if (walks_ == 0) weight_.clear();
}

template bool SpreadOctree<float>::refresh(const Points<float>&, const TreeSoftening&);
template bool SpreadOctree<float>::refresh(const Points<double>&, const TreeSoftening&);
template bool SpreadOctree<double>::refresh(const Points<double>&, const TreeSoftening&);
template OctreeCpu<float>::LeafSurvey SpreadOctree<float>::survey_all(const Vec3<double>&) const;
template OctreeCpu<double>::LeafSurvey SpreadOctree<double>::survey_all(const Vec3<double>&) const;
template ActiveSet SpreadOctree<float>::asking(const std::vector<std::uint8_t>&, std::vector<std::uint32_t>&);
template ActiveSet SpreadOctree<double>::asking(const std::vector<std::uint8_t>&, std::vector<std::uint32_t>&);
template SavedTree SpreadOctree<float>::save() const;
template SavedTree SpreadOctree<double>::save() const;
template void SpreadOctree<float>::restore(const SavedTree&, int, bool);
template void SpreadOctree<double>::restore(const SavedTree&, int, bool);
template void SpreadOctree<float>::keep_here(std::vector<std::uint32_t>);
template void SpreadOctree<double>::keep_here(std::vector<std::uint32_t>);
template void SpreadOctree<float>::keep_elsewhere(Routing);
template void SpreadOctree<double>::keep_elsewhere(Routing);
template void SpreadOctree<float>::put_aside();
template void SpreadOctree<double>::put_aside();
template void SpreadOctree<float>::take_up();
template void SpreadOctree<double>::take_up();

}  // namespace pergola::tree
