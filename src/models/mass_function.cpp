#include "models/mass_function.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>

#include "physics/stellar.hpp"

namespace pergola {

/// The factor of a part makes it meet the one below.
MassFunction::MassFunction(const std::string& name, double low, double high) {
  if (name == "equal") {
    parts_.push_back({low, low, 0, 1, 1});
  } else {
    std::vector<double> slopes{physics::salpeter_slope}, borders;
    if (name == "kroupa") {
      slopes.assign(std::begin(physics::kroupa_slopes), std::end(physics::kroupa_slopes));
      borders.assign(std::begin(physics::kroupa_borders), std::end(physics::kroupa_borders));
    }
    borders.push_back(std::numeric_limits<double>::infinity());
    double factor = 1;
    for (std::size_t k = 0; k < slopes.size(); ++k) {
      if (k > 0) factor *= std::pow(borders[k - 1], slopes[k] - slopes[k - 1]);
      const double begin = k > 0 ? std::max(low, borders[k - 1]) : low, end = std::min(high, borders[k]);
      if (begin < end)
        parts_.push_back({begin, end, slopes[k], factor, factor * physics::power_law_moment(slopes[k], begin, end, 0)});
    }
  }
  for (const Part& part : parts_) stars_ += part.stars;
}

/// One uniform number says which part it is, and where in it.
double MassFunction::draw(Philox& random) const {
  double u = random.uniform() * stars_;
  std::size_t k = 0;
  while (k + 1 < parts_.size() && u >= parts_[k].stars) u -= parts_[k++].stars;
  const Part& part = parts_[k];
  if (part.low == part.high) return part.low;
  return physics::power_law_quantile(part.slope, part.low, part.high, std::min(1.0, u / part.stars));
}

double MassFunction::mean_power(int k) const {
  double sum = 0;
  for (const Part& part : parts_)
    sum += part.low == part.high ? std::pow(part.low, k)
                                 : part.factor * physics::power_law_moment(part.slope, part.low, part.high, k);
  return sum / stars_;
}

}  // namespace pergola
