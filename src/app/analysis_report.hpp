#pragma once
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "analysis/analysis.hpp"
#include "picture/drawing.hpp"

namespace pergola::app {

/// The table as an HDF5 file that appears whole: a data set per column with its unit as an attribute; which analysis of
/// which files it is, and the findings, are attributes of the root.
void write_hdf5_table(const std::string& path, const std::string& analysis, const std::vector<std::string>& files,
                      const AnalysisResult& result);

/// The whole result; numbers that are none (an empty shell's dispersion) are null.
nlohmann::json to_json(const AnalysisResult& result);

/// The figures below each other.
Drawing draw_figures(const std::vector<Figure>& figures);

/// "half-mass radius at the end: 0.77 kpc", a line each.
std::string findings_text(const std::vector<Finding>& findings);

}  // namespace pergola::app
