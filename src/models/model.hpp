#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <variant>
#include <vector>

#include "base/host_device.hpp"
#include "particles/particles.hpp"

namespace pergola {

/// What is expected of a run of a model; checked at its end and put into the report card.
struct Expectation {
  std::string name;  // energy_error | virial_ratio | half_mass_radius | energy | period_return | …
  double expected = 0;
  double tolerance = 0;
};

/// A model's options by name. Each model documents and checks its own.
using ModelValue = std::variant<bool, double, std::string>;
struct ModelOptions {
  std::int64_t n = 0;  // 0: the model's own number
  std::uint64_t seed = 1;
  std::map<std::string, ModelValue> values;
};

struct ModelOption {
  std::string name;
  ModelValue default_value;
  std::string help;  // one line with unit and range
};

struct ModelInfo {
  std::string name;
  std::string summary;
  std::int64_t fixed_n = 0;  // 0: any n ≥ 1
  std::vector<ModelOption> options;
};

PERGOLA_API const std::vector<ModelInfo>& models();

/// Makes particles: the same numbers on any device and any number of threads or ranks. Throws Error(input) that names
/// the option, what was expected and found, and the nearest valid name.
PERGOLA_API Particles make_model(const std::string& name, const ModelOptions& options, int threads = 1);

}  // namespace pergola
