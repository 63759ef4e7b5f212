#pragma once
// Fields of particles, from the order of memory to the order of the tree.
//
// A field is written in the order of the tree and read at scattered places, so that reads are prefetched. Positions
// come out in units of the cube's side from its corner, masses as parts of the total, softening as the square of a
// length.
#include <cstdint>

#include "device/parallel.hpp"
#include "tree/octree_cpu.hpp"

namespace pergola::tree {

/// Copies fields of points into the tree's order and units.
template <class Real>
struct PointGatherer {
  int threads;
  const Points<Real>& points;
  const Frame& frame;
  const std::uint32_t* order;

  void x(double* to) const {
    each(
        points.x, [&](std::int64_t i) { return unit_position(points, frame, i).x; }, to);
  }
  void y(double* to) const {
    each(
        points.y, [&](std::int64_t i) { return unit_position(points, frame, i).y; }, to);
  }
  void z(double* to) const {
    each(
        points.z, [&](std::int64_t i) { return unit_position(points, frame, i).z; }, to);
  }
  void mass(double* to) const {
    const double per_mass = 1 / frame.mass;
    each(
        points.mass, [&](std::int64_t i) { return static_cast<double>(points.mass[i]) * per_mass; }, to);
  }
  /// Squares of the softening lengths, where they differ.
  void epsilon2(const TreeSoftening& softening, double* to) const {
    const bool same = softening.uniform || !points.species;
    each(
        points.species,
        [&](std::int64_t i) {
          const double length = softening.epsilon[same ? 0 : points.species[i]] / frame.side;
          return length * length;
        },
        to);
  }

 private:
  static constexpr std::int64_t chunk = 8192;
  /// Points lie anywhere in memory: each is prefetched this number of points before it is used.
  static constexpr std::int64_t prefetched = 16;

  /// to[k] = of(order[k]) for all k; `from` is the array to prefetch, null: none.
  template <class V, class Of>
  void each(const V* from, const Of& of, double* to) const {
    parallel_chunks(threads, points.count, chunk, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t k = begin; k < end; ++k) {
        if (from && k + prefetched < end) __builtin_prefetch(from + order[k + prefetched]);
        to[k] = of(order[k]);
      }
    });
  }
};

}  // namespace pergola::tree
