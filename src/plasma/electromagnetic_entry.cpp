// The entry of the electromagnetic field solver: see electromagnetic.hpp.
#include "plasma/electromagnetic.hpp"

namespace pergola {

namespace {

/// E, B, the moved charge, the density and the ψ of absorbing ends, in padded rows; with ranks of the largest slab, and
/// layers around E and B, which GPUs also have in messages.
std::int64_t electromagnetic_bytes(const Device& device, const PlasmaOptions& options, int real_bytes, int ranks) {
  const std::int64_t rows = std::int64_t{options.cells[1]} * options.cells[2];
  const std::int64_t across = options.cells[static_cast<std::size_t>(options.dimensions - 1)];
  const double part = ranks > 1 ? plasma::largest_slab_share(plasma::TileGrid(options), ranks) : 1;
  const std::int64_t around = ranks > 1 ? (1 + static_cast<int>(options.shape)) * (rows / across) : 0;
  const auto own_rows = static_cast<std::int64_t>(part * static_cast<double>(rows));
  std::int64_t fields = 10;
  for (const PlasmaEdge edge : options.edges) fields += edge == PlasmaEdge::absorbing ? 4 : 0;
  return (fields * own_rows + (device.is_cuda() ? 12 : 6) * around) * (options.cells[0] + 16) * real_bytes;
}

}  // namespace

PlasmaFieldEntry electromagnetic_entry() {
  return {.name = "electromagnetic",
          .deposits = PlasmaDeposit::charge_and_current,
          .gathers = PlasmaGather::electric_and_magnetic,
          .openpmd_name = "Yee",
          .openpmd_parameters = "dt E = c^2 curl B - J, dt B = -curl E, leapfrog",
          .parts =
              [](const PlasmaOptions&) {
                std::vector<PlasmaFieldPart> parts{PlasmaFieldPart::density};
                for (int k = 0; k < 9; ++k) parts.push_back(component_of(PlasmaFieldPart::electric_x, k));
                return parts;
              },
          .device_bytes = electromagnetic_bytes,
          .make_single = make_electromagnetic<float>,
          .make_double = make_electromagnetic<double>};
}

}  // namespace pergola
