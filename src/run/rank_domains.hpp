#pragma once
#include <array>
#include <cstdint>
#include <vector>

#include "base/host_device.hpp"
#include "base/vec.hpp"
#include "mesh/coupling/row_domains.hpp"
#include "particles/box.hpp"
#include "particles/particles.hpp"
#include "tree/forest.hpp"

namespace pergola {

/// Particles of a sample in the order of the input, in units of a periodic box: 0 ≤ x < 1. Who would keep them and who
/// would work on them can be counted for any number of ranks.
struct PERGOLA_API SampledPlaces {
  std::vector<Vec3<double>> at;
  std::vector<double> kept;  // where in the order of the input, from 0 to 1
  bool in_order = false;     // along z, as those of a lattice with z slowest

  /// `side`: particles along an axis of the lattice that they were on at first, z slowest, 0: of none. That of the run,
  /// `run_side`, is much finer: particles are set anywhere in their cells of it, with the displacements that they have,
  /// which stay the same in a box that has `grown`, with the number of particles, by this factor.
  static SampledPlaces of(const Particles& particles, const Box& box, std::int64_t side = 0, double run_side = 1,
                          double grown = 1);
  /// The same where they live with so many ranks.
  SampledPlaces living_with(const std::vector<int>& rank, int ranks) const;
};

/// What particles go from the ranks that keep them to ranks that work on them, per particle.
struct RoutedCopies {
  double copies = 0;     // of a particle, wherever they are made
  double leaving = 0;    // of these, on other ranks than the keeper's
  double off_node = 0;   // the share of those that leave that go to another node
  double partners = 0;   // ranks that a rank sends to
  double imbalance = 1;  // the most copies of a rank over the mean, with the sample's own noise taken off
  /// Planes of a mesh that a rank works on where particles go by rows (mesh/coupling/row_domains.hpp), in the mean, and
  /// how many of these are in the slabs of others.
  double planes = 0, planes_of_others = 0;
};

/// To the rank that has the plane in which a cloud of `order` cells begins, where ranks share out `planes` of a mesh.
PERGOLA_API RoutedCopies count_slabs(const SampledPlaces& sample, int ranks, int ranks_per_node, int planes, int order);
/// The same, or by rows where a mesh of so many cells has so many particles go there.
PERGOLA_API RoutedCopies count_rows(const SampledPlaces& sample, int ranks, int ranks_per_node,
                                    const std::array<int, 3>& cells, int order, double particles,
                                    const RowCosts& costs);

/// To the rank that has the root of a forest, and from there as guests to those that have roots around it.
struct ForestCopies {
  RoutedCopies own, guests;
  double trees_imbalance = 1;  // as RoutedCopies::imbalance, of own ones and guests together
  std::vector<int> worker;     // of each particle of the sample
};
PERGOLA_API ForestCopies count_forest(const SampledPlaces& sample, int ranks, int ranks_per_node,
                                      const tree::Forest& forest);

}  // namespace pergola
