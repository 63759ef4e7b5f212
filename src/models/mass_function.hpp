#pragma once
// Masses of stars at birth.
#include <string>
#include <vector>

#include "base/philox.hpp"

namespace pergola {

/// How many stars are born with which mass: power laws, continuous where they meet.
class MassFunction {
 public:
  /// "equal": all have `low`; "salpeter" or "kroupa": from `low` to `high`. In solar masses.
  MassFunction(const std::string& name, double low, double high);
  double low() const { return parts_.front().low; }
  double draw(Philox& random) const;
  /// The mean of m^k.
  double mean_power(int k) const;

 private:
  struct Part {
    double low, high, slope, factor;  // dN/dm = factor m^-slope
    double stars;                     // the integral of it
  };
  std::vector<Part> parts_;
  double stars_ = 0;
};

}  // namespace pergola
