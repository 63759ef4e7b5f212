// What of the tree over spread particles outlasts a small step.
#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "comm/collectives.hpp"
#include "tree/spread_octree.hpp"

namespace pergola::tree {

/// Over the leaves of all ranks.
template <class T>
typename OctreeCpu<T>::LeafSurvey DistributedOctree<T>::survey_all(const Vec3<double>& period) const {
  const auto here = this->survey(period);
  std::int64_t sums[3] = {here.spread, here.leaves, here.astray ? 1 : 0};
  ranks_->all_reduce(sums, 3, Reduction::sum);
  return {sums[0], sums[1], sums[2] > 0};
}

/// Top and own cells are left.
template <class T>
void DistributedOctree<T>::forget_fetched() {
  cells_.link.resize(own_end_);
  origin_.resize(top_cells_);
  foreign_.resize(own_end_);
  here_ = count_;
  for (const TopTree::Leaf& leaf : leaves_)
    if (leaf.rank != ranks_->rank()) cells_.link[leaf.cell].first = cells_.link[leaf.cell].child = elsewhere;
}

template <class T>
template <class Real>
bool DistributedOctree<T>::refresh(const Points<Real>& points, const TreeSoftening& softening, int order) {
  std::int64_t differs = points.count != (again_ ? again_->count() : count_) ? 1 : 0;
  ranks_->all_reduce(&differs, 1, Reduction::maximum);
  const Vec3<double> period = points.box.periodic() ? unit_period(points.box, frame_) : Vec3<double>{0, 0, 0};
  if (const KeptTree* const again = std::exchange(again_, nullptr)) {
    if (differs) return false;
    build(points, softening, order, again);
    return total_ == 0 || still_serves(period);
  }
  if (differs) return false;
  if (total_ == 0) return true;
  expansion_order_ = order;
  forget_fetched();
  ++times_;
  this->gather(points, softening);
  if (this->periodic_) this->follow_leaves(period);
  upward_to_top();
  return still_serves(period);
}

template <class T>
bool DistributedOctree<T>::still_serves(const Vec3<double>& period) const {
  const CellShape& root = shape_.data()[0];
  const auto now = survey_all(period);
  return std::isfinite(root.x + root.y + root.z) && std::isfinite(root.r) && !now.astray &&
         !has_grown(this->spread_, now.spread, now.leaves);
}

template <class T>
ActiveSet DistributedOctree<T>::asking(const std::vector<std::uint8_t>& marks) {
  asking_particle_.resize(static_cast<std::size_t>(count_));
  asking_cell_.assign(own_end_, 0);
  for (std::size_t k = 0; k < asking_particle_.size(); ++k) asking_particle_[k] = marks[sort_.values.data()[k]];
  for (std::uint32_t cell = own_end_; cell-- > 0;) {
    const CellLink& link = cells_.link[cell];
    if (own_cell_[cell] && link.children == 0) {
      const std::uint8_t* const of_leaf = asking_particle_.data() + link.first;
      asking_cell_[cell] = std::find(of_leaf, of_leaf + link.count, 1) != of_leaf + link.count ? 1 : 0;
    }
    if (asking_cell_[cell]) asking_cell_[cells_.parent[cell]] = 1;
  }
  return {asking_particle_.data(), asking_cell_.data()};
}

/// With its memory.
template <class T>
void DistributedOctree<T>::give_back_fetched() {
  if (total_ == 0) return;
  forget_fetched();
  cells_.link.shrink_to_fit(), origin_.shrink_to_fit(), foreign_.shrink_to_fit();
}

/// What only a build has taken, for each particle: its walks fetch a lot then. Keys stay.
template <class T>
void DistributedOctree<T>::give_back_sorting() {
  sort_.other_keys = Buffer<std::uint64_t>();
  sort_.other_values = Buffer<std::uint32_t>();
}

template <class T>
void DistributedOctree<T>::give_back_memory() {
  keep_weights();
  routing_ = {}, top_.reset();
  total_ = 0, count_ = 0, walks_ = 0, here_ = 0;
  top_cells_ = own_end_ = 0;
  cells_ = {};
  leaves_ = {}, origin_ = {}, own_cell_ = {}, foreign_ = {}, work_ = {};
  give_back_sorting();
  sort_ = {};
  this->lower_ = Buffer<std::uint64_t>();
  for (auto* one : {&this->x_, &this->y_, &this->z_, &this->mass_, &this->epsilon2_, &this->acceleration_})
    *one = Buffer<double>();
  for (auto* one : {&this->rx_, &this->ry_, &this->rz_, &this->rmass_, &this->rsoftening_, &scale_, &multipole_})
    *one = Buffer<T>();
  shape_ = Buffer<CellShape>(), extent_ = Buffer<CellExtent>();
}

template bool DistributedOctree<float>::refresh(const Points<float>&, const TreeSoftening&, int);
template bool DistributedOctree<float>::refresh(const Points<double>&, const TreeSoftening&, int);
template bool DistributedOctree<double>::refresh(const Points<double>&, const TreeSoftening&, int);
template OctreeCpu<float>::LeafSurvey DistributedOctree<float>::survey_all(const Vec3<double>&) const;
template OctreeCpu<double>::LeafSurvey DistributedOctree<double>::survey_all(const Vec3<double>&) const;
template ActiveSet DistributedOctree<float>::asking(const std::vector<std::uint8_t>&);
template ActiveSet DistributedOctree<double>::asking(const std::vector<std::uint8_t>&);
template void DistributedOctree<float>::give_back_memory();
template void DistributedOctree<double>::give_back_memory();

}  // namespace pergola::tree
