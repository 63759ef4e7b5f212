#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "analysis/groups.hpp"
#include "analysis/power_spectrum.hpp"
#include "app/bench.hpp"
#include "app/bench_boxes.hpp"
#include "base/error.hpp"

namespace pergola::app {

namespace {

/// The box of the file, if there is one, else a clustered one of so many per side.
BoxCase box_for(const BenchTask& task, std::int64_t per_side) {
  if (task.file.empty())
    return clustered_box(task.n > 0 ? task.n : per_side * per_side * per_side, task.device.threads());
  BoxCase box = box_of_file(task.file);
  if (task.tiles > 1) box = {box.name + "-tiled", tiled(box.particles, task.tiles)};
  return box;
}

void report(const BenchTask& task, const std::string& name, std::int64_t n, double seconds) {
  task.report({.suite = "",
               .name = name,
               .device = "",
               .precision = Precision::double_,
               .n = n,
               .seconds = seconds,
               .rate = static_cast<double>(n) / seconds,
               .unit = "particles/s",
               .fraction_of_ceiling = std::nullopt});
}

}  // namespace

/// The analysis alone: particles are where a run has them, and nothing is written.
void bench_power(const BenchTask& task) {
  constexpr int folds = 3;
  const BoxCase box = box_for(task, task.device.is_cuda() ? 512 : 64);
  const std::int64_t n = box.particles.size();
  const int cells = usual_power_cells(n);
  const auto shown = show_particles(task.device, box.particles);
  PowerSpectrum found;
  const auto once = [&] { found = power_spectrum(*shown, bench_cube, cells, folds); };
  once();
  const double seconds = fastest(0.5, 2, once);
  // On the smallest scales of a box of points there is at least about their own noise.
  if (const double last = found.bins.back().power; !(last > 0.5 * found.shot_noise))
    throw Error(ErrorKind::numerics, fmt::format("bench: power: {:.2e} at the largest wave number, expected more than "
                                                 "half the shot noise, {:.2e}",
                                                 last, found.shot_noise));
  report(task, fmt::format("power/{}/{}", box.name, n), n, seconds);
}

/// The analysis alone: particles are on the host, as a file is read or a run hands them over.
void bench_groups(const BenchTask& task) {
  BoxCase box = box_for(task, task.device.is_cuda() ? 256 : 64);
  AnalysisSnapshot snapshot;
  snapshot.name = box.name;
  snapshot.box = bench_cube;
  snapshot.matter_part = 0.3;
  snapshot.particles = std::move(box.particles);
  const std::int64_t n = snapshot.particles.size();
  std::vector<GroupProperties> groups;
  const auto once = [&] {
    const FoundGroups found(snapshot, AnalysisOptions{}, task.device);
    groups = found.properties(snapshot, 0, found.count());
  };
  once();
  const double seconds = fastest(0.5, 2, once);
  if (groups.empty()) throw Error(ErrorKind::numerics, "bench: groups: expected some, found none");
  report(task, fmt::format("groups/{}/{}", box.name, n), n, seconds);
}

}  // namespace pergola::app
