// The entry of the electrostatic field solver: see electrostatic.hpp.
#include "plasma/electrostatic.hpp"

namespace pergola {

namespace {

/// Density, potential, the components of the field, the transform and the Green factors, in padded rows. With several
/// ranks also messages, columns of the transposition, and the layers around the slab.
std::int64_t electrostatic_bytes(const Device& device, const PlasmaOptions& options, int real_bytes, int ranks) {
  const std::int64_t rows = std::int64_t{options.cells[1]} * options.cells[2];
  const std::int64_t across = options.cells[static_cast<std::size_t>(options.dimensions - 1)];
  const double part = ranks > 1 ? plasma::largest_slab_share(plasma::TileGrid(options), ranks) : 1;
  const bool whole = ranks == 1 || (device.is_cuda() && plasma::has_whole_field(options));
  const auto own_rows = whole ? rows : static_cast<std::int64_t>(part * static_cast<double>(rows));
  const std::int64_t around = !whole ? (2 * static_cast<int>(options.shape) - 3) * (rows / across) : 0;
  // On GPUs all components travel in one message.
  const std::int64_t each = options.dimensions + (device.is_cuda() && !whole ? 2 * options.dimensions : 0);
  return ((4 + each + (ranks > 1 ? 2 : 0)) * own_rows + each * around) * (options.cells[0] + 4) * real_bytes;
}

}  // namespace

PlasmaFieldEntry electrostatic_entry() {
  return {.name = "electrostatic",
          .deposits = PlasmaDeposit::charge,
          .gathers = PlasmaGather::electric,
          .openpmd_parameters = "electrostatic, spectral: phi_k = S(k)^2 rho_k / k^2",
          .parts =
              [](const PlasmaOptions& options) {
                std::vector<PlasmaFieldPart> parts{PlasmaFieldPart::density, PlasmaFieldPart::potential};
                for (int a = 0; a < options.dimensions; ++a) parts.push_back(electric_part(a));
                return parts;
              },
          .device_bytes = electrostatic_bytes,
          .make_single = make_electrostatic<float>,
          .make_double = make_electrostatic<double>};
}

}  // namespace pergola
