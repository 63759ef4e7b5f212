// What of the tree over spread particles outlasts a small step.
#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>
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
bool DistributedOctree<T>::refresh(const Points<Real>& kept, const TreeSoftening& softening, int order) {
  std::int64_t sums[2] = {kept.count, kept.species && !softening.uniform ? 1 : 0};
  std::int64_t differs = kept.count != (again_ ? again_->count() : routing_.kept()) ? 1 : 0;
  ranks_->all_reduce(sums, 2, Reduction::sum);
  ranks_->all_reduce(&differs, 1, Reduction::maximum);
  const Vec3<double> period = kept.box.periodic() ? unit_period(kept.box, frame_) : Vec3<double>{0, 0, 0};
  if (const auto again = std::exchange(again_, nullptr)) {
    if (differs) return false;
    Points<Real> with_keys = kept;
    with_keys.upper = again->upper.data(), with_keys.lower = again->has_lower ? again->lower.data() : nullptr;
    build(with_keys, softening, order, again.get());
    return total_ == 0 || still_serves(period);
  }
  if (differs || sums[0] != total_) return false;
  if (total_ == 0) return true;
  expansion_order_ = order;
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
  gather_arrived(here, softening);
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
ActiveSet DistributedOctree<T>::asking(const std::vector<std::uint8_t>& kept, std::vector<std::uint32_t>& few) {
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
  spare_ = Buffer<double>(), species_ = Buffer<std::uint8_t>();
}

template <class T>
std::shared_ptr<const KeptTree> DistributedOctree<T>::keep() {
  if (again_ || total_ == 0) return again_;
  keep_weights();
  const auto kept = this->kept_points();
  const auto home = [&](auto& field) {
    std::remove_reference_t<decltype(field)> at_home(device_, routing_.kept());
    routing_.back(std::as_const(field).data(), at_home.data());
    field = std::move(at_home);
  };
  home(kept->upper);
  if (kept->has_lower) home(kept->lower);
  if (kept->has_accelerations) home(kept->acceleration);
  kept->weight = weight_;
  return kept;
}

template <class T>
void DistributedOctree<T>::take_up(std::shared_ptr<const KeptTree> kept) {
  Base::take_up(std::move(kept));
  routing_ = {}, total_ = 0, walks_ = 0;
  if (again_) weight_ = again_->weight;
}

template <class T>
void DistributedOctree<T>::give_back_memory() {
  keep_weights();
  routing_ = {}, total_ = 0, count_ = 0, walks_ = 0, here_ = 0;
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

template <class T>
void DistributedOctree<T>::keep_here(std::vector<std::uint32_t> places) {
  std::vector<std::int64_t> sent(static_cast<std::size_t>(ranks_->size()));
  sent[static_cast<std::size_t>(ranks_->rank())] = std::ssize(places);
  routing_ = Routing(*ranks_, device_.threads(), std::move(places), std::move(sent));
  if (walks_ == 0) weight_.clear();  // they are those of other particles
}

template <class T>
void DistributedOctree<T>::keep_elsewhere(Routing way) {
  for (std::int64_t k = 0; k < count_; ++k) sort_.values.data()[k] = routing_.order()[sort_.values.data()[k]];
  routing_ = std::move(way);
  if (walks_ == 0) weight_.clear();
}

template bool DistributedOctree<float>::refresh(const Points<float>&, const TreeSoftening&, int);
template bool DistributedOctree<float>::refresh(const Points<double>&, const TreeSoftening&, int);
template bool DistributedOctree<double>::refresh(const Points<double>&, const TreeSoftening&, int);
template OctreeCpu<float>::LeafSurvey DistributedOctree<float>::survey_all(const Vec3<double>&) const;
template OctreeCpu<double>::LeafSurvey DistributedOctree<double>::survey_all(const Vec3<double>&) const;
template ActiveSet DistributedOctree<float>::asking(const std::vector<std::uint8_t>&, std::vector<std::uint32_t>&);
template ActiveSet DistributedOctree<double>::asking(const std::vector<std::uint8_t>&, std::vector<std::uint32_t>&);
template void DistributedOctree<float>::keep_here(std::vector<std::uint32_t>);
template void DistributedOctree<double>::keep_here(std::vector<std::uint32_t>);
template void DistributedOctree<float>::keep_elsewhere(Routing);
template void DistributedOctree<double>::keep_elsewhere(Routing);
template std::shared_ptr<const KeptTree> DistributedOctree<float>::keep();
template std::shared_ptr<const KeptTree> DistributedOctree<double>::keep();
template void DistributedOctree<float>::give_back_memory();
template void DistributedOctree<double>::give_back_memory();
template void DistributedOctree<float>::take_up(std::shared_ptr<const KeptTree>);
template void DistributedOctree<double>::take_up(std::shared_ptr<const KeptTree>);

}  // namespace pergola::tree
