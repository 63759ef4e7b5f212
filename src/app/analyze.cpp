// `pergola analyze WHAT FILES`: measures snapshots and writes a table (CSV or HDF5) and figures.
//
// Steps: (1) options of the analysis from the command line, (2) the files, or the snapshots of a run's directory, (3)
// the analysis of src/analysis, given functions that read one file at a time, (4) table, findings and figures to the
// output. An analysis is an entry (analysis/analysis.hpp); this file adds one subcommand for each entry and knows none
// by name. Under mpirun all ranks share the particles if the entry can do so; otherwise rank 0 works alone. Numbers are
// in the units of the files; tables and figures state them with each column.
#include <fmt/core.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <utility>

#include "analysis/analysis.hpp"
#include "app/command.hpp"
#include "app/progress.hpp"
#include "app/run_files.hpp"
#include "app/written_files.hpp"
#include "base/atomic_file.hpp"
#include "base/error.hpp"
#include "base/text.hpp"
#include "base/units.hpp"
#include "comm/agreement.hpp"
#include "config/config.hpp"
#include "config/quantities.hpp"
#include "io/openpmd.hpp"
#include "io/state_hash.hpp"
#include "io/table_file.hpp"
#include "outputs/output.hpp"
#include "picture/plot.hpp"
#include "sim/analysis_snapshot.hpp"
#include "sim/unit_text.hpp"

