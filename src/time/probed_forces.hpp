#pragma once
#include <cstdint>
#include <vector>

#include "gravity/solver.hpp"
#include "time/vector_buffer.hpp"

namespace pergola {

/// Accelerations from a device.
template <class Real>
void take_probed(const VectorBuffer<Real>& from, ForceResult& forces) {
  const auto take = [](const Buffer<Real>& values, std::vector<double>& to) {
    const auto here = values.to_host();
    to.assign(here.begin(), here.end());
  };
  take(from.x, forces.ax), take(from.y, forces.ay), take(from.z, forces.az);
}

/// Adds those of particles at some places, of which `from` has all.
template <class Real>
void add_probed(const Device& device, const VectorBuffer<Real>& from, const std::vector<std::int64_t>& places,
                ForceResult& forces) {
  const auto add = [&](const Buffer<Real>& values, std::vector<double>& to) {
    for (std::size_t k = 0; k < places.size(); ++k) {
      Real value = 0;
      device.memory().to_host(&value, values.data() + places[k], sizeof(Real));
      to[k] += static_cast<double>(value);
    }
  };
  add(from.x, forces.ax), add(from.y, forces.ay), add(from.z, forces.az);
}

}  // namespace pergola
