#pragma once
#include <array>
#include <vector>

#include "plasma/options.hpp"
#include "plasma/units.hpp"
#include "sim/state_map.hpp"

namespace pergola {

/// A component of the electric field along its axis: the mean over the other axes, and the amplitudes of
/// the waves that this is made of, by wave number. `length`: of a cell; `strength`: of the values' unit.
PERGOLA_API std::vector<StateCurve> field_curves(const FieldLayers& field, const std::array<int, 3>& cells,
                                                 int dimensions, int axis, double length, double strength);

/// The same for a running plasma.
PERGOLA_API std::vector<StateCurve> plasma_curves(const FieldLayers& electric, const PlasmaOptions& options,
                                                  const PlasmaUnits& units, int axis);

/// Charge density and strength of the electric field over x and y, in three dimensions mean over z.
PERGOLA_API std::vector<StateMap> plasma_maps(const FieldLayers& density, const FieldLayers& strength,
                                              const PlasmaOptions& options, const PlasmaUnits& units);

}  // namespace pergola
