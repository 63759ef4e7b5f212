#pragma once
// CUDA only: when a cell may act through its expansion, in open space.
//
// The same criteria as Walker::test of tree/walk.inl, in floats: distances come from doubles and are compared as
// floats. Units are those of the tree. A source acts as a cell (expansion to expansion) or as points (expansion to
// particles).
#include "physics/expansion.hpp"
#include "physics/pair.hpp"
#include "tree/cells_cuda.cuh"
#include "tree/estimate.hpp"

namespace pergola::tree {

/// Of the group that the cell belongs to, or the smallest of those in it. Cells within a group know that of the group,
/// but for those of trees that were saved when they did not.
inline __device__ float target_acceleration(const CellLink* link, const std::uint32_t* parent,
                                            const float* acceleration, std::uint32_t cell) {
  if (const float known = acceleration[cell]; known < unknown_acceleration) return known;
  std::uint32_t at = cell;
  for (std::uint32_t above = parent[at]; above != at && link[above].count <= estimate_capacity; above = parent[at])
    at = above;
  return acceleration[at];
}

/// Whether a cell has one softening length, which is that of all its pairs with the other.
inline __device__ bool has_all_pairs(const CellRecord& a, const CellRecord& b) {
  return !(a.bits & CellRecord::mixed) && a.epsilon2 >= b.epsilon2;
}

/// Whether a source may act on a target as a cell, and on its particles. d: from the target to the source; allowed:
/// neglected terms, at most; support: of the pair law.
template <int order>
__device__ __forceinline__ void test_opening(const Opening& o, float support, const CellRecord& s,
                                             const CellRecord& target, const Vec3<float>& d, float acceleration,
                                             float allowed, bool& as_cell, bool& as_points) {
  const auto angle = static_cast<float>(o.angle);
  const float epsilon2 = fmaxf(s.epsilon2, target.epsilon2);
  const float square = physics::softened_square(d, support > 0 ? 0.0f : epsilon2), u = physics::rsqrt(square);
  const float rest = square * u - target.r, v = __fdividef(1, rest);  // no particle of the target is nearer
  as_cell = physics::opening_ratio(s.r, target.r, u) <= angle && target.r * u <= static_cast<float>(o.target_angle);
  as_points = rest > 0 && s.r <= angle * rest;
  if (o.tolerance > 0) {
    as_cell = as_cell && physics::neglected_acceleration<order>(s.mass, s.rho, target.r, u) <= allowed;
    as_points = as_points && physics::neglected_acceleration<order>(s.mass, s.rho, 0.0f, v) <= allowed;
  }
  if (support > 0) {
    const float apart = physics::nearest_apart(square * u, s.r, target.r);
    const bool newtonian = apart >= 0 && support * support * epsilon2 <= apart * apart;
    as_cell = as_cell && newtonian, as_points = as_points && newtonian;
  } else if (!has_all_pairs(s, target) && !has_all_pairs(target, s)) {
    const float wrong = physics::softening_effect(s.mass, epsilon2), most = static_cast<float>(o.softening);
    as_cell = as_cell && wrong * physics::power<4>(u) <= most * (o.tolerance > 0 ? acceleration : s.mass * u * u);
    as_points = as_points && wrong * physics::power<4>(v) <= most * (o.tolerance > 0 ? acceleration : s.mass * v * v);
  }
}

}  // namespace pergola::tree
