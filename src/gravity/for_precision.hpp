#pragma once
#include <memory>

#include "gravity/solver.hpp"

namespace pergola {

/// The instance of a solver for the precision of the options, as `Base`.
template <class Base, template <Precision> class SolverOf>
std::unique_ptr<Base> make_for_precision(const SolverOptions& options, const Device& device) {
  switch (options.precision) {
    case Precision::single:
      return std::make_unique<SolverOf<Precision::single>>(options, device);
    case Precision::mixed:
      return std::make_unique<SolverOf<Precision::mixed>>(options, device);
    case Precision::full:
      break;
  }
  return std::make_unique<SolverOf<Precision::full>>(options, device);
}

}  // namespace pergola
