#pragma once
#include <algorithm>
#include <cstdint>
#include <vector>

#include "base/philox.hpp"
#include "tree/octree_cpu.hpp"

namespace pergola::tree {

/// Particles in the unit cube with different masses: half of them anywhere, half in a clump.
struct ClumpOfParticles {
  explicit ClumpOfParticles(std::size_t n, std::uint64_t seed = 5) {
    for (std::size_t k = 0; k < n; ++k) {
      Philox random(seed, 0, k);
      for (auto* axis : {&x, &y, &z}) {
        const double u = random.uniform(), v = u - 0.5;
        axis->push_back(k % 2 == 0 ? u : 0.3 + v * v * v);
      }
      mass.push_back((0.5 + random.uniform()) / static_cast<double>(n));
    }
  }
  std::int64_t size() const { return static_cast<std::int64_t>(mass.size()); }
  Points<double> points(const Box& box = {}) const {
    Points<double> p;
    p.count = size(), p.x = x.data(), p.y = y.data(), p.z = z.data(), p.mass = mass.data(), p.box = box;
    return p;
  }
  std::vector<double> x, y, z, mass;
};

}  // namespace pergola::tree
