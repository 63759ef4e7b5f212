#pragma once
#include <cstdint>
#include <optional>
#include <vector>

#include "base/vec.hpp"
#include "comm/communicator.hpp"
#include "particles/particles.hpp"

// Maps of surface density. Each particle becomes a Gaussian as wide as the distance of its neighbours: a map of few
// particles is smooth, a map of many is sharp.
// Steps: masses to the grid in fixed-point units, counts smoothed at several widths to find the width for each cell,
// masses smoothed at that width, a margin cut off.
// What always holds: the map does not depend on threads, ranks or the order of particles. Mass is conserved, except for
// what is smoothed across the edge. Functions with `ranks` are collective.
namespace pergola {

/// The axis of the line of sight. Right and up in the picture: x → (y, z), y → (x, z), z → (x, y).
enum class SightLine { x, y, z };

/// The region of a square picture.
struct Frame {
  Vec3<double> center{0, 0, 0};
  double width = 0;  // length from left to right
};

/// A frame for most particles: centred at the medians of the coordinates; the outermost 7 % of the particles do not
/// affect the width, so that escapers do not shrink a cluster. Up to 16 particles are all shown. Collective; all ranks
/// get the same.
PERGOLA_API Frame automatic_frame(const Particles& particles, SightLine axis,
                                  Communicator& ranks = *serial_communicator());

struct ProjectionOptions {
  SightLine axis = SightLine::z;
  Frame frame;
  int pixels = 900;  // width and height of the map
  int threads = 1;
  double periodic_side = 0;  // of a periodic cube, with images on the map; 0: open space
};

/// A particle within the map, in pixels from the upper left corner.
struct Spot {
  float x = 0, y = 0, mass = 0;
};

/// A square map of surface density; row 0 is the top.
struct Projection {
  int pixels = 0;
  SightLine axis = SightLine::z;
  Frame frame;
  std::vector<double> density;  // mass per area; number per area if all are massless
  std::vector<Spot> spots;      // particles of the map; none if there are too many to distinguish
  std::int64_t particles = 0;   // in all
  std::int64_t shown = 0;       // within the frame

  double at(int x, int y) const {
    return density[static_cast<std::size_t>(y) * static_cast<std::size_t>(pixels) + static_cast<std::size_t>(x)];
  }
};

/// The map of a frame. If the frame is not wider than a periodic cube, images fill it; a wider frame shows the cube
/// once. Spots are in the order of ranks. Throws Error(input) without particles, or for a frame without extent.
/// Collective; all ranks get the same.
PERGOLA_API Projection project(const Particles& particles, const ProjectionOptions& options,
                               Communicator& ranks = *serial_communicator());

/// A square grid of cells, row after row.
struct SquareGrid {
  explicit SquareGrid(int cells_per_side)
      : side(cells_per_side), cells(static_cast<std::size_t>(side) * static_cast<std::size_t>(side)) {}
  double& at(int x, int y) { return cells[static_cast<std::size_t>(y) * side + static_cast<std::size_t>(x)]; }
  double at(int x, int y) const { return cells[static_cast<std::size_t>(y) * side + static_cast<std::size_t>(x)]; }
  int side;
  std::vector<double> cells;
};

/// Standard deviation, in cells, of a blurred point: √(r (r + 1)).
double blur_width(int radius);

/// Three means over 2 radius + 1 cells along each axis: nearly a Gaussian. Conserves the sum, except across the edges.
void blur(SquareGrid& grid, int radius, int threads);

}  // namespace pergola
