// Centres, radii and multipoles of cells, once per instruction set.
// From the leaves up, a cell's centre of mass, its radius, then its multipoles about the centre, in units of the cell's
// scale. A leaf has its particles in the SIMD lanes, a parent its children. Lanes are summed last, in a fixed order.
#include <type_traits>
#include <utility>

#include "device/simd_targets.hpp"
#include "physics/multi_index.hpp"
#include "tree/octree_cpu.hpp"
#include "tree/shape.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tree/moments.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h:
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace pergola::tree::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;
using physics::expansion_terms, physics::factor_of, physics::Factor, physics::index_of, physics::is_valid,
    physics::term_of;

#include "device/simd_pack.inl"
#include "physics/expansion.inl"

/// The order of this sum depends on the number of lanes, thus on the instruction set.
template <class T>
T sum_of_lanes(Pack<T> value) {
  return hn::GetLane(hn::SumOfLanes(typename Pack<T>::Tag(), value.raw));
}

/// Multipoles of a leaf, its particles in the lanes.
template <int order, class T>
void multipoles_of_particles(const LeafParticles<T>& particles, T scale, T* to) {
  using P = Pack<T>;
  constexpr int terms = expansion_terms(order);
  constexpr int lanes = P::size, room = (static_cast<int>(leaf_capacity) + lanes - 1) / lanes * lanes;
  alignas(64) T x[room] = {}, y[room] = {}, z[room] = {}, m[room] = {};
  const T inverse = T(-1) / scale;
  for (std::uint32_t k = 0; k < particles.count; ++k) {
    x[k] = particles.x[k] * inverse, y[k] = particles.y[k] * inverse, z[k] = particles.z[k] * inverse;
    m[k] = particles.mass[k];
  }
  P sum[terms];
  for (auto& value : sum) value = P(T(0));
  for (int k = 0; k < static_cast<int>(particles.count); k += lanes) {
    const Monomials<order, P> t({P::load(x + k), P::load(y + k), P::load(z + k)}, P::load(m + k));
    for (int term = 0; term < terms; ++term) sum[term] = sum[term] + t.value[term];
  }
  for (int term = 0; term < terms; ++term) to[term] = sum_of_lanes(sum[term]);
}

/// The particles' places relative to the centre of their leaf, and its multipoles.
template <int order, class T>
void multipoles_of_leaf(const UpwardPass<T>& pass, std::uint32_t cell) {
  const CellLink& link = pass.cells->link[cell];
  const CellShape& s = pass.shape[cell];
  const std::uint32_t first = link.first;
  for (std::uint32_t at = first; at < first + link.count; ++at) {
    pass.rx[at] = static_cast<T>(pass.x[at] - s.x), pass.ry[at] = static_cast<T>(pass.y[at] - s.y);
    pass.rz[at] = static_cast<T>(pass.z[at] - s.z), pass.rmass[at] = static_cast<T>(pass.mass[at]);
    if (pass.rsoftening)
      pass.rsoftening[at] = static_cast<T>(physics::softening_number(pass.kernel, pass.epsilon2[at]));
  }
  multipoles_of_particles<order, T>({pass.rx + first, pass.ry + first, pass.rz + first, pass.rmass + first, link.count},
                                    pass.scale[cell],
                                    pass.multipole + static_cast<std::int64_t>(cell) * multipole_stride(order));
}

