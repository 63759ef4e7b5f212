#include <fmt/format.h>

#include <algorithm>

#include "analysis/analysis.hpp"
#include "analysis/centers.hpp"

namespace pergola {

Key<AnalysisOptions> center_key() {
  Key<AnalysisOptions> key;
  key.name = "center";
  key.help = "density (the densest place), potential (the particle with the lowest), mass, or X,Y,Z";
  key.take = [](AnalysisOptions& options, const KeyValue& value) -> std::optional<KeyProblem> {
    const std::vector<std::string> words{"density", "potential", "mass"};
    const auto* text = std::get_if<std::string>(&value);
    if (!text || (std::count(words.begin(), words.end(), *text) == 0 && !parse_place(*text)))
      return KeyProblem{"density, potential, mass or three numbers such as 0,0,0.5", words};
    options.center = *text;
    return std::nullopt;
  };
  key.value = [](const AnalysisOptions& options) -> KeyValue { return options.center; };
  return key;
}

Key<AnalysisOptions> species_key() {
  Key<AnalysisOptions> key;
  key.name = "species";
  key.help = "of these particles only: gas, halo, disc, bulge, stars, boundary, with commas between; or all";
  key.take = [](AnalysisOptions& options, const KeyValue& value) -> std::optional<KeyProblem> {
    const std::vector<std::string> known(species_names.begin(), species_names.end());
    const KeyProblem problem{fmt::format("all or some of {}", fmt::join(known, ", ")), known};
    const auto* text = std::get_if<std::string>(&value);
    if (!text) return problem;
    const auto names = split_names(*text);
    const auto is_known = [&](const std::string& name) { return std::count(known.begin(), known.end(), name) > 0; };
    if (*text != "all" && !std::all_of(names.begin(), names.end(), is_known)) return problem;
    options.species = *text;
    return std::nullopt;
  };
  key.value = [](const AnalysisOptions& options) -> KeyValue { return options.species; };
  return key;
}

Key<AnalysisOptions> bins_key(std::int64_t otherwise) {
  return integer_option<AnalysisOptions>(
      "bins", "number of bins; 0: " + std::to_string(otherwise), Range::between(0, 1e6),
      [](auto& options) -> auto& { return options.bins; });
}

Key<AnalysisOptions> low_key(const std::string& help) {
  return real_option<AnalysisOptions>(
      "from", help, Range{}, [](auto& options) -> auto& { return options.low; });
}

Key<AnalysisOptions> high_key(const std::string& help) {
  return real_option<AnalysisOptions>(
      "to", help, Range{}, [](auto& options) -> auto& { return options.high; });
}

Key<AnalysisOptions> softening_key() {
  return real_option<AnalysisOptions>(
      "softening", "length of potentials that the file does not hold, in its unit", Range::at_least(0),
      [](auto& options) -> auto& { return options.softening; });
}

}  // namespace pergola
