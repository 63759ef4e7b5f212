// The experiments of bertinelli, section 3: rates against the number of bodies, the unroll factor and the block size,
// and the times of GPU, serial and symmetric serial sums.
#include <fmt/core.h>

#include "app/paper/session.hpp"
#include "gravity/tile_kernel.hpp"

namespace pergola::app {

namespace {

constexpr double operations_per_pair = 20;  // per pair, as the paper counts them
constexpr double bertinelli_softening = 1.0 / 256;
constexpr double evaluations = 1000;  // the paper's times are for so many steps

double gigaflops(std::int64_t n, double seconds) {
  return operations_per_pair * static_cast<double>(n) * static_cast<double>(n) / seconds * 1e-9;
}

double tile_seconds(const Device& device, std::int64_t n, int block_size, int unroll) {
  if constexpr (cuda_built) {
    if (device.is_cuda()) return measure_tile_kernel(device, n, block_size, unroll);
  }
  throw Error(ErrorKind::device, "the tile kernel: expected a CUDA device, found " + device.spec());
}

double device_seconds(const PaperSession& session, std::int64_t n) {
  return measure_forces(session.device(), plummer(n, 1, session.device().threads()), want_acceleration,
                        Precision::single, bertinelli_softening);
}

void run_bodies(const PaperSession& session, PaperTable& table) {
  const bool tiles = session.device().is_cuda();
  table.ours = {session.ours() + " (GFLOP/s)"};
  if (tiles) table.ours.push_back("the paper's kernel on it (GFLOP/s)");
  session.run_sizes(table, {0.4, 2}, [&](std::int64_t n) -> std::optional<std::vector<double>> {
    std::vector<double> row{gigaflops(n, device_seconds(session, n))};
    if (tiles) row.push_back(gigaflops(n, tile_seconds(session.device(), n, 128, 16)));
    return row;
  });
}

struct Launch {
  int block_size, unroll;
};

/// One column per launch configuration of the tile kernel.
void run_launches(const PaperSession& session, PaperTable& table, const std::string& what,
                  const std::vector<Launch>& launches) {
  if (!session.device().is_cuda()) {
    table.notes.push_back("Not run: the " + what + " is a launch configuration of the GPU; this is " +
                          session.device().spec() + ".");
    return;
  }
  for (const auto& launch : launches)
    table.ours.push_back(fmt::format("{} {} (GFLOP/s)", what, what == "unroll" ? launch.unroll : launch.block_size));
  session.run_sizes(table, {0.4, 2}, [&](std::int64_t n) -> std::optional<std::vector<double>> {
    std::vector<double> row;
    for (const auto& launch : launches)
      row.push_back(gigaflops(n, tile_seconds(session.device(), n, launch.block_size, launch.unroll)));
    return row;
  });
}

void run_step_times(const PaperSession& session, PaperTable& table) {
  table.ours = {session.ours() + " (s)", "serial (s)", "symmetric (s)"};
  table.notes.push_back(
      "Ours: 1000 times the time of one evaluation. Serial: one thread, a plain loop over all pairs; symmetric: over "
      "half of them.");
  session.run_sizes(table, {1.2, 2}, [&](std::int64_t n) -> std::optional<std::vector<double>> {
    const auto particles = plummer(n, 1, session.device().threads());
    std::vector<double> row{evaluations * device_seconds(session, n)};
    for (const bool symmetric : {false, true}) {
      if (interrupted) return std::nullopt;
      row.push_back(evaluations * measure_serial(particles, bertinelli_softening, symmetric));
    }
    return row;
  });
}

}  // namespace

PaperTable run_bertinelli(const PaperSession& session, const std::string& name) {
  if (name == "six-body") return run_six_body(session);
  PaperTable table = load_table("bertinelli", name);
  if (name == "bodies") run_bodies(session, table);
  if (name == "unroll")
    run_launches(session, table, "unroll", {{256, 1}, {256, 2}, {256, 4}, {256, 8}, {256, 16}, {256, 32}});
  if (name == "block")
    run_launches(session, table, "block size", {{32, 16}, {64, 16}, {128, 16}, {256, 16}, {512, 16}, {1024, 16}});
  if (name == "time") run_step_times(session, table);
  return table;
}

}  // namespace pergola::app
