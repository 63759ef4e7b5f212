#pragma once
/// Fields of a plasma on the host, for output: without padding, and gathered from the slabs of ranks.
///
/// Device fields have padded rows and each rank has its layers; files and pages need plain arrays, x fastest.
/// gather_layers() gives every rank the box, gather_block() gives rank 0 a part of it. kick_on_host() brings velocities
/// to the time of positions for output, without a change of the simulation's particles.
#include <vector>

#include "mesh/grid.hpp"
#include "plasma/options.hpp"
#include "plasma/particles.hpp"
#include "plasma/tiles.hpp"

namespace pergola {

/// The values of a field without its padding, x fastest.
template <class Real>
std::vector<double> host_values(const Field<Real>& layout, const std::vector<Real>& padded) {
  std::vector<double> values;
  values.reserve(static_cast<std::size_t>(layout.nx) * static_cast<std::size_t>(layout.ny) *
                 static_cast<std::size_t>(layout.nz));
  const std::int64_t rows = std::int64_t{layout.ny} * layout.nz;
  for (std::int64_t row = 0; row < rows; ++row) {
    const auto first = padded.begin() + row * layout.pitch;
    values.insert(values.end(), first, first + layout.nx);
  }
  return values;
}

/// Gathers the layers of all ranks on all ranks; a layer has `layer` values. Collective.
std::vector<double> gather_layers(Communicator& ranks, const plasma::TileSlab& slab, const std::vector<double>& own,
                                  std::int64_t layer);

/// A part of a field: `columns` grid points along x from first_column on, in `layers` layers from first_layer on.
struct FieldBlock {
  int first_column = 0, columns = 0;
  int first_layer = 0, layers = 0;
};
/// Gathers a block on rank 0, x fastest; empty on other ranks. `own`: the field in this rank's layers. Collective.
std::vector<double> gather_block(Communicator& ranks, const plasma::TileSlab& slab, const std::vector<double>& own,
                                 const FieldBlock& block);

/// Kicks velocities by the field of the grid as a push does, in double precision. `window`: the layers of `electric`.
void kick_on_host(const PlasmaOptions& options, double charge_per_mass,
                  const std::array<std::vector<double>, 3>& electric, const plasma::LayerWindow& window, double kick,
                  int threads, PlasmaParticles& particles);

}  // namespace pergola
