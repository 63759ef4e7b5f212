#pragma once
// The report card of a run: what was measured at its end against what was expected.
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "analysis/energy.hpp"
#include "comm/communicator.hpp"
#include "models/model.hpp"

namespace pergola {

/// One line of the report card: passed when |measured − expected| ≤ tolerance.
struct Check {
  std::string name;
  double measured = 0, expected = 0, tolerance = 0;
  bool passed = false;
  double scatter =
      0;  // one standard deviation that few waves leave in what is measured, part of the tolerance; 0: none
  std::vector<double> parts{};  // the values that `measured` is the mean of; empty: not known
};

/// What a run was at its start and at its end.
struct RunEnds {
  Energies start, end;
  std::optional<double> energy_error{};               // of the system's own equation of energy
  std::function<double(const std::string&)> watched;  // all that energies do not tell, by name
};

/// Measures what is expected. Names as in expectation_names().
std::vector<Check> report_card(const std::vector<Expectation>& expectations, const RunEnds& ends);

/// Where particles were, to compare with.
struct StartingPlaces {
  std::vector<std::uint64_t> id;
  std::vector<double> x, y, z;
};
StartingPlaces starting_places(Particles particles);
/// Root of the mean over all particles of the squared distance from their place in `before`, which has them in the
/// order of `after`. Of several ranks each has the next particles in the order of the input, all call it and get the
/// bits of one that has all.
double return_distance(const StartingPlaces& before, const Particles& after, Communicator& ranks);

}  // namespace pergola
