#pragma once
// What tests of systems on several ranks have in common.
#include <memory>
#include <string>
#include <vector>

#include "base/philox.hpp"
#include "comm/communicator.hpp"
#include "config/config.hpp"
#include "particles/particles.hpp"

namespace pergola {

using Settings = std::vector<std::string>;

/// Eight steps of a mesh in a box of 1, but for the settings.
inline RunConfig distributed_config(const Settings& settings) {
  Settings all{"run.end_time=0.5",      "run.device=cpu",     "run.threads=1",    "gravity.solver=mesh",
               "gravity.mesh.cells=16", "gravity.mesh.box=1", "time.step=0.0625", "time.integrator=leapfrog"};
  all.insert(all.end(), settings.begin(), settings.end());
  return parse_config("", "test", all);
}

/// In a cube of side 1 from `corner` on, `margin` from its faces, with unequal masses, fast enough to cross several
/// cells in a step and, where the box is periodic, its faces.
inline Particles cube_particles(std::int64_t n, double corner, double margin, std::uint64_t seed) {
  Particles particles;
  particles.resize(n);
  for (std::size_t k = 0; k < particles.id.size(); ++k) {
    Philox random(seed, 0, k);
    const auto within = [&] { return corner + margin + (1 - 2 * margin) * random.uniform(); };
    particles.x[k] = within(), particles.y[k] = within(), particles.z[k] = within();
    const auto speed = [&] { return 2 * random.uniform() - 1; };
    particles.vx[k] = speed(), particles.vy[k] = speed(), particles.vz[k] = speed();
    particles.mass[k] = (0.1 + random.uniform()) / static_cast<double>(n);
  }
  return particles;
}

/// A communicator that somebody else keeps.
inline std::shared_ptr<Communicator> kept_elsewhere(Communicator& communicator) {
  return {&communicator, [](Communicator*) {}};
}

}  // namespace pergola
