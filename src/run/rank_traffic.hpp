#pragma once
#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "base/host_device.hpp"
#include "mesh/options.hpp"
#include "run/rank_domains.hpp"

namespace pergola {

/// What a rank exchanges with others in one part of a step: the rank that has most.
struct TrafficPart {
  std::string name;
  double bytes = 0;  // the larger of what it sends and what it gets
  double messages = 0;
  double off_node = 1;  // the share of both that goes to other nodes
  double seconds = 0;   // by a network
};

/// What ranks have of a network.
struct Network {
  double bytes_per_second = 12.5e9;       // of a rank, each way, to other nodes: 100 Gbit/s
  double latency = 2e-6;                  // seconds of a message
  int ranks_per_node = 1;                 // one for each GPU
  double node_bytes_per_second = 12.5e9;  // of a rank, each way, to ranks of its node
  /// Between a GPU and the page-locked memory that its messages stand in, either way; 0: messages stand where they are
  /// worked on.
  double staging_bytes_per_second = 0;

  /// Nothing overlaps: a message is written, travels, and is read.
  PERGOLA_API double seconds(const TrafficPart& part) const;
};

/// A mesh that ranks share out by planes, as its traffic knows it.
struct SlabMesh {
  std::array<int, 3> cells{};
  Assignment assignment = Assignment::cic;
  Gradient gradient = Gradient::two_point;
  int value_bytes = 4;       // of a coordinate, a force, a value of the mesh
  bool on_gpus = false;      // a spectral force is made from the modes of the potential
  bool equal_masses = true;  // then they are not sent
  bool isolated = false;     // planes are padded along x and y, and none is around the first and the last
  double groups = 0;         // of trees for each particle, whose places ask for forces first
};
/// How many there are where particles are spread about evenly.
PERGOLA_API double groups_of_a_particle(const tree::Forest& forest, double particles);

/// Of an evaluation in slabs: particles there, sums beyond a slab, transpositions, planes around it, forces back.
/// `particles`: of all ranks.
PERGOLA_API std::vector<TrafficPart> slab_traffic(const SlabMesh& mesh, double particles, int ranks, int ranks_per_node,
                                                  const RoutedCopies& routed);

/// Of the short range by a forest whose roots ranks share out, on GPUs: particles and guests there, forces back. Where
/// enough steps follow one another, `together` of them, particles live with their roots (time/work_places.hpp), and go
/// there and home once.
PERGOLA_API std::vector<TrafficPart> forest_traffic(const tree::Forest& forest, int value_bytes, double particles,
                                                    int ranks, const ForestCopies& routed, double together,
                                                    bool equal_masses = true);
/// Whether they do.
PERGOLA_API bool live_with_work(double together);

/// A plasma whose box ranks share out by layers, as its traffic knows it.
struct SlabPlasma {
  std::array<int, 3> cells{};  // 2D: one along z
  int dimensions = 2;
  int around = 1;  // layers around a slab that its clouds reach
  int species = 1;
  int value_bytes = 4;       // of a value of the field
  bool on_gpus = false;      // no potential, and components of the field come back with the layers around
  bool whole_field = false;  // every rank gets the density of all, and solves for all
};

/// Of a step: charge beyond a slab, and the field; not the particles that leave it. `share`: of the layers, a rank's.
PERGOLA_API std::vector<TrafficPart> plasma_traffic(const SlabPlasma& plasma, double share, int ranks,
                                                    int ranks_per_node);

/// The share of a rank's partners that are on other nodes where it talks to all ranks; and that of the ranks next to
/// it, for the rank that has most.
PERGOLA_API double off_node_of_all(int ranks, int ranks_per_node);
PERGOLA_API double off_node_of_next(int ranks, int ranks_per_node);

/// Bytes of all parts together, and messages.
PERGOLA_API TrafficPart sum_of(const std::vector<TrafficPart>& parts);

}  // namespace pergola
