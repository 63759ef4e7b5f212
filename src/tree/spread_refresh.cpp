// What of the tree over spread particles outlasts a small step.
#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "comm/collectives.hpp"
#include "comm/shares.hpp"
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
bool DistributedOctree<T>::refresh(const Points<Real>& kept, const TreeSoftening& softening) {
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

/// What only a build has taken, for each particle: its walks fetch a lot then.
template <class T>
void DistributedOctree<T>::give_back_sorting() {
  sort_.keys = Buffer<std::uint64_t>(), sort_.other_keys = Buffer<std::uint64_t>();
  sort_.other_values = Buffer<std::uint32_t>();
  this->lower_ = Buffer<std::uint64_t>(), spare_ = Buffer<double>(), species_ = Buffer<std::uint8_t>();
}

/// Shapes are those of the cells in a periodic box, where leaves stay with their particles.
template <class T>
void DistributedOctree<T>::put_aside() {
  give_back_fetched();
  Buffer<CellShape> own(device_, this->periodic_ && total_ > 0 ? own_end_ : 0);
  std::copy_n(shape_.data(), own.size(), own.data());
  shape_ = std::move(own);
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
void DistributedOctree<T>::take_up() {
  Base::take_up();
  routing_ = std::move(aside_.routing), total_ = aside_.total, leaves_ = std::move(aside_.leaves);
  top_cells_ = aside_.top_cells, own_end_ = aside_.own_end;
  origin_ = std::move(aside_.origin), own_cell_ = std::move(aside_.own_cell), foreign_ = std::move(aside_.foreign);
  work_ = std::move(aside_.work), walks_ = aside_.walks, times_ = aside_.times, weight_ = std::move(aside_.weight);
  aside_ = {};
}

template <class T>
void DistributedOctree<T>::give_back_memory() {
  give_back_fetched();
  give_back_sorting();
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

template bool DistributedOctree<float>::refresh(const Points<float>&, const TreeSoftening&);
template bool DistributedOctree<float>::refresh(const Points<double>&, const TreeSoftening&);
template bool DistributedOctree<double>::refresh(const Points<double>&, const TreeSoftening&);
template OctreeCpu<float>::LeafSurvey DistributedOctree<float>::survey_all(const Vec3<double>&) const;
template OctreeCpu<double>::LeafSurvey DistributedOctree<double>::survey_all(const Vec3<double>&) const;
template ActiveSet DistributedOctree<float>::asking(const std::vector<std::uint8_t>&, std::vector<std::uint32_t>&);
template ActiveSet DistributedOctree<double>::asking(const std::vector<std::uint8_t>&, std::vector<std::uint32_t>&);
template void DistributedOctree<float>::keep_here(std::vector<std::uint32_t>);
template void DistributedOctree<double>::keep_here(std::vector<std::uint32_t>);
template void DistributedOctree<float>::keep_elsewhere(Routing);
template void DistributedOctree<double>::keep_elsewhere(Routing);
template void DistributedOctree<float>::put_aside();
template void DistributedOctree<double>::put_aside();
template void DistributedOctree<float>::give_back_memory();
template void DistributedOctree<double>::give_back_memory();
template void DistributedOctree<float>::take_up();
template void DistributedOctree<double>::take_up();

}  // namespace pergola::tree
