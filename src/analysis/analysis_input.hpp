#pragma once
#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/host_device.hpp"
#include "particles/box.hpp"
#include "particles/particles.hpp"

namespace pergola {

/// The units of a file in words, "kpc", "1e10 Msun", "km/s"; empty where it states none.
struct AnalysisUnits {
  std::string length, mass, velocity, time;

  /// "1e10 Msun/kpc^3"; empty where a part of it is.
  std::string density() const { return per_length("^3"); }
  std::string surface_density() const { return per_length("^2"); }

 private:
  std::string per_length(const char* power) const { return mass.empty() ? "" : mass + "/" + length + power; }
};

/// Particles at a moment.
struct AnalysisSnapshot {
  std::string name;  // of the file, for messages
  double time = 0;
  Box box;
  double gravitational_constant = 1;
  std::optional<double> matter_part;  // density of matter over the critical one, where the file knows a cosmology
  AnalysisUnits units;
  Particles particles;
};

/// Files that are analysed, each read when it is asked for.
struct AnalysisFiles {
  std::vector<std::string> names;
  std::function<AnalysisSnapshot(std::size_t number)> snapshot;
};

}  // namespace pergola
