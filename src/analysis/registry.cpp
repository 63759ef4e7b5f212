#include <utility>

#include "analysis/analysis.hpp"

namespace pergola {

namespace {

std::vector<AnalysisEntry>& entries() {
  static std::vector<AnalysisEntry> all{radii_entry(),        profile_entry(),      rotation_entry(),
                                        bar_entry(),          orbits_entry(),       escapers_entry(),
                                        power_entry(),        groups_entry(),       mass_function_entry(),
                                        temperatures_entry(), distribution_entry(), modes_entry()};
  return all;
}

}  // namespace

const std::vector<AnalysisEntry>& analysis_entries() { return entries(); }

void register_analysis(AnalysisEntry entry) { entries().push_back(std::move(entry)); }

}  // namespace pergola
