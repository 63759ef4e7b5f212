#pragma once
#include <cstdint>
#include <vector>

#include "base/host_device.hpp"
#include "comm/communicator.hpp"

namespace pergola {

/// Values of which each rank has some, each with a whole weight: which of them lies where in the order of all. All
/// ranks make it, and ask it, together. No NaN.
class PERGOLA_API RankedValues {
 public:
  /// Without weights each counts as one.
  RankedValues(Communicator& ranks, const std::vector<double>& values, const std::vector<std::int64_t>& weights = {});

  /// Of all ranks together.
  std::int64_t total() const { return total_; }
  /// For each weight, from 1 to the total, the lowest value up to which there is as much. Zeros have no sign.
  std::vector<double> reaching(const std::vector<std::int64_t>& weights) const;

 private:
  Communicator& ranks_;
  std::vector<double> values_;       // rising
  std::vector<std::int64_t> up_to_;  // weight of the values before this one, and of all
  std::int64_t total_ = 0;
};

}  // namespace pergola
