#pragma once
#include <algorithm>
#include <cstdint>
#include <vector>

#include "mesh/coupling/exchange_loops.hpp"

namespace pergola::exchange {

/// Numbers (of particles, of groups) listed by slab, within a slab in rising order. Filled in two passes over fixed
/// chunks, counting and placing, so that the list does not depend on the number of threads.
struct SlabList {
  std::vector<std::uint32_t> numbers;
  std::vector<std::uint32_t> first;   // of each slab, and the end
  std::vector<std::uint32_t> places;  // by chunk and slab: first how many, then where the next one goes

  void start(int slabs, std::int64_t chunks);
  /// The places of a chunk, by slab.
  std::uint32_t* of_chunk(std::int64_t chunk) {
    return places.data() + static_cast<std::size_t>(chunk) * (first.size() - 1);
  }
  void counts_to_places();
  std::int64_t begin(int slab) const { return first[static_cast<std::size_t>(slab)]; }
  std::int64_t size(int slab) const { return begin(slab + 1) - begin(slab); }
};

/// Some of the particles of a slab.
struct SlabPart {
  int slab = 0;
  const std::uint32_t *groups = nullptr, *singles = nullptr;
  std::int64_t group_count = 0, single_count = 0;
};

/// The particles of each slab, `slab_layers` layers of the grid. A group is listed as a whole if its layers begin in
/// the slab and end at most `spare_layers` beyond it, which is the rule when particles are in cell order and have not
/// moved far; else its particles are listed one by one. `in_runs`: lists are by layer and bundle of rows, for particles
/// that are several runs in cell order: each run would otherwise go over the memory of the whole slab. In three
/// dimensions.
template <class Real>
class SlabLists {
 public:
  static constexpr int spare_layers = 4;

  SlabLists(const Walk<Real>& walk, int slab_layers, bool in_runs = false)
      : layers_(walk.layers),
        slab_layers_(slab_layers),
        slabs_((layers_ + slab_layers - 1) / slab_layers),
        list_layers_(in_runs ? 1 : slab_layers),
        bundles_(in_runs ? (walk.rows + bundle_rows - 1) / bundle_rows : 1) {}
  int slabs() const { return slabs_; }
  static std::int64_t bytes(std::int64_t particles);

  void fill(int threads, const Walk<Real>& walk, const Loops<Real>& loops, const MeshParticles<Real>& particles);
  /// All slabs' particles. A slab that holds more than 1/n of all has several parts; n are added in this way at most.
  std::vector<SlabPart> parts(std::int64_t n) const;
  std::int64_t outside() const { return outside_; }

 private:
  static constexpr int one_by_one = -2;  // instead of the slab of a group
  static constexpr int bundle_rows = 32;
  /// The list of a group, by its layers and its first particle.
  int list_of(LayerRange range, bool complete, const Walk<Real>& walk, const Real* y) const;
  int list_at(int layer, const Walk<Real>& walk, const Real* y) const;
  /// The first list of a slab; of one too many the end.
  int first_list(int slab) const {
    return std::min(slab * slab_layers_, layers_ + list_layers_ - 1) / list_layers_ * bundles_;
  }

  int layers_, slab_layers_, slabs_;
  int list_layers_, bundles_;  // a list has this number of layers, and this part of their rows
  SlabList groups_, singles_;
  std::vector<int> group_list_;  // or off_mesh or one_by_one
  std::int64_t outside_ = 0;
};

}  // namespace pergola::exchange
