#pragma once
// Fields of a plasma on the host, for output.
#include <vector>

#include "mesh/grid.hpp"
#include "plasma/options.hpp"
#include "plasma/particles.hpp"
#include "plasma/tile_slab.hpp"

namespace pergola {

/// The values of a field without its padding, x fastest, from all that its memory holds.
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

/// Values of the layers of all ranks, so many in a layer, on all ranks. A call of all ranks.
std::vector<double> gather_layers(Communicator& ranks, const plasma::TileSlab& slab, const std::vector<double>& own,
                                  std::int64_t layer);

/// A part of a field: `columns` grid points along x from first_column on, in `layers` layers from first_layer on.
struct FieldBlock {
  int first_column = 0, columns = 0;
  int first_layer = 0, layers = 0;
};
/// On rank 0, x fastest; empty on the others. `own`: the field in the layers of this rank. A call of all ranks.
std::vector<double> gather_block(Communicator& ranks, const plasma::TileSlab& slab, const std::vector<double>& own,
                                 const FieldBlock& block);

/// Velocities go on by `kick` in the field of the grid, as a push does it, in double precision. `window`: the layers
/// that `electric` has.
void kick_on_host(const PlasmaOptions& options, double charge_per_mass,
                  const std::array<std::vector<double>, 3>& electric, const plasma::LayerWindow& window, double kick,
                  int threads, PlasmaParticles& particles);

}  // namespace pergola
