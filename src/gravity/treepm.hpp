#pragma once
#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/key.hpp"
#include "comm/communicator.hpp"
#include "gravity/mesh.hpp"
#include "gravity/solver.hpp"
#include "particles/box.hpp"
#include "particles/particle_source.hpp"
#include "tree/forest.hpp"
#include "tree/octree.hpp"
#include "tree/walk.hpp"

namespace pergola {

/// Gravity in a periodic box or in open space: the short range by a tree, the long range by a mesh
/// (physics/split.hpp): docs/treepm.md.
template <class Real>
std::unique_ptr<Solver<Real>> make_treepm(const SolverOptions& options, const Device& device);
template <class Real>
std::unique_ptr<Solver<Real>> make_treepm_cpu(const SolverOptions& options, const Device& device);
template <class Real>
std::unique_ptr<Solver<Real>> make_treepm_cuda(const SolverOptions& options, const Device& device);
/// For particles distributed over ranks; on GPUs in a periodic box.
template <class Real>
std::unique_ptr<Solver<Real>> make_distributed_treepm(const SolverOptions& options, const Device& device,
                                                      std::shared_ptr<Communicator> ranks);
template <class Real>
std::unique_ptr<Solver<Real>> make_distributed_treepm_cuda(const SolverOptions& options, const Device& device,
                                                           std::shared_ptr<Communicator> ranks);

// gravity/treepm_entry.cpp
const SolverInfo& treepm_info();
/// In open space every step finds its own box around the sources, so no long range serves several steps.
const SolverInfo& open_treepm_info();
struct SolverEntry;
SolverEntry treepm_entry();
std::optional<Conflict> treepm_conflict(const SolverOptions& options);

/// SolverEntry::choice of TreePM, and of a tree in a periodic box.
std::string treepm_choice(const SolverOptions& options, std::int64_t n);

/// The box of the tree and of TreePM, which has the keys of the mesh's box. If the boundary is left open and there is
/// no box, it is open space. find_tree_box() finds what is left open from the particles and the side that they state
/// (0: none): periodic if they state one and there is no external potential, which has no images.
Box& tree_box(SolverOptions& options);
Box find_tree_box(const SolverOptions& options, ParticleSource& particles, double stated_side);

/// Whether ranks on GPUs find the long range while they build and walk trees, which takes more memory. By default they
/// do if the memory suffices.
enum class Overlap { where_it_fits, always, never };
inline constexpr std::array<std::string_view, 3> overlap_names{"auto", "always", "never"};

/// Values that the user sets in [gravity.treepm]. 0 and none: chosen from the accuracy.
struct TreePmOptions {
  double split = 0, cut_off = 0;  // in cells
  int cells = 0;                  // along the longest side of the box, in open space of the mesh
  int assignment = 0;             // order of the cloud
  Overlap overlap = Overlap::where_it_fits;
  double root_particles = 0;  // TreePmParameters; for tests, no key sets it
};
TreePmOptions treepm_options(const SolverOptions& options);

/// The largest cut-off, in split lengths.
inline constexpr double most_split_lengths = 8;

/// Whether a periodic mesh may have this number of cells along a side: those of nearest_mesh_size(), and other even
/// numbers without large prime factors, because the mesh should have a multiple of a lattice's planes.
bool is_treepm_mesh_size(int cells);

/// The parameters of an evaluation.
struct TreePmParameters {
  std::array<int, 3> cells{};
  Assignment assignment = Assignment::pcs;
  double split = 0, cut_off = 0;  // r_s and r_c in units of length
  double softening = 0;           // ε of the long range, in units of length
  double of_images = 0;           // the effect of softening on images beyond the nearest; 0: small
  bool is_cramped = false;        // too few particles for the cut-off that the accuracy wants near a lattice
  tree::Opening opening;
  double root_particles = tree::root_particles;  // the fewest of a root of a GPU's forest in the mean
  Box mesh_box;                                  // that the cells fill; isolated in open space
  Box tree_box;  // that the tree's cube is about, with periodic images; in open space none of them is within the
                 // cut-off
  std::string text(const std::string& solver) const;  // for the user
};

/// The parameters for gravity.tree.accuracy and the values that the user set, for n particles in a periodic box, or in
/// open space in a cube that holds them. Throws Error(input) that names the key if the box or the softening does not
/// allow them.
TreePmParameters treepm_parameters(const SolverOptions& options, std::int64_t n, const Box& box);

/// A cube around particles in open space. It has one of few sides and places, so that it stays the same while the
/// particles move a little. It depends on their positions only.
Box steady_cube(const tree::Frame& about);

inline bool is_same_cube(const Box& a, const Box& b) {
  return a.side.x == b.side.x && a.corner.x == b.corner.x && a.corner.y == b.corner.y && a.corner.z == b.corner.z;
}
/// Whether a tree with this frame was built in the box of these parameters.
inline bool is_in_box(const tree::Frame& frame, const TreePmParameters& found) {
  return found.mesh_box.periodic() ||
         is_same_cube(found.tree_box, {frame.corner, {frame.side, frame.side, frame.side}, Boundary::periodic});
}

/// The law of the long range, and the options of the mesh that carries it.
inline SmoothedLaw treepm_law(const TreePmParameters& found) {
  return {physics::split_smoothing(found.split), found.softening};
}
SolverOptions treepm_mesh_options(const SolverOptions& options, const TreePmParameters& found);

/// The box and the law of the short range in the units of the tree, whose cube is that of the box.
template <class T>
tree::ShortRangeBox<T> short_range_box(const TreePmParameters& found, bool with_potential) {
  const Box& box = found.tree_box;
  const double unit = 1 / std::max({box.side.x, box.side.y, box.side.z}), cut_off = found.cut_off * unit;
  return {{unit * box.side, cut_off},
          physics::make_split_law<T>(found.split * unit, cut_off, found.opening.order, found.softening * unit),
          with_potential};
}

/// The forest of a GPU's tree for n particles (tree/forest.hpp).
inline tree::Forest treepm_forest(const TreePmParameters& found, std::int64_t n, const tree::TreeSoftening& softening) {
  const Vec3<double>& side = found.tree_box.side;
  const double longest = std::max({side.x, side.y, side.z});
  return tree::find_forest({(1 / longest) * side, found.cut_off / longest}, n, softening, longest,
                           found.root_particles);
}

/// From accelerations to those in the units of a tree with this frame.
inline double per_acceleration(const SolverOptions& options, const tree::Frame& frame) {
  const double unit = options.gravitational_constant * frame.mass / (frame.side * frame.side);
  return unit > 0 ? 1 / unit : 0;
}

/// From the mesh's potential to that of the long range. The mesh's includes each particle's own potential, which is
/// taken away, and in a periodic box it has a mean of zero. With the mean of the short range taken away, the sum has
/// that too.
struct LongRangePotential {
  double own = 0, mean = 0;
  PERGOLA_HD double of(double on_mesh, double mass) const { return on_mesh + own * mass + mean; }
};
LongRangePotential long_range_potential(const SolverOptions& options, const TreePmParameters& found, double total_mass);

}  // namespace pergola
