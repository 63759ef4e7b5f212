#pragma once
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "analysis/energy.hpp"
#include "models/model.hpp"

namespace pergola {

/// One line of the report card: passed when |measured − expected| ≤ tolerance.
struct Check {
  std::string name;
  double measured = 0, expected = 0, tolerance = 0;
  bool passed = false;
  double scatter =
      0;  // one standard deviation that few waves leave in what is measured, part of the tolerance; 0: none
  std::vector<double> parts{};  // what `measured` is a mean of, one by one; empty: not told
};

/// What a run was at its start and at its end.
struct RunEnds {
  Energies start, end;
  std::optional<double> energy_error{};               // of the system's own equation of energy
  const Particles* particles = nullptr;               // at the end
  const Particles* starting_particles = nullptr;      // positions and ids; needed for return_distance only
  std::function<double(const std::string&)> watched;  // what was measured during the run, by name
};

/// Measures what is expected. Names as in expectation_names().
std::vector<Check> report_card(const std::vector<Expectation>& expectations, const RunEnds& ends);

/// Root of the mean over all particles of the squared distance from their place in `before`, matched by id.
double return_distance(const Particles& before, const Particles& after);

}  // namespace pergola
