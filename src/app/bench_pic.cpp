#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "app/bench.hpp"
#include "app/plasma_bench.hpp"
#include "gravity/mesh.hpp"

namespace pergola::app {

namespace {

/// Least traffic of a step in single precision: a particle's place and velocity read and written.
double particle_bytes(const PlasmaCase& which) { return 2.0 * 2 * which.dimensions * sizeof(float); }

/// Without --full a CPU is done within 40 s.
std::vector<PlasmaCase> cases(const BenchTask& task) {
  PlasmaCase paper = decyk_case();
  if (task.n > 0) {  // as many particles per cell as in the paper, 36
    const int side = nearest_mesh_size(static_cast<int>(std::lround(std::sqrt(static_cast<double>(task.n) / 72))));
    paper.cells = {std::max(side, 4), 2 * std::max(side, 4), 1};
    paper.name = fmt::format("{}x{}", paper.cells[0], paper.cells[1]);
    paper.n = task.n;
    return {paper};
  }
  std::vector<PlasmaCase> all{paper, {"512x512", 2, {512, 512, 1}, 9437184, 0.1}};
  if (task.full) {
    all.push_back({"2048x2048", 2, {2048, 2048, 1}, 150994944, 0.1});
    all.push_back({"128x128x128", 3, {128, 128, 128}, 134217728, 0.1});
  }
  return all;
}

}  // namespace

void bench_pic(const BenchTask& task) {
  for (const PlasmaCase& which : cases(task)) {
    const PlasmaParticles electrons = thermal_electrons(which, task.device.threads());
    const double budget = task.device.is_cuda() || task.n > 0 ? 0.3 : 3.0;
    for (const bool whole : {false, true}) {
      const double seconds = plasma_step_seconds(task.device, which, electrons, whole, budget);
      BenchResult result;
      result.name = (whole ? "pic/step/" : "pic/particles/") + which.name;
      result.precision = Precision::single;
      result.n = which.n;
      result.seconds = seconds;
      result.rate = static_cast<double>(which.n) / seconds;
      result.unit = "particle steps/s";
      result.bytes = particle_bytes(which);
      task.report(result);
    }
  }
}

}  // namespace pergola::app
