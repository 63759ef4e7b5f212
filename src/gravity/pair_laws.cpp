// The registry of pair laws.
#include "gravity/pair_laws.hpp"

#include <utility>

namespace pergola {

namespace {

std::vector<PairLawEntry>& entries() {
  static std::vector<PairLawEntry> all{plummer_law(), spline_law()};
  return all;
}

}  // namespace

const std::vector<PairLawEntry>& pair_laws() { return entries(); }

SofteningKernel register_pair_law(PairLawEntry entry) {
  entries().push_back(std::move(entry));
  return static_cast<SofteningKernel>(entries().size() - 1);
}

SofteningTable softening_table(const Softening& softening) {
  const PairLawEntry& law = pair_law(softening.kernel);
  SofteningTable table;
  for (std::size_t s = 0; s < softening.epsilon.size(); ++s)
    table.number[s] = law.softening_number(softening.epsilon[s] * softening.epsilon[s]);
  table.by_particle = !softening.uniform() || !law.one_length;
  return table;
}

Error softening_for_points() {
  return {ErrorKind::input, "direct: expected Plummer softening with one length for all where points ask"};
}

}  // namespace pergola
