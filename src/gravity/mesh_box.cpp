// The box of a mesh: what the configuration leaves open is found from the particles.
//
// Periodic: the side is given or stated by the file; the corner is the origin if not given. Isolated: the box is given,
// or the smallest cube with a margin of isolated_margin cells on each side. At the end all particles must lie inside.
#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "base/text.hpp"
#include "gravity/mesh.hpp"
#include "mesh/grid.hpp"
#include "particles/particle_source.hpp"

namespace pergola {

namespace {

/// Particles are read in pieces of this size.
constexpr std::int64_t piece_particles = std::int64_t{1} << 20;

/// Calls look(piece) for all particles, piece by piece; once where they lie on the host as a whole.
template <class Look>
void each_piece(ParticleSource& particles, const Look& look) {
  if (const Particles* whole = particles.whole()) return look(*whole);
  Particles piece;
  for (std::int64_t first = 0; first < particles.count(); first += piece_particles) {
    particles.read(first, std::min(piece_particles, particles.count() - first), piece);
    look(piece);
  }
}

/// The range of one coordinate.
struct Extent {
  double low = 0, high = 0;

  void widen(const std::vector<double>& values, bool first) {
    if (values.empty()) return;
    const auto [least, most] = std::minmax_element(values.begin(), values.end());
    low = first ? *least : std::min(low, *least);
    high = first ? *most : std::max(high, *most);
  }
};

/// The sides are lengths in the run's unit.
Box periodic_box(const MeshOptions& mesh, double stated_side) {
  Box box = mesh.box;
  if (!box.given()) {
    if (!(stated_side > 0))
      throw Error(ErrorKind::input,
                  "gravity.mesh.box: expected the side of the periodic box, found \"auto\" and no BoxSize with the "
                  "particles; set gravity.mesh.box, or gravity.mesh.boundary = \"isolated\"");
    box.side = {stated_side, stated_side, stated_side};
  }
  box.corner = mesh.box_corner.value_or(Vec3<double>{0, 0, 0});
  return box;
}

/// The smallest cube about the particles, widened by the cells that an isolated mesh keeps free.
Box smallest_cube(const MeshOptions& mesh, ParticleSource& particles) {
  std::array<Extent, 3> extents;
  bool first = true;
  each_piece(particles, [&](const Particles& piece) {
    extents[0].widen(piece.x, first), extents[1].widen(piece.y, first), extents[2].widen(piece.z, first);
    first = false;
  });
  double widest = 0;
  for (const Extent& e : extents) widest = std::max(widest, e.high - e.low);
  if (!(widest > 0)) widest = 1;
  const int fewest = *std::min_element(mesh.cells.begin(), mesh.cells.end());
  // A part in a million beyond, so that no rounding puts a particle outside.
  const double side = widest * (1 + 1e-6) * fewest / (fewest - 2 * isolated_margin);
  Box box = mesh.box;
  box.side = {side, side, side};
  const auto corner = [side](const Extent& e) { return 0.5 * (e.low + e.high) - 0.5 * side; };
  box.corner = {corner(extents[0]), corner(extents[1]), corner(extents[2])};
  return box;
}

Box isolated_box(const MeshOptions& mesh, ParticleSource& particles) {
  Box box = mesh.box;
  if (!box.given()) {
    if (mesh.box_corner)
      throw Error(ErrorKind::input, "gravity.mesh.box_corner: expected gravity.mesh.box beside it, found \"auto\"");
    return smallest_cube(mesh, particles);
  }
  box.corner = mesh.box_corner.value_or(Vec3<double>{-0.5 * box.side.x, -0.5 * box.side.y, -0.5 * box.side.z});
  return box;
}

/// The upper edge of a periodic box belongs to it: it is the lower one again.
bool holds(const MeshOptions& mesh, const Vec3<double>& place) {
  const Box& box = mesh.box;
  if (!box.periodic()) return on_mesh(mesh, place);
  const auto within = [](double x, double corner, double side) { return x >= corner && x <= corner + side; };
  return within(place.x, box.corner.x, box.side.x) && within(place.y, box.corner.y, box.side.y) &&
         within(place.z, box.corner.z, box.side.z);
}

/// Names the first particle outside, with its place and the box.
void require_inside(const MeshOptions& mesh, const Particles& particles) {
  for (std::size_t k = 0; k < particles.id.size(); ++k) {
    const Vec3<double> place{particles.x[k], particles.y[k], particles.z[k]};
    if (holds(mesh, place)) continue;
    const auto& [corner, side, boundary] = mesh.box;
    throw Error(ErrorKind::input,
                fmt::format("gravity.mesh.box: expected a box that holds all particles{}, found particle {} at "
                            "({}, {}, {}) and a box from ({}, {}, {}) with sides ({}, {}, {}){}",
                            mesh.box.periodic() ? "" : " two cells away from its faces", particles.id[k],
                            to_text(place.x), to_text(place.y), to_text(place.z), to_text(corner.x), to_text(corner.y),
                            to_text(corner.z), to_text(side.x), to_text(side.y), to_text(side.z),
                            mesh.box.periodic() ? "; open space is gravity.mesh.boundary = \"isolated\"" : ""));
  }
}

/// Whether a periodic box is known to hold all particles without a look at them.
bool fills(const ParticleSource& particles, const Box& box) {
  const double side = particles.box_side();
  return side > 0 && box.periodic() && box.corner.x == 0 && box.corner.y == 0 && box.corner.z == 0 &&
         box.side.x == side && box.side.y == side && box.side.z == side;
}

}  // namespace

// Reads all particles once or twice, piece by piece, unless the source's own box is known to hold them.
Box find_mesh_box(MeshOptions mesh, ParticleSource& particles, double stated_side) {
  check_mesh_options(mesh);
  mesh.box = mesh.box.periodic() ? periodic_box(mesh, stated_side) : isolated_box(mesh, particles);
  if (!fills(particles, mesh.box)) each_piece(particles, [&](const Particles& piece) { require_inside(mesh, piece); });
  return mesh.box;
}

}  // namespace pergola
