#pragma once
/// Fields of a plasma on the host, for output: without padding, and gathered from the slabs of ranks.
///
/// Device fields have padded rows and each rank has its layers; files and pages need plain arrays, x fastest:
/// values_on_host() copies a field, values_to_device() writes one, fields_on_host() copies all that particles gather.
/// gather_layers() gives every rank the box, gather_block() gives rank 0 a part of it. kick_on_host() brings velocities
/// to the time of positions for output, without a change of the simulation's particles.
#include <vector>

#include "mesh/grid.hpp"
#include "plasma/options.hpp"
#include "plasma/particles.hpp"
#include "plasma/tiled_particles.hpp"
#include "plasma/tiles.hpp"

namespace pergola {

/// The values of a field on a device, without its padding, x fastest. Waits.
template <class Real>
std::vector<double> values_on_host(const Device& device, const Field<const Real>& field) {
  std::vector<Real> padded(static_cast<std::size_t>(field.size()));
  std::vector<double> values;
  if (padded.empty()) return values;
  device.memory().to_host(padded.data(), field.data, padded.size() * sizeof(Real));
  const std::int64_t rows = std::int64_t{field.ny} * field.nz;
  values.reserve(static_cast<std::size_t>(field.nx * rows));
  for (std::int64_t row = 0; row < rows; ++row) {
    const auto first = padded.begin() + row * field.pitch;
    values.insert(values.end(), first, first + field.nx);
  }
  return values;
}

/// The reverse: writes values to a field on a device, and zeros to its padding. Waits.
template <class Real>
void values_to_device(const Device& device, const std::vector<double>& values, const Field<Real>& field) {
  if (values.empty()) return;
  std::vector<Real> padded(static_cast<std::size_t>(field.size()));
  const auto nx = static_cast<std::size_t>(field.nx), pitch = static_cast<std::size_t>(field.pitch);
  for (std::size_t k = 0; k < values.size(); ++k) padded[k / nx * pitch + k % nx] = static_cast<Real>(values[k]);
  device.memory().from_host(field.data, padded.data(), padded.size() * sizeof(Real));
}

/// The grid of the box, for solvers of mesh/.
Grid plasma_grid(const PlasmaOptions& options);

/// What particles gather, in the layers of `window`.
struct HostFields {
  std::array<std::vector<double>, 3> electric, magnetic;
  plasma::LayerWindow window;
};
template <class Real>
HostFields fields_on_host(const Device& device, const GatheredFields<Real>& fields) {
  HostFields result{{}, {}, fields.window};
  for (std::size_t a = 0; a < 3; ++a) {
    result.electric[a] = values_on_host(device, fields.electric[a]);
    result.magnetic[a] = values_on_host(device, fields.magnetic[a]);
  }
  return result;
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

/// Kicks velocities by the fields of the grid as a push does, in double precision.
void kick_on_host(const PlasmaOptions& options, double charge_per_mass, const HostFields& fields, double kick,
                  int threads, PlasmaParticles& particles);

}  // namespace pergola
