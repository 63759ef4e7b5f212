// Split, cut-off, cells and opening of TreePM for an accuracy: calibrated tables, and what a box has room for.
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>

#include "base/error.hpp"
#include "base/text.hpp"
#include "gravity/mesh.hpp"
#include "gravity/tree.hpp"
#include "gravity/treepm.hpp"
#include "physics/green.hpp"
#include "physics/pair.hpp"
#include "physics/split.hpp"

namespace pergola {

namespace {

/// Parameters for accuracies from `above` down to `below`, interpolated in the logarithm; docs/treepm.md has the
/// measurements.
struct TreePmCalibration {
  double above, below;
  Assignment assignment;
  double split[2];    // r_s in cells
  double cut_off[2];  // r_c in units of r_s
  double spacing[2];  // the mean distance of particles in cells
  double tree[2];     // accuracy of the tree's opening over that of the whole
  int order;          // of expansions; 0: the tree's for its accuracy
};
/// Near a lattice of particles, which is where a universe begins, cut-off radii on a shell of neighbours or just short
/// of one err most. Down to 1e-4 the radius goes from one place between two shells to the next, each with the split
/// length that errs least there: 1.84, 1.90, 2.15, 2.37, 2.62, … spacings.
constexpr TreePmCalibration in_a_box[] = {
    {1e-2, 7.5e-3, Assignment::pcs, {0.8, 0.8}, {4.6, 4.6}, {2, 2}, {0.5, 0.486}, 4},
    {7.5e-3, 6.25e-3, Assignment::pcs, {0.817, 0.817}, {4.65, 4.65}, {2, 2}, {0.486, 0.478}, 4},
    {6.25e-3, 5e-3, Assignment::pcs, {0.85, 0.85}, {5.06, 5.06}, {2, 2}, {0.478, 0.468}, 4},
    {5e-3, 3.15e-3, Assignment::pcs, {0.903, 0.903}, {5.25, 5.25}, {2, 2}, {0.468, 0.447}, 4},
    {3.15e-3, 1.65e-3, Assignment::pcs, {0.985, 0.985}, {5.32, 5.32}, {2, 2}, {0.447, 0.42}, 4},
    {1.65e-3, 1e-3, Assignment::pcs, {1.07, 1.07}, {5.74, 5.74}, {2, 2}, {0.42, 0.4}, 4},
    {1e-3, 7.5e-4, Assignment::pcs, {1.13, 1.13}, {5.77, 5.77}, {2, 2}, {0.4, 0.4}, 0},
    {7.5e-4, 6.4e-4, Assignment::pcs, {1.18, 1.18}, {5.76, 5.76}, {2, 2}, {0.4, 0.4}, 0},
    {6.4e-4, 5.15e-4, Assignment::pcs, {1.215, 1.215}, {5.86, 5.86}, {2, 2}, {0.4, 0.4}, 0},
    {5.15e-4, 3.65e-4, Assignment::pcs, {1.31, 1.31}, {5.83, 5.83}, {2, 2}, {0.4, 0.4}, 0},
    {3.65e-4, 2.4e-4, Assignment::pcs, {1.425, 1.425}, {6.04, 6.04}, {2, 2}, {0.4, 0.4}, 0},
    {2.4e-4, 1.63e-4, Assignment::pcs, {1.535, 1.535}, {6.12, 6.12}, {2, 2}, {0.4, 0.4}, 0},
    {1.63e-4, 1.1e-4, Assignment::pcs, {1.664, 1.664}, {6.25, 6.25}, {2, 2}, {0.4, 0.4}, 0},
    {1.1e-4, 1e-4, Assignment::pcs, {1.745, 1.745}, {6.33, 6.33}, {2, 2}, {0.4, 0.4}, 0},
    {1e-4, 1e-5, Assignment::pcs, {1.745, 3.8}, {6.33, 8.0}, {2, 2}, {0.4, 0.4}, 0}};
/// In open space forces do not cancel, transforms are twice as long along each axis, and most particles are near the
/// middle.
constexpr TreePmCalibration in_the_open[] = {
    {1e-2, 1e-3, Assignment::pcs, {0.95, 1.15}, {4.8, 5.4}, {0.75, 0.75}, {0.5, 0.4}, 0},
    {1e-3, 1e-5, Assignment::pcs, {1.15, 3.4}, {5.4, 7.4}, {0.75, 0.75}, {0.4, 0.4}, 0}};

template <std::size_t count>
const TreePmCalibration& calibration(const TreePmCalibration (&treepm_rows)[count], double accuracy) {
  std::size_t k = 0;
  while (k + 1 < count && accuracy < treepm_rows[k].below) ++k;
  return treepm_rows[k];
}

/// Plummer's softening has no end: at a distance r it takes 3/2 (ε/r)² of the force away. The mesh has that for one
/// length; what other lengths differ by is left out from the cut-off on. It is to stay this part of the accuracy; near
/// a lattice, where forces cancel, it counts three times.
constexpr double softening_part = 0.25;
/// Of cells that are a multiple of a lattice's; FFTW and cuFFT are fast up to far larger ones.
constexpr int largest_lattice_prime = 31;
/// The mesh softens all images. Where only the nearest is softened, forces near a lattice differ by this times (2ε/L)²,
/// as measured, L the shortest side: a particle that crosses the middle of the box jumps in such a law.
constexpr double image_softening = 7;
/// Two lattices in one box have the parameters of an accuracy that is finer by this.
constexpr double two_lattices_part = 1.7;
/// Of the shortest side, for a cut-off that ends where the box does, but not on a plane of a lattice.
constexpr double small_box_part = 0.485;
/// By so much less than the cut-off the split length grows there.
constexpr double small_box_split = 0.92;
/// Fewer particles along a side break the promise near a lattice from this accuracy on, as measured: up to 2.2 times.
constexpr int fewest_lattice_planes = 9;
constexpr double cramped_accuracy = 2.25e-4;

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

/// The lengths of softened pairs, up to the scale factor 1. A length of 0 beside others is that of species that are not
/// there.
struct SofteningRange {
  double shortest = 0, longest = 0;
};
SofteningRange softening_range(const Softening& softening) {
  SofteningRange range;
  for (const auto& lengths : {softening.epsilon, softening.at(1).epsilon})
    for (const double epsilon : lengths) {
      if (!(epsilon > 0)) continue;
      range.shortest = range.longest > 0 ? std::min(range.shortest, epsilon) : epsilon;
      range.longest = std::max(range.longest, epsilon);
    }
  return range;
}

/// Finds split length, cut-off and softening of the long range. Split length and cut-off become longer, in cells of the
/// same width, if the softening requires it and the user has not set them. Returns the least cut-off.
double find_ranges(const SolverOptions& options, const TreePmOptions& given, TreePmParameters& found) {
  const SofteningRange range = softening_range(options.softening);
  double least = range.longest * physics::support(options.softening.kernel);
  if (!(least > 0)) {
    const double most = range.longest * range.longest, wanted = 0.5 * (range.shortest * range.shortest + most);
    const double longer = std::sqrt(wanted) / physics::longest_split_softening / found.split;
    if (longer > 1 && !(given.split > 0) && !(given.cut_off > 0)) found.split *= longer, found.cut_off *= longer;
    found.softening = std::min(std::sqrt(wanted), physics::longest_split_softening * found.split);
    least = std::sqrt(1.5 * (most - std::min(most, found.softening * found.softening)) /
                      (softening_part * options.tree.accuracy));
  }
  if (found.cut_off >= least || given.cut_off > 0) return least;
  if (!(given.split > 0)) found.split = std::max(found.split, least / most_split_lengths);
  found.cut_off = std::min(least, most_split_lengths * found.split);
  return least;
}

}  // namespace

bool is_treepm_mesh_size(int cells) {
  if (cells < 8 || cells % 2 != 0) return false;
  for (int prime = 2; prime <= largest_lattice_prime; ++prime)
    while (cells % prime == 0) cells /= prime;
  return cells == 1;
}

namespace {

/// The distance of planes of a cubic lattice that fills the box if n particles can be one, or two of them, as gas and
/// dark matter begin, and planes along its sides; else their mean distance, and no planes.
struct Lattice {
  double spacing = 0;
  std::array<int, 3> planes{};
  int lattices = 0;
};
Lattice lattice_of(const Box& box, std::int64_t n) {
  const double sides[3] = {box.side.x, box.side.y, box.side.z};
  const auto spacing = [&](std::int64_t points) { return std::cbrt(box.volume() / static_cast<double>(points)); };
  for (const int lattices : {1, 2}) {
    Lattice found{spacing(std::max<std::int64_t>(n / lattices, 1)), {}, lattices};
    std::int64_t points = lattices;
    for (std::size_t a = 0; a < 3; ++a) {
      const double along = sides[a] / found.spacing;
      found.planes[a] = static_cast<int>(std::lround(std::min(along, 1e6)));
      points *= std::abs(along - found.planes[a]) < 1e-6 * along ? found.planes[a] : 0;
    }
    if (points == n && n > 0 && box.periodic()) return found;
  }
  return {spacing(std::max<std::int64_t>(n, 1)), {}, 0};
}

/// Cells along a side for cells of this width at most: a multiple of the particles of a lattice, else their harmonics
/// would be seen as long waves; 0: there is none.
int cells_of_lattice(double side, double cell, int planes) {
  if (planes == 0) return 0;
  int times = static_cast<int>(std::ceil(side / cell / planes * (1 - 1e-9)));
  for (const int last = 2 * times + 8; times <= last; ++times)
    if (is_treepm_mesh_size(times * planes)) return times * planes;
  return 0;
}

/// Even cells of about the same width on all axes of a periodic box; returns the widest. They are about `cell` wide,
/// and where their number is not given the cut-off, in cells, is within half the box.
double divide_box(const Box& box, double cell, double cut_off, bool given, const Lattice& lattice,
                  TreePmParameters& found) {
  const double shortest = std::min({box.side.x, box.side.y, box.side.z});
  const double sides[3] = {box.side.x, box.side.y, box.side.z};
  double widest = 0;
  for (std::size_t a = 0; a < 3; ++a) {
    int cells = given ? 0 : cells_of_lattice(sides[a], cell, lattice.planes[a]);
    if (const int about = static_cast<int>(std::lround(sides[a] / cell)); cells == 0)
      cells = given && is_treepm_mesh_size(about) ? about : nearest_mesh_size(about);
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
void surround_cube(const Box& cube, double cell, TreePmParameters& found) {
  const double inside = std::ceil(cube.side.x / cell * (1 - 1e-9));
  int cells = static_cast<int>(inside) + 2 * physics::rounded_margin;
  if (nearest_mesh_size(cells) != cells) cells = next_mesh_size(cells);
  found.cells = {cells, cells, cells};
  found.mesh_box = about_center(cube, cells * cell, Boundary::isolated);
}

}  // namespace

TreePmParameters treepm_parameters(const SolverOptions& options, std::int64_t n, const Box& box) {
  const TreePmOptions given = treepm_options(options);
  const double accuracy = options.tree.accuracy;
  const Lattice lattice = lattice_of(box, n);
  // Two lattices have other shells of neighbours than one.
  const double like = lattice.lattices == 2 ? std::max(accuracy / two_lattices_part, 1e-5) : accuracy;
  const TreePmCalibration& row = box.periodic() ? calibration(in_a_box, like) : calibration(in_the_open, like);
  const double part = std::log(row.above / like) / std::log(row.above / row.below);
  const double split = given.split > 0 ? given.split : between(row.split, part);
  const double cut_off = given.cut_off > 0 ? given.cut_off : split * between(row.cut_off, part);
  const double shortest = std::min({box.side.x, box.side.y, box.side.z});
  const double longest = std::max({box.side.x, box.side.y, box.side.z});

  const double wanted = lattice.spacing / between(row.spacing, part);
  // In a small box the cut-off is that of finer cells, or what the box has room for.
  const double finest = shortest / (2 * cut_off) * (1 - 1e-12);
  const bool small = box.periodic() && finest < wanted;
  double cell = small ? finest : wanted;
  if (given.cells > 0) cell = longest / (given.cells - (box.periodic() ? 0 : 2 * physics::rounded_margin));

  TreePmParameters found;
  if (given.root_particles > 0) found.root_particles = given.root_particles;
  double widest = cell;
  if (box.periodic())
    widest = divide_box(box, cell, cut_off, given.cells > 0, lattice, found);
  else
    surround_cube(box, cell, found);
  found.assignment = given.assignment > 0 ? static_cast<Assignment>(given.assignment) : row.assignment;
  found.split = split * widest;
  found.cut_off = cut_off * widest;
  if (small && given.cells == 0 && !(given.split > 0) && !(given.cut_off > 0)) {
    const double longer = std::min(cut_off * wanted, small_box_part * shortest) / found.cut_off;
    if (longer > 1) found.split *= std::max(1.0, small_box_split * longer), found.cut_off *= longer;
  }
  const double unsoftened = found.cut_off, least = find_ranges(options, given, found);
  if (!box.periodic()) found.tree_box = about_center(box, 2 * (box.side.x + found.cut_off), Boundary::periodic);
  if (box.periodic() && 2 * found.cut_off > shortest && found.cut_off > unsoftened)
    throw Error(
        ErrorKind::input,
        fmt::format("gravity.softening: expected lengths for which a cut-off radius of at most half the shortest "
                    "side of the box is long enough, found one of {} and a side of {}; set smaller lengths, or "
                    "one for all, or softening_kernel = \"spline\"",
                    to_text(found.cut_off), to_text(shortest)));
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
  if (const double ratio = 2 * found.softening / shortest;
      box.periodic() && image_softening * ratio * ratio > accuracy / 3)
    found.of_images = image_softening * ratio * ratio;
  found.is_cramped =
      box.periodic() && accuracy <= cramped_accuracy && fewest_lattice_planes * lattice.spacing > shortest;
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
  double mean = 0;
  if (box.periodic())
    mean = physics::split_mean_potential(found.split, box.volume()) +
           physics::softened_mean_potential(found.split, found.softening, box.side);
  return {constant * physics::split_self_potential(found.split, found.softening), constant * total_mass * mean};
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
  std::string text = fmt::format(
      "{}: {}, {} x {} x {} cells, {} assignment, split {:.3g} and cut-off {:.3g} cells, order {}", solver,
      box.periodic() ? "periodic box" : "open space", cells[0], cells[1], cells[2],
      assignment_names[static_cast<std::size_t>(assignment) - 1], split / cell, cut_off / cell, opening.order);
  if (of_images > 0)
    text += fmt::format(
        "; Plummer softening this long for the box acts on all images of a particle, so that forces near "
        "a lattice differ by {:.1g} from those with the nearest image softened only, which "
        "gravity.tree.accuracy does not cover (softening_kernel = \"spline\" has no such difference)",
        of_images);
  if (is_cramped)
    text += fmt::format(
        "; with fewer than {} particles along a side the box has no room for the cut-off that gravity.tree.accuracy "
        "asks "
        "for: near a lattice errors may be twice as large",
        fewest_lattice_planes);
  return text;
}

}  // namespace pergola
