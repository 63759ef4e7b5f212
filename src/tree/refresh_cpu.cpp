#include <atomic>
#include <cmath>
#include <utility>

#include "device/parallel.hpp"
#include "tree/octree_cpu.hpp"
#include "tree/shape.hpp"

namespace pergola::tree {

namespace {

constexpr std::int64_t survey_chunk = 8192, leaf_chunk = 64;

}  // namespace

template <class T>
template <class Real>
bool OctreeCpu<T>::refresh(const Points<Real>& points, const TreeSoftening& softening) {
  if (points.count != count_) return false;
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
  parallel_chunks(device_.threads(), cells_.size(), survey_chunk, [&](std::int64_t begin, std::int64_t end) {
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

/// Particles that have left the box stay with their leaf.
template <class T>
void OctreeCpu<T>::follow_leaves(const Vec3<double>& period) {
  parallel_chunks(device_.threads(), cells_.size(), leaf_chunk, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t c = begin; c < end; ++c) {
      const CellLink& link = cells_.link[static_cast<std::size_t>(c)];
      if (link.children > 0 || link.is_elsewhere()) continue;
      const CellShape& leaf = shape_.data()[c];
      for (std::int64_t k = link.first; k < std::int64_t{link.first} + link.count; ++k) {
        const Vec3<double> at =
            image_near({x_.data()[k], y_.data()[k], z_.data()[k]}, {leaf.x, leaf.y, leaf.z}, period);
        x_.data()[k] = at.x, y_.data()[k] = at.y, z_.data()[k] = at.z;
      }
    }
  });
}

template <class T>
void OctreeCpu<T>::save(StateBlocks& blocks) const {
  const std::uint32_t* const values = sort_.values.data();
  const double* const a = acceleration_.data();
  SavedTree saved{frame_, {values, values + count_}, cells_.link, cells_.parent, cells_.level_begin, {}, spread_, {}, 0,
                  {}};
  if (has_accelerations_ && count_ > 0) saved.acceleration.assign(a, a + cells_.size());
  for (std::int64_t c = 0; periodic_ && c < (count_ > 0 ? cells_.size() : 0); ++c) {
    const CellShape& s = shape_.data()[c];
    saved.centre.insert(saved.centre.end(), {s.x, s.y, s.z});
  }
  saved.save(blocks, tree_kind("cpu", periodic_));
}

template <class T>
bool OctreeCpu<T>::restore(const StateBlocks& blocks, std::int64_t count, int order, bool periodic) {
  SavedTree saved;
  if (!saved.restore(blocks, tree_kind("cpu", periodic), count)) return false;
  count_ = count;
  periodic_ = periodic;
  if (count == 0) return true;
  expansion_order_ = order;
  frame_ = saved.frame;
  spread_ = saved.spread;
  has_accelerations_ = !saved.acceleration.empty();
  sort_.values = Buffer<std::uint32_t>(device_, saved.order);
  acceleration_ = Buffer<double>(device_, saved.acceleration);
  cells_ = {std::move(saved.link), std::move(saved.parent), std::move(saved.level_begin)};
  if (periodic) {
    std::vector<CellShape> shape(cells_.link.size());
    for (std::size_t c = 0; c < shape.size(); ++c)
      shape[c].x = saved.centre[3 * c], shape[c].y = saved.centre[3 * c + 1], shape[c].z = saved.centre[3 * c + 2];
    shape_ = Buffer<CellShape>(device_, shape);
  }
  return true;
}

template <class T>
void OctreeCpu<T>::put_aside() {
  aside_ = {count_, expansion_order_,        has_accelerations_,        periodic_,         spread_,
            frame_, std::move(sort_.values), std::exchange(cells_, {}), std::move(shape_), std::move(acceleration_)};
  count_ = 0;
}

template <class T>
void OctreeCpu<T>::take_up() {
  count_ = aside_.count, expansion_order_ = aside_.expansion_order;
  has_accelerations_ = aside_.has_accelerations, periodic_ = aside_.periodic;
  spread_ = aside_.spread, frame_ = aside_.frame;
  sort_.values = std::move(aside_.order), cells_ = std::move(aside_.cells);
  shape_ = std::move(aside_.shape), acceleration_ = std::move(aside_.acceleration);
  aside_ = {};
}

template bool OctreeCpu<float>::refresh(const Points<float>&, const TreeSoftening&);
template bool OctreeCpu<float>::refresh(const Points<double>&, const TreeSoftening&);
template bool OctreeCpu<double>::refresh(const Points<double>&, const TreeSoftening&);
template OctreeCpu<float>::LeafSurvey OctreeCpu<float>::survey(const Vec3<double>&) const;
template OctreeCpu<double>::LeafSurvey OctreeCpu<double>::survey(const Vec3<double>&) const;
template void OctreeCpu<float>::follow_leaves(const Vec3<double>&);
template void OctreeCpu<double>::follow_leaves(const Vec3<double>&);
template void OctreeCpu<float>::save(StateBlocks&) const;
template void OctreeCpu<double>::save(StateBlocks&) const;
template bool OctreeCpu<float>::restore(const StateBlocks&, std::int64_t, int, bool);
template bool OctreeCpu<double>::restore(const StateBlocks&, std::int64_t, int, bool);
template void OctreeCpu<float>::put_aside();
template void OctreeCpu<double>::put_aside();
template void OctreeCpu<float>::take_up();
template void OctreeCpu<double>::take_up();

}  // namespace pergola::tree