namespace pergola::app {

namespace {

namespace fs = std::filesystem;
using nlohmann::json;

const char* kind_text(AnalysisNeeds needs) {
  return needs == AnalysisNeeds::plasma ? "an openPMD file of a plasma" : "a snapshot of particles";
}

AnalysisNeeds kind_of(const fs::path& file) {
  return is_openpmd(file) ? AnalysisNeeds::plasma : AnalysisNeeds::particles;
}

/// The snapshots of a run by number, of the needed kind.
std::vector<fs::path> snapshots_of_kind(const fs::path& directory, AnalysisNeeds needs) {
  std::vector<fs::path> files;
  for (const auto& [number, path] :
       numbered_files(directory, needs == AnalysisNeeds::plasma ? "plasma_#.h5" : "snap_#.hdf5"))
    files.push_back(path);
  return files;
}

/// The snapshots of a run's directory that an analysis reads. Throws Error(input) if the directory has none of that
/// kind.
std::vector<fs::path> files_of_run(const AnalysisEntry& entry, const fs::path& directory) {
  auto files = snapshots_of_kind(directory, entry.needs);
  if (files.empty()) {
    const auto other = entry.needs == AnalysisNeeds::plasma ? AnalysisNeeds::particles : AnalysisNeeds::plasma;
    const bool is_other = !snapshots_of_kind(directory, other).empty();
    throw Error(ErrorKind::input,
                fmt::format("{}: {} needs {}, found a directory {}", directory.string(), entry.name,
                            kind_text(entry.needs), is_other ? "of another kind of run" : "without any"));
  }
  if (entry.span == AnalysisSpan::last_moment) files.erase(files.begin(), files.end() - 1);
  return files;
}

/// What is known of the run that wrote a file, from run.json beside it.
struct WritingRun {
  RunConfig config;
  std::string table, hash;  // of its linear power, where it had a table
};

/// None if there is no run.json that this version reads.
std::optional<WritingRun> run_of(const fs::path& file) {
  const nlohmann::json record = run_json(file.parent_path());
  try {
    const std::string name = (file.parent_path() / "run.json").string();
    WritingRun run{parse_config(record.at("configuration_toml").get<std::string>(), name), "", ""};
    const auto waves = record.value("waves", json::object());
    run.table = waves.value("table", ""), run.hash = waves.value("hash", "");
    if (waves.empty()) run.config.inherited_cosmology = true;  // no waves were stated
    return run;
  } catch (const std::exception&) {
    return std::nullopt;
  }
}

/// The snapshot with what its run says of it. A table that is another one by now is not that of its waves.
AnalysisSnapshot with_run(const std::string& file, Snapshot own) {
  const auto run = run_of(file);
  AnalysisSnapshot snapshot =
      analysis_snapshot(file, own.header, std::move(own.particles), run ? &run->config : nullptr);
  if (!run || run->table.empty() || !snapshot.universe || !snapshot.universe->waves) return snapshot;
  if (hash_of_file(run->table) == run->hash) return snapshot;
  snapshot.universe->waves.reset();
  snapshot.universe->waves_from = fmt::format("not known: {} has changed since the run", run->table);
  return snapshot;
}

/// Each rank reads its range of the particles.
AnalysisSnapshot load(const std::string& file, Communicator& ranks) {
  Snapshot own = read_stretch(file, ranks);
  AnalysisSnapshot snapshot;
  on_all(ranks, [&] { snapshot = with_run(file, std::move(own)); });
  return snapshot;
}

/// Temperatures are in eV, or in m_e and the unit of velocity if the file is in the plasma's own units.
AnalysisPlasma load_plasma(const std::string& file) {
  const OpenPmdSummary summary = inspect_openpmd(file);
  const bool own_units = summary.time_unit == PlasmaUnits{}.time_name();
  const double speed_m_per_s = summary.length_unit_si / summary.time_unit_si;
  AnalysisPlasma plasma;
  plasma.name = file;
  plasma.time = summary.time;
  plasma.moment = time_text(summary);
  plasma.time_unit = summary.time_unit;
  plasma.velocity_unit = summary.velocity_unit();
  plasma.temperature_unit = own_units ? fmt::format("m_e ({})^2", plasma.velocity_unit) : "eV";
  for (const auto& from : summary.species) {
    AnalysisSpecies species;
    species.name = from.name;
    species.mass = own_units ? from.mass_kg / electron_mass_kg
                             : from.mass_kg * speed_m_per_s * speed_m_per_s / elementary_charge_c;
    species.weight = read_openpmd_weighting(file, from.name);
    for (std::size_t axis = 0; axis < 3 && from.count > 0; ++axis)
      species.velocity[axis] = read_openpmd_coordinate(file, from.name, fmt::format("v{}", "xyz"[axis]));
    plasma.species.push_back(std::move(species));
  }
  return plasma;
}

/// The potential φ of an openPMD file. Throws Error(input) if its size differs from the mesh that the file states.
AnalysisField load_potential(const std::string& file) {
  const OpenPmdSummary summary = inspect_openpmd(file);
  AnalysisField field;
  field.name = file;
  field.time = summary.time;
  field.moment = time_text(summary);
  field.time_unit = summary.time_unit, field.length_unit = summary.length_unit;
  field.dimensions = summary.dimensions;
  for (std::size_t axis = 0; axis < summary.cells.size(); ++axis)
    field.cells[axis] = static_cast<int>(summary.cells[axis]), field.spacing[axis] = summary.spacing[axis];
  for (const auto& mesh : summary.meshes)
    if (mesh.name == "phi") field.unit = mesh.unit;
  field.values = read_openpmd_mesh(file, "phi");
  std::size_t points = 1;
  for (const int cells : field.cells) points *= static_cast<std::size_t>(cells);
  if (field.values.size() != points)
    throw Error(ErrorKind::input, fmt::format("{}: phi has {} values, expected {} as the other fields have", file,
                                              field.values.size(), points));
  return field;
}

/// The files for an analysis: of a directory all snapshots of the run, or the last one, as the entry asks. Throws
/// Error(input) for a file of the wrong kind and for a directory without snapshots. Each rank gets its range of the
/// particles.
AnalysisFiles analysis_files(const AnalysisEntry& entry, const std::vector<std::string>& given,
                             std::shared_ptr<Communicator> ranks) {
  AnalysisFiles files;
  files.ranks = std::move(ranks);
  for (const auto& name : given) {
    std::error_code ignored;
    if (fs::is_directory(name, ignored)) {
      for (const auto& file : files_of_run(entry, name)) files.names.push_back(file.string());
      continue;
    }
    if (const auto kind = kind_of(name); kind != entry.needs)
      throw Error(ErrorKind::input,
                  fmt::format("{}: {} needs {}, found {}", name, entry.name, kind_text(entry.needs), kind_text(kind)));
    files.names.push_back(name);
  }
  require_same_units(files.names);
  files.snapshot = [names = files.names, among = files.ranks](std::size_t k) { return load(names[k], *among); };
  files.potential = [names = files.names](std::size_t k) { return load_potential(names[k]); };
  files.plasma = [names = files.names](std::size_t k) { return load_plasma(names[k]); };
  return files;
}

constexpr int figure_width = 900, figure_height = 420;
constexpr std::size_t most_in_legend = 14;

/// A column as a JSON array; a number that is not finite becomes null.
json values_of(const TableColumn& column) {
  if (const auto* words = std::get_if<std::vector<std::string>>(&column.values)) return *words;
  json list = json::array();
  for (const double value : std::get<std::vector<double>>(column.values)) list.push_back(json_number(value));
  return list;
}

std::string finding_line(const Finding& finding) {
  const auto* real = std::get_if<double>(&finding.value);
  return fmt::format("{}: {}{}", finding.name,
                     real ? fmt::format("{:.6g}", *real) : std::get<std::string>(finding.value),
                     finding.unit.empty() ? "" : fmt::format(" {}", finding.unit));
}

/// The lines, cut to fit an attribute of 64 KiB: a run may have thousands of files.
std::string text_of_lines(const std::vector<std::string>& lines) {
  constexpr std::size_t most = 32768;
  std::string text;
  for (const std::string& line : lines) {
    if (text.size() + line.size() > most) return text + "...\n";
    text += fmt::format("{}\n", line);
  }
  return text;
}

/// A figure of an analysis as a plot. A dashed line without a name continues the colour of the line before it.
Plot plot_of(const Figure& figure) {
  Plot plot;
  plot.title = figure.title;
  plot.x.label = label_with_unit(figure.x_label, drawn_unit(figure.x_unit)), plot.x.log = figure.x_log;
  plot.y.label = label_with_unit(figure.y_label, drawn_unit(figure.y_unit)), plot.y.log = figure.y_log;
  plot.legend = figure.lines.size() > 1 && figure.lines.size() <= most_in_legend;
  int color = -1;
  for (const FigureLine& line : figure.lines) {
    SeriesStyle style;
    if (color < 0 || !line.dashed || !line.name.empty()) ++color;
    style.color = color;
    if (line.points) style.stroke = Stroke::none, style.marker = Marker::circle;
    if (line.dashed) style.stroke = Stroke::dashed;
    plot.add_series(line.name, line.x, line.y, style);
  }
  return plot;
}

/// Writes the table as an HDF5 file that appears whole: a data set per column with its unit as an attribute. The
/// analysis, its files and the findings are attributes of the root.
void write_hdf5_table(const std::string& path, const std::string& analysis, const std::vector<std::string>& files,
                      const AnalysisResult& result) {
  std::vector<std::string> lines;
  for (const Finding& finding : result.findings) lines.push_back(finding_line(finding));
  std::vector<FileColumn> columns;
  for (const TableColumn& column : result.table.columns)
    columns.push_back({column.name, column.unit, std::get_if<std::vector<double>>(&column.values),
                       std::get_if<std::vector<std::string>>(&column.values)});
  write_table_file(path, {{"analysis", analysis}, {"files", text_of_lines(files)}, {"findings", text_of_lines(lines)}},
                   columns);
}

/// The whole result; numbers that are not finite (an empty shell's dispersion) are null.
json to_json(const AnalysisResult& result) {
  json columns = json::array(), findings = json::array();
  for (const auto& column : result.table.columns)
    columns.push_back({{"name", column.name}, {"unit", column.unit}, {"values", values_of(column)}});
  for (const auto& finding : result.findings) {
    const auto* real = std::get_if<double>(&finding.value);
    findings.push_back({{"name", finding.name},
                        {"unit", finding.unit},
                        {"value", real ? json_number(*real) : json(std::get<std::string>(finding.value))}});
  }
  return {{"rows", result.table.rows()}, {"columns", columns}, {"findings", findings}};
}

/// The figures below each other.
Drawing draw_figures(const std::vector<Figure>& figures) {
  std::vector<Plot> plots;
  for (const auto& figure : figures) plots.push_back(plot_of(figure));
  return draw_panels(plots, figure_width, figure_height);
}

/// "half-mass radius at the end: 0.77 kpc", a line each.
std::string findings_text(const std::vector<Finding>& findings) {
  std::string text;
  for (const auto& finding : findings) text += fmt::format("{}\n", finding_line(finding));
  return text;
}

/// What the user typed for one analysis. Values of its own options stay text until options_of() checks them.
struct AnalyzeRequest {
  std::vector<std::string> files;
  std::string output, plot;
  std::map<std::string, std::string> options;  // by name
};

std::string option_text(const KeyValue& value) {
  if (const auto* word = std::get_if<std::string>(&value)) return *word;
  if (const auto* flag = std::get_if<bool>(&value)) return *flag ? "true" : "false";
  if (const auto number = number_of(value)) return to_text(*number);
  return "";
}

/// The type of a value is that of its spelling: integer, number, true or false, else a word.
KeyValue value_of(const std::string& text) {
  if (const auto integer = parse_integer(text)) return *integer;
  if (const auto real = parse_real(text)) return *real;
  if (text == "true" || text == "false") return text == "true";
  return text;
}

/// The same of a key: a number with a unit is one in the units of the first file.
KeyValue value_of(const AnalysisEntry& entry, const Key<AnalysisOptions>& key, const AnalyzeRequest& request) {
  const std::string& text = request.options.at(key.name);
  if (key.dimension == dimension::none || parse_real(text)) return value_of(text);
  fs::path file = request.files.front();
  std::error_code ignored;
  if (fs::is_directory(file, ignored)) file = files_of_run(entry, file).front();
  const QuantityUnits units = quantity_units(file.string(), inspect_snapshot(file).header);
  if (const auto number = plain_number(text, key.dimension, units, "--" + key.name)) return *number;
  return value_of(text);
}

/// Checks the typed values against the keys of the entry. Throws Error(input) that names the option and what it
/// expects.
AnalysisOptions options_of(const AnalysisEntry& entry, const AnalyzeRequest& request) {
  AnalysisOptions options;
  for (const auto& key : entry.keys) {
    const auto given = request.options.find(key.name);
    if (given == request.options.end()) continue;
    if (const auto problem = key.take(options, value_of(entry, key, request))) {
      const std::string near = nearest_name(given->second, problem->words);
      throw Error(ErrorKind::input,
                  fmt::format("--{}: expected {}, found {}{}", key.name, problem->expected, given->second,
                              near.empty() ? "" : fmt::format("; did you mean {}?", near)));
    }
  }
  return options;
}

std::string lower_ending(const std::string& name) {
  std::string found = fs::path(name).extension().string();
  std::transform(found.begin(), found.end(), found.begin(), [](unsigned char c) { return std::tolower(c); });
  return found;
}

bool is_hdf5_name(const std::string& name) { return lower_ending(name) == ".hdf5" || lower_ending(name) == ".h5"; }

/// Refuses, before any work, endings that cannot be written and outputs that would replace an input.
void check_outputs(const AnalyzeRequest& request, const std::vector<std::string>& inputs) {
  if (!request.output.empty() && lower_ending(request.output) != ".csv" && !is_hdf5_name(request.output)) {
    const std::string found = lower_ending(request.output);
    throw Error(ErrorKind::input, fmt::format("--output: {}: expected a name that ends in .csv, .hdf5 or .h5, found {}",
                                              request.output, found.empty() ? "no ending" : found));
  }
  if (!request.output.empty()) refuse_input_as_output("--output", request.output, {inputs.begin(), inputs.end()});
  if (request.plot.empty()) return;
  drawing_format(request.plot, "--plot");
  refuse_input_as_output("--plot", request.plot, {inputs.begin(), inputs.end()});
}

/// The wanted files, in the order of writing.
std::vector<fs::path> names_of_files(const AnalyzeRequest& request) {
  std::vector<fs::path> names;
  for (const std::string& name : {request.output, request.plot})
    if (!name.empty()) names.emplace_back(name);
  return names;
}

/// The drawing is made before the first file is written, so that an error in it replaces no table.
void write_files(const AnalysisEntry& entry, const std::vector<std::string>& inputs, const AnalysisResult& result,
                 const AnalyzeRequest& request) {
  const Drawing drawing = request.plot.empty() ? Drawing(1, 1) : draw_figures(result.figures);
  if (is_hdf5_name(request.output)) {
    write_hdf5_table(request.output, entry.name, inputs, result);
  } else if (!request.output.empty()) {
    write_text(request.output, to_csv(result.table));
  }
  if (!request.plot.empty()) write_drawing(request.plot, drawing);
}

/// Whether all ranks work on it: if the analysis can, and no rank was given a GPU.
bool by_all_ranks(const AnalysisEntry& entry, const Context& context) {
  std::int64_t able = entry.by_ranks && (context.device == "auto" || context.device == "cpu") ? 1 : 0;
  context.communicator->all_reduce(&able, 1, Reduction::minimum);
  return able != 0 && context.communicator->size() > 1;
}

/// By all ranks, or by rank 0 alone.
void analyze(const AnalysisEntry& entry, const AnalyzeRequest& request, const Context& context, bool by_all) {
  const AnalysisOptions options = options_of(entry, request);
  const AnalysisFiles files =
      analysis_files(entry, request.files, by_all ? context.communicator : serial_communicator());
  check_outputs(request, files.names);
  WaitLine wait(context, "analyze " + entry.name);
  const AnalysisResult result =
      entry.analyze(files, options, by_all ? Device::open("cpu", context.threads) : context.open_device());
  wait.end();
  on_root(*files.ranks, [&] {
    const std::vector<fs::path> names = names_of_files(request);
    WrittenFiles written(names);
    write_files(entry, files.names, result, request);
    auto value = to_json(result);
    value["analysis"] = entry.name;
    value["files"] = files.names;
    value["written"] = nlohmann::json::array();
    for (const auto& path : names) value["written"].push_back(path.string());
    std::string text = request.output.empty() ? to_csv(result.table) : findings_text(result.findings);
    if (!request.output.empty())
      for (const auto& path : names) text += path.string() + "\n";
    written.print_and_keep(context, text, value);
  });
}

/// Options of one analysis. Keys of the entry become --NAME VALUE with their defaults in the help.
void add_options(Command command, const AnalysisEntry& entry, const std::shared_ptr<AnalyzeRequest>& request) {
  const char* what = entry.needs == AnalysisNeeds::plasma ? "openPMD files of a plasma" : "Snapshots in any format";
  const char* run = entry.span == AnalysisSpan::through_time ? "all its snapshots" : "its last snapshot";
  command.add_option("files", request->files, fmt::format("{}, or the directory of a run: {}", what, run))->required();
  command
      .add_option("-o,--output", request->output,
                  "CSV or HDF5 file to write; without it the table goes to standard output")
      ->type_name("FILE");
  command.add_option("--plot", request->plot, "The same as a plot: PNG, SVG or PDF file to write")->type_name("FILE");
  const AnalysisOptions defaults;
  for (const auto& key : entry.keys)
    command
        .add_option_function(
            "--" + key.name, [request, name = key.name](const std::string& text) { request->options[name] = text; },
            fmt::format("{} ({})", key.help, option_text(key.value(defaults))))
        ->type_name("VALUE");
}

}  // namespace

void add_analyze(Command program, Context& context) {
  auto command = program.add_subcommand("analyze", "Measure snapshots: radii, profiles and more, as CSV and plots");
  command->require_subcommand(1);
  command->footer(
      "Example:\n  pergola analyze radii cluster -o radii.csv --plot radii.png\n\n"
      "`pergola analyze WHAT --help` shows what one writes and its options.");
  for (const auto& entry : analysis_entries()) {
    const auto request = std::make_shared<AnalyzeRequest>();
    auto one = command->add_subcommand(entry.name, entry.help);
    if (!entry.also.empty()) one->alias(entry.also);
    add_options(one, entry, request);
    const std::string in_a_run =
        entry.needs == AnalysisNeeds::particles
            ? fmt::format(
                  "\n\nA run does it with every snapshot where output.analyses names it; these options are then "
                  "keys of [output.{}].",
                  entry.name)
            : "";
    one->footer(
        fmt::format("{}{}{}\n\nExample:\n  pergola analyze {} {}", entry.details, in_a_run,
                    entry.by_ranks ? " Under mpirun all ranks work on it, each on its stretch of the particles." : "",
                    entry.name, entry.example));
    one->callback([&entry, request, &context] {
      if (by_all_ranks(entry, context)) return analyze(entry, *request, context, true);
      on_root(*context.communicator, [&] { analyze(entry, *request, context, false); });
    });
  }
}

}  // namespace pergola::app
