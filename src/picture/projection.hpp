#pragma once
#include <cstdint>
#include <optional>
#include <vector>

#include "base/vec.hpp"
#include "comm/communicator.hpp"
#include "particles/particles.hpp"

namespace pergola {

/// The axis along which one looks. Right and up in the picture are: x → (y, z), y → (x, z), z → (x, y).
enum class SightLine { x, y, z };

/// What a square picture shows.
struct Frame {
  Vec3<double> center{0, 0, 0};
  double width = 0;  // length from left to right
};

/// The frame that shows most particles: the medians of the coordinates, and a width that lets the outermost 7 % of the
/// particles be anywhere, so that escapers do not shrink a cluster. Up to 16 particles are all shown. Where each rank
/// has a part of the particles all call it together and get the same.
PERGOLA_API Frame automatic_frame(const Particles& particles, SightLine axis,
                                  Communicator& ranks = *serial_communicator());

struct ProjectionOptions {
  SightLine axis = SightLine::z;
  Frame frame;
  int pixels = 900;  // width and height of the map
  int threads = 1;
  double periodic_side = 0;  // of a periodic cube, whose images beyond its edges are on the map; 0: there are none
};

/// A particle within the map, in pixels from its upper left corner.
struct Spot {
  float x = 0, y = 0, mass = 0;
};

/// A square map of surface density. Row 0 is the top.
struct Projection {
  int pixels = 0;
  SightLine axis = SightLine::z;
  Frame frame;
  std::vector<double> density;  // mass per area; number per area where all particles are massless
  std::vector<Spot> spots;      // all particles of the map, or none when there are too many to tell them apart
  std::int64_t particles = 0;   // in all
  std::int64_t shown = 0;       // within the frame

  double at(int x, int y) const {
    return density[static_cast<std::size_t>(y) * static_cast<std::size_t>(pixels) + static_cast<std::size_t>(x)];
  }
};

/// Each particle is spread over a Gaussian that is as wide as its neighbours are far, so that a map of few particles is
/// smooth and one of many is sharp. A frame that is no wider than a periodic cube is full wherever it lies; a wider one
/// shows the cube once. Mass is counted in whole quanta and conserved up to what is smoothed across the edge; the map
/// does not depend on the number of threads, nor on the order of the particles. Where each rank has a part of them all
/// call it together and get the same; spots are in the order of ranks. Throws Error(input) for no particles and for a
/// frame without extent.
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

/// Standard deviation, in cells, of what `blur` makes of a point: √(r (r + 1)).
double blur_width(int radius);

/// Smooths by three means over 2 radius + 1 cells along each axis, close to a Gaussian (central limit theorem). The sum
/// stays, up to what leaves across the edges. Bits do not depend on the number of threads.
void blur(SquareGrid& grid, int radius, int threads);

}  // namespace pergola
