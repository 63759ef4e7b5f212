// The analyses of `pergola analyze` on particles that Python holds.
//
// The package passes moments (particles, time, box, units) and options by name; analyze() returns plain dicts and
// arrays, which the package wraps. Particles are not copied until an analysis asks for its snapshot.
#include <fmt/core.h>

#include <map>

#include "analysis/analysis.hpp"
#include "python/core.hpp"

namespace pergola::python {

namespace {

using Options = std::map<std::string, Variant<bool, std::int64_t, double, std::string>>;

/// Particles at one time; units are those of their file, if it states them.
struct Moment {
  std::shared_ptr<Particles> particles;
  double time = 0, box_side = 0;
  std::optional<FileUnits> units{};
};

/// The package has checked the name against analyses().
const AnalysisEntry& entry_named(const std::string& name) {
  for (const AnalysisEntry& entry : analysis_entries())
    if (entry.name == name && entry.needs == AnalysisNeeds::particles) return entry;
  throw Error(ErrorKind::input, fmt::format("analyze: expected an analysis of particles, found {}", name));
}

/// Checks each option against its key. Throws Error(input) that says what the key expects.
AnalysisOptions options_for(const AnalysisEntry& entry, const Options& given) {
  AnalysisOptions options;
  for (const auto& key : entry.keys) {
    const auto found = given.find(key.name);
    if (found == given.end()) continue;
    const KeyValue value = std::visit([](const auto& one) { return KeyValue(one); }, found->second);
    if (const auto problem = key.take(options, value))
      throw Error(ErrorKind::input, fmt::format("analyze: {}: expected {}", key.name, problem->expected));
  }
  return options;
}

/// Moments in the place of files: an analysis asks for snapshot k and gets a copy of the particles of moment k.
AnalysisFiles files_of(const std::vector<Moment>& moments) {
  AnalysisFiles files;
  for (std::size_t k = 0; k < moments.size(); ++k) files.names.push_back(fmt::format("particles {}", k));
  files.snapshot = [&moments, names = files.names](std::size_t k) {
    const Moment& from = moments.at(k);
    AnalysisSnapshot to;
    to.name = names[k];
    to.time = from.time;
    to.moment = fmt::format("t = {:g}", from.time);
    if (from.box_side > 0) to.box = {{0, 0, 0}, {from.box_side, from.box_side, from.box_side}, Boundary::periodic};
    RunConfig config;
    take_file_units(config, to.name, from.units);
    to.gravitational_constant = config.unit_system().gravitational_constant;
    to.particles = *from.particles;
    return to;
  };
  return files;
}

/// A column as a NumPy array, or as a list of words.
py::object values_of(const TableColumn& column) {
  if (const auto* words = std::get_if<std::vector<std::string>>(&column.values)) return py::cast(*words);
  const auto& numbers = std::get<std::vector<double>>(column.values);
  return py::array_t<double>(static_cast<py::ssize_t>(numbers.size()), numbers.data());
}

/// A figure as plain data; pergola.plot.figure() draws it with matplotlib.
py::dict to_dict(const Figure& figure) {
  using namespace py::literals;
  py::list lines;
  for (const FigureLine& line : figure.lines)
    lines.append(py::dict("name"_a = line.name, "x"_a = line.x, "y"_a = line.y, "points"_a = line.points,
                          "dashed"_a = line.dashed));
  return py::dict("title"_a = figure.title, "x_label"_a = figure.x_label, "y_label"_a = figure.y_label,
                  "x_log"_a = figure.x_log, "y_log"_a = figure.y_log, "lines"_a = lines);
}

/// Findings, columns and figures.
py::tuple analyze(const std::string& name, const std::vector<Moment>& moments, const Options& given,
                  const std::string& device, int threads) {
  AnalysisResult result;
  {
    const py::gil_scoped_release free;
    const AnalysisEntry& entry = entry_named(name);
    const AnalysisOptions options = options_for(entry, given);
    if (moments.empty()) throw Error(ErrorKind::input, "analyze: expected particles, found none");
    result = entry.analyze(files_of(moments), options, Device::open(device, threads));
  }
  py::dict findings, table;
  for (const Finding& one : result.findings)
    findings[py::str(one.name)] = std::visit([](const auto& value) { return py::object(py::cast(value)); }, one.value);
  for (const TableColumn& column : result.table.columns) table[py::str(column.name)] = values_of(column);
  py::list figures;
  for (const Figure& figure : result.figures) figures.append(to_dict(figure));
  return py::make_tuple(findings, table, figures);
}

}  // namespace

/// Moment is for the package only: users pass Particles, snapshots or simulations.
void bind_analysis(py::module_& module) {
  py::class_<Moment>(module, "Moment")
      .def(py::init([](std::shared_ptr<Particles> particles, double time, double box_side, const py::object& units) {
        return Moment{std::move(particles), time, box_side, units_of(units)};
      }));
  module.def("analyze", &analyze);
  module.def("analyses", [] {
    py::dict all;
    for (const AnalysisEntry& entry : analysis_entries()) {
      if (entry.needs != AnalysisNeeds::particles) continue;
      py::dict options;
      for (const auto& key : entry.keys) options[py::str(key.name)] = key.help;
      all[py::str(entry.name)] =
          py::dict(py::arg("summary") = entry.help, py::arg("details") = entry.details, py::arg("options") = options);
    }
    return all;
  });
}

}  // namespace pergola::python
