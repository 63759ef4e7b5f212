#include "sim/state_map.hpp"

#include <cmath>
#include <cstddef>
#include <utility>

namespace pergola {

StateMap state_map(std::string title, std::string unit, const FieldLayers& values, double factor,
                   const std::array<int, 3>& cells, const std::array<double, 2>& spacing) {
  StateMap map{
      std::move(title), std::move(unit), {cells[0], cells[1]}, {cells[0] * spacing[0], cells[1] * spacing[1]}, {}};
  const auto layer = static_cast<std::size_t>(cells[0]) * static_cast<std::size_t>(cells[1]);
  std::vector<double> mean(layer, 0.0);
  values([&](std::int64_t first, const std::vector<double>& some) {
    for (std::size_t k = 0; k < some.size(); ++k)
      mean[(static_cast<std::size_t>(first) + k) % layer] += some[k] * factor;
  });
  map.values.reserve(layer);
  for (const double sum : mean) map.values.push_back(static_cast<float>(sum / cells[2]));
  return map;
}

StateMap state_map(std::string title, std::string unit, const std::vector<double>& values,
                   const std::array<int, 3>& cells, const std::array<double, 2>& spacing) {
  return state_map(std::move(title), std::move(unit), whole_field(values), 1, cells, spacing);
}

std::vector<double> lengths_of(const std::array<std::vector<double>, 3>& components) {
  std::vector<double> lengths(components[0].size());
  for (std::size_t k = 0; k < lengths.size(); ++k) {
    double square = 0;
    for (const auto& component : components)
      if (k < component.size()) square += component[k] * component[k];
    lengths[k] = std::sqrt(square);
  }
  return lengths;
}

}  // namespace pergola
