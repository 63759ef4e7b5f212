#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <iterator>

#include "base/error.hpp"
#include "base/text.hpp"
#include "gravity/mesh.hpp"
#include "gravity/tree.hpp"
#include "gravity/treepm.hpp"
#include "physics/green.hpp"
#include "physics/pair_laws.hpp"

namespace pergola {

namespace {

/// Parameters for accuracies from `above` down to `below`, interpolated in the logarithm; docs/treepm.md has the
/// measurements.
struct Calibration {
  double above, below;
  Assignment assignment;
  double split[2];    // r_s in cells
  double cut_off[2];  // r_c in units of r_s
  double spacing[2];  // the mean distance of particles in cells
  double tree[2];     // accuracy of the tree's opening over that of the whole
  int order;          // of expansions; 0: the tree's for its accuracy
};
/// Near a lattice of particles, which is where a universe begins, cut-off radii on a shell of neighbours or just short
/// of one err most. Down to 1e-3 the radius goes from one place between two shells to the next: 1.84, 2.33, 2.60
/// and 3.33 spacings.
constexpr Calibration in_a_box[] = {
    {1e-2, 5e-3, Assignment::pcs, {0.8, 0.8}, {4.6, 4.6}, {2, 2}, {0.5, 0.467}, 4},
    {5e-3, 4e-3, Assignment::pcs, {0.924, 0.924}, {5.045, 5.045}, {2, 2}, {0.467, 0.458}, 4},
    {4e-3, 1.35e-3, Assignment::pcs, {0.975, 0.975}, {5.33, 5.33}, {2, 2}, {0.458, 0.412}, 4},
    {1.35e-3, 1e-3, Assignment::pcs, {1.15, 1.15}, {5.8, 5.8}, {2, 2}, {0.412, 0.4}, 4},
    {1e-3, 1e-5, Assignment::pcs, {1.15, 3.8}, {5.8, 8.0}, {2, 2}, {0.4, 0.4}, 0}};
/// In open space forces do not cancel, transforms are twice as long along each axis, and most particles are near the
/// middle.
constexpr Calibration in_the_open[] = {
    {1e-2, 1e-3, Assignment::pcs, {0.95, 1.15}, {4.8, 5.4}, {0.75, 0.75}, {0.5, 0.4}, 0},
    {1e-3, 1e-5, Assignment::pcs, {1.15, 3.4}, {5.4, 7.4}, {0.75, 0.75}, {0.4, 0.4}, 0}};

template <std::size_t count>
const Calibration& calibration(const Calibration (&rows)[count], double accuracy) {
  std::size_t k = 0;
  while (k + 1 < count && accuracy < rows[k].below) ++k;
  return rows[k];
}

/// Plummer's softening has no end: at a distance r it takes 3/2 (ε/r)² of the force away, and from the cut-off on that
/// is left out. It is to stay this part of the accuracy.
constexpr double softening_part = 0.5;

double between(const double (&value)[2], double part) {
  return std::exp(std::log(value[0]) + part * (std::log(value[1]) - std::log(value[0])));
}

/// In a box the tolerance decides the errors of the worst particles and hardly the time, the angles the time and hardly
/// these errors (docs/results/treepm.md): the angles and the tolerance of the opening over those of the tree in open
/// space, by accuracy.
struct BoxOpening {
  double accuracy, angle, target_angle, tolerance;
};
constexpr BoxOpening box_openings[] = {
    {1e-2, 1.10, 1.17, 0.25}, {4e-3, 1.13, 1.22, 0.25}, {1e-3, 1.14, 1.28, 0.44}, {1e-4, 1, 1, 1}};

void widen_opening(double accuracy, tree::Opening& opening) {
  if (!(opening.tolerance > 0)) return;  // set by hand: angles alone
  const BoxOpening* below = std::begin(box_openings) + 1;
  while (below + 1 < std::end(box_openings) && accuracy < below->accuracy) ++below;
  const BoxOpening* const above = below - 1;
  const double part =
      std::clamp(std::log(above->accuracy / accuracy) / std::log(above->accuracy / below->accuracy), 0.0, 1.0);
  opening.angle *= between({above->angle, below->angle}, part);
  opening.target_angle *= between({above->target_angle, below->target_angle}, part);
  opening.tolerance *= between({above->tolerance, below->tolerance}, part);
}

/// The next number of cells that is allowed.
int next_mesh_size(int n) {
  do ++n;
  while (nearest_mesh_size(n) != n);
  return n;
}

/// The one before, or 2.
int previous_mesh_size(int n) {
  do --n;
  while (n > 2 && nearest_mesh_size(n) != n);
  return n;
}

/// The least cut-off that the softening allows.
double least_cut_off(const SolverOptions& options) {
  const auto& softening = options.softening;
  const double longest = *std::max_element(softening.epsilon.begin(), softening.epsilon.end());
  if (const double support = physics::support(softening.kernel); support > 0) return support * longest;
  return longest * std::sqrt(1.5 / (softening_part * options.tree.accuracy));
}

}  // namespace

namespace {

/// Even cells of about the same width on all axes of a periodic box; returns the widest. They are about `cell` wide,
/// and where their number is not given the cut-off, in cells, is at least `least` long if half the box is.
double divide_box(const Box& box, double cell, double cut_off, double least, bool given, TreePmParameters& found) {
  const double shortest = std::min({box.side.x, box.side.y, box.side.z});
  const double sides[3] = {box.side.x, box.side.y, box.side.z};
  double widest = 0;
  for (std::size_t a = 0; a < 3; ++a) {
    int cells = nearest_mesh_size(static_cast<int>(std::lround(sides[a] / cell)));
    while (!given && cells > 2 && cut_off * (sides[a] / cells) < least) cells = previous_mesh_size(cells);
    while (!given && sides[a] / cells > shortest / (2 * cut_off)) cells = next_mesh_size(cells);
    found.cells[a] = cells;
    widest = std::max(widest, sides[a] / cells);
  }
  found.mesh_box = found.tree_box = box;
  return widest;
}

Box about_center(const Box& cube, double side, Boundary boundary) {
  const double wider = 0.5 * (side - cube.side.x);
  return {{cube.corner.x - wider, cube.corner.y - wider, cube.corner.z - wider}, {side, side, side}, boundary};
}

/// Cells of this width about a cube in open space, with those that the mesh keeps free.
void surround_cube(const Box& cube, double cell, double cut_off, TreePmParameters& found) {
  const double inside = std::ceil(cube.side.x / cell * (1 - 1e-9));
  int cells = static_cast<int>(inside) + 2 * physics::rounded_margin;
  if (nearest_mesh_size(cells) != cells) cells = next_mesh_size(cells);
  found.cells = {cells, cells, cells};
  found.mesh_box = about_center(cube, cells * cell, Boundary::isolated);
  found.tree_box = about_center(cube, 2 * (cube.side.x + cut_off * cell), Boundary::periodic);
}

}  // namespace

TreePmParameters treepm_parameters(const SolverOptions& options, std::int64_t n, const Box& box) {
  const TreePmOptions given = treepm_options(options);
  const double accuracy = options.tree.accuracy;
  const Calibration& row = box.periodic() ? calibration(in_a_box, accuracy) : calibration(in_the_open, accuracy);
  const double part = std::log(row.above / accuracy) / std::log(row.above / row.below);
  const double split = given.split > 0 ? given.split : between(row.split, part);
  const double cut_off = given.cut_off > 0 ? given.cut_off : split * between(row.cut_off, part);
  const double shortest = std::min({box.side.x, box.side.y, box.side.z});
  const double longest = std::max({box.side.x, box.side.y, box.side.z});

  const double spacing = std::cbrt(box.volume() / static_cast<double>(std::max<std::int64_t>(n, 1)));
  double cell = spacing / between(row.spacing, part);
  const double least = least_cut_off(options);
  cell = std::max(cell, least / cut_off);
  if (box.periodic()) cell = std::min(cell, shortest / (2 * cut_off) * (1 - 1e-12));
  if (given.cells > 0) cell = longest / (given.cells - (box.periodic() ? 0 : 2 * physics::rounded_margin));

  TreePmParameters found;
  double widest = cell;
  if (box.periodic())
    widest = divide_box(box, cell, cut_off, least, given.cells > 0, found);
  else
    surround_cube(box, cell, cut_off, found);
  found.assignment = given.assignment > 0 ? static_cast<Assignment>(given.assignment) : row.assignment;
  found.split = split * widest;
  found.cut_off = cut_off * widest;
  if (box.periodic() && 2 * found.cut_off > shortest)
    throw Error(
        ErrorKind::input,
        fmt::format("gravity.treepm.cut_off: expected a cut-off radius of at most half the shortest side of the "
                    "box, found {} and a side of {}; set more cells or a smaller cut_off",
                    to_text(found.cut_off), to_text(shortest)));
  if (found.cut_off < least * (1 - 1e-12))
    throw Error(ErrorKind::input,
                fmt::format("gravity.softening: expected lengths for which the cut-off radius, {}, is long enough for "
                            "gravity.tree.accuracy = {}: at most {} of what is set; set smaller lengths, or "
                            "softening_kernel = \"spline\", or fewer gravity.treepm.cells",
                            to_text(found.cut_off), to_text(accuracy), to_text(found.cut_off / least)));
  TreeOptions tree = options.tree;
  tree.accuracy = std::clamp(accuracy * between(row.tree, part), 1e-5, 1e-2);
  if (tree.order == 0) tree.order = row.order;
  found.opening = tree_opening(tree, options.softening);
  if (box.periodic()) widen_opening(accuracy, found.opening);
  return found;
}

SolverOptions treepm_mesh_options(const SolverOptions& options, const TreePmParameters& found) {
  SolverOptions of_mesh = options;
  of_mesh.mesh.box = found.mesh_box;
  of_mesh.mesh.cells = found.cells;
  of_mesh.mesh.assignment = found.assignment;
  of_mesh.mesh.poisson = Poisson::fft;
  of_mesh.mesh.gradient = Gradient::spectral;
  of_mesh.mesh.laplacian = Laplacian::spectral;
  of_mesh.mesh.deconvolve = true;
  return of_mesh;
}

LongRangePotential long_range_potential(const SolverOptions& options, const TreePmParameters& found,
                                        double total_mass) {
  const double constant = options.gravitational_constant;
  const Box& box = found.mesh_box;
  const double mean = box.periodic() ? physics::split_mean_potential(found.split, box.volume()) : 0;
  return {constant * physics::split_self_potential(found.split), constant * total_mass * mean};
}

Box steady_cube(const tree::Frame& about) {
  // Sides are powers of the eighth root of two, places multiples of a part of them: 31 parts of 32 are sure to be of
  // use.
  const double least = about.side * (1 + 1.0 / 31) * (1 + 1e-6);
  const double side = std::exp2(std::ceil(8 * std::log2(least)) / 8), unit = side / 32;
  const auto corner = [&](double low) { return unit * std::round((low + 0.5 * (about.side - side)) / unit); };
  return {
      {corner(about.corner.x), corner(about.corner.y), corner(about.corner.z)}, {side, side, side}, Boundary::isolated};
}

std::string TreePmParameters::text(const std::string& solver) const {
  const Box& box = mesh_box;
  const double cell = std::max({box.side.x / cells[0], box.side.y / cells[1], box.side.z / cells[2]});
  return fmt::format("{}: {}, {} x {} x {} cells, {} assignment, split {:.3g} and cut-off {:.3g} cells, order {}",
                     solver, box.periodic() ? "periodic box" : "open space", cells[0], cells[1], cells[2],
                     assignment_names[static_cast<std::size_t>(assignment) - 1], split / cell, cut_off / cell,
                     opening.order);
}

}  // namespace pergola
