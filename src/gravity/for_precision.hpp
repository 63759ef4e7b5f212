#pragma once
#include <memory>
#include <utility>

#include "gravity/solver.hpp"

namespace pergola {

/// The instance of a solver for the precision of the options, as `Base`, whose numbers must be those of the precision.
template <class Base, template <Precision> class SolverOf, class... More>
std::unique_ptr<Base> make_for_precision(const SolverOptions& options, const Device& device, More... more) {
  if (!has_numbers<typename Base::Number>(options.precision))
    throw Error(ErrorKind::input, "a solver was asked for with numbers of another precision than its options have");
  if constexpr (std::is_same_v<typename Base::Number, float>) {
    return std::make_unique<SolverOf<Precision::single>>(options, device, std::move(more)...);
  } else {
    if (options.precision == Precision::mixed)
      return std::make_unique<SolverOf<Precision::mixed>>(options, device, std::move(more)...);
    return std::make_unique<SolverOf<Precision::double_>>(options, device, std::move(more)...);
  }
}

}  // namespace pergola