/// Multipoles of a parent, its children in the lanes.
template <int order, class T>
void multipoles_of_parent(const UpwardPass<T>& pass, std::uint32_t cell) {
  using P = Pack<T>;
  constexpr int terms = expansion_terms(order), lanes = P::size;
  const CellLink& link = pass.cells->link[cell];
  const CellShape& s = pass.shape[cell];
  const T inverse = T(1) / pass.scale[cell];
  P sum[terms];
  for (auto& value : sum) value = P(T(0));
  for (std::uint32_t c = 0; c < link.children; c += lanes) {
    alignas(64) T x[lanes] = {}, y[lanes] = {}, z[lanes] = {}, ratio[lanes] = {}, moments[terms][lanes] = {};
    for (std::uint32_t lane = 0; lane < lanes && c + lane < link.children; ++lane) {
      const std::uint32_t child = link.child + c + lane;
      x[lane] = static_cast<T>(s.x - pass.shape[child].x) * inverse;
      y[lane] = static_cast<T>(s.y - pass.shape[child].y) * inverse;
      z[lane] = static_cast<T>(s.z - pass.shape[child].z) * inverse;
      ratio[lane] = pass.scale[child] * inverse;
      const T* const from = pass.multipole + static_cast<std::int64_t>(child) * multipole_stride(order);
      for (int term = 0; term < terms; ++term) moments[term][lane] = from[term];
    }
    P child[terms];
    for (int term = 0; term < terms; ++term) child[term] = P::load(moments[term]);
    shift_multipole<order>({P::load(x), P::load(y), P::load(z)}, P::load(ratio), child, sum);
  }
  T* const to = pass.multipole + static_cast<std::int64_t>(cell) * multipole_stride(order);
  for (int term = 0; term < terms; ++term) to[term] = sum_of_lanes(sum[term]);
}

/// The cells begin … end - 1 of one level; their children are finished.
template <int order, class T>
void upward_order(const UpwardPass<T>& pass, std::uint32_t begin, std::uint32_t end) {
  for (std::uint32_t cell = begin; cell < end; ++cell) {
    const bool leaf = pass.cells->link[cell].children == 0;
    if (leaf)
      shape_of_leaf(pass, pass.cells->link.data(), cell);
    else
      shape_of_parent(pass, pass.cells->link.data(), cell);
    finish_shape<order>(pass, cell);
    if (leaf)
      multipoles_of_leaf<order>(pass, cell);
    else
      multipoles_of_parent<order>(pass, cell);
  }
}

template <class T>
void upward_any(const UpwardPass<T>& pass, int order, std::uint32_t begin, std::uint32_t end) {
  static_assert(lowest_order == 2 && highest_order == 5);
  switch (order) {
    case 2:
      return upward_order<2>(pass, begin, end);
    case 3:
      return upward_order<3>(pass, begin, end);
    case 4:
      return upward_order<4>(pass, begin, end);
    default:
      return upward_order<5>(pass, begin, end);
  }
}

template <class T>
void leaf_any(int order, const LeafParticles<T>& particles, T scale, T* to) {
  switch (order) {
    case 2:
      return multipoles_of_particles<2>(particles, scale, to);
    case 3:
      return multipoles_of_particles<3>(particles, scale, to);
    case 4:
      return multipoles_of_particles<4>(particles, scale, to);
    default:
      return multipoles_of_particles<5>(particles, scale, to);
  }
}

void leaf_float(int order, const LeafParticles<float>& particles, float scale, float* to) {
  leaf_any(order, particles, scale, to);
}
void leaf_double(int order, const LeafParticles<double>& particles, double scale, double* to) {
  leaf_any(order, particles, scale, to);
}
void upward_float(const UpwardPass<float>& pass, int order, std::uint32_t begin, std::uint32_t end) {
  upward_any(pass, order, begin, end);
}
void upward_double(const UpwardPass<double>& pass, int order, std::uint32_t begin, std::uint32_t end) {
  upward_any(pass, order, begin, end);
}

}  // namespace pergola::tree::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace pergola::tree {

HWY_EXPORT(upward_float);
HWY_EXPORT(upward_double);
HWY_EXPORT(leaf_float);
HWY_EXPORT(leaf_double);

template <>
void leaf_multipoles(int order, const LeafParticles<float>& particles, float scale, float* to) {
  HWY_DYNAMIC_DISPATCH(leaf_float)(order, particles, scale, to);
}
template <>
void leaf_multipoles(int order, const LeafParticles<double>& particles, double scale, double* to) {
  HWY_DYNAMIC_DISPATCH(leaf_double)(order, particles, scale, to);
}

template <>
void upward(const UpwardPass<float>& pass, int order, std::uint32_t begin, std::uint32_t end) {
  HWY_DYNAMIC_DISPATCH(upward_float)(pass, order, begin, end);
}
template <>
void upward(const UpwardPass<double>& pass, int order, std::uint32_t begin, std::uint32_t end) {
  HWY_DYNAMIC_DISPATCH(upward_double)(pass, order, begin, end);
}

}  // namespace pergola::tree
#endif
