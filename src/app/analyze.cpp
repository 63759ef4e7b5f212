#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <map>
#include <memory>

#include "analysis/analysis.hpp"
#include "app/analysis_files.hpp"
#include "app/analysis_report.hpp"
#include "app/command.hpp"
#include "app/wait_line.hpp"
#include "app/written_files.hpp"
#include "base/atomic_file.hpp"
#include "base/error.hpp"
#include "base/text.hpp"
#include "comm/agreement.hpp"

namespace pergola::app {

namespace {

namespace fs = std::filesystem;

struct Request {
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

KeyValue value_of(const std::string& text) {
  if (const auto integer = parse_integer(text)) return *integer;
  if (const auto real = parse_real(text)) return *real;
  if (text == "true" || text == "false") return text == "true";
  return text;
}

AnalysisOptions options_of(const AnalysisEntry& entry, const Request& request) {
  AnalysisOptions options;
  for (const auto& key : entry.keys) {
    const auto given = request.options.find(key.name);
    if (given == request.options.end()) continue;
    if (const auto problem = key.take(options, value_of(given->second))) {
      const std::string near = nearest_name(given->second, problem->words);
      throw Error(ErrorKind::input,
                  fmt::format("--{}: expected {}, found {}{}", key.name, problem->expected, given->second,
                              near.empty() ? "" : fmt::format("; did you mean {}?", near)));
    }
  }
  return options;
}

std::string ending_of(const std::string& name) {
  std::string found = fs::path(name).extension().string();
  std::transform(found.begin(), found.end(), found.begin(), [](unsigned char c) { return std::tolower(c); });
  return found;
}

bool is_hdf5_name(const std::string& name) { return ending_of(name) == ".hdf5" || ending_of(name) == ".h5"; }

void check_outputs(const Request& request, const std::vector<std::string>& inputs) {
  if (!request.output.empty() && ending_of(request.output) != ".csv" && !is_hdf5_name(request.output)) {
    const std::string found = ending_of(request.output);
    throw Error(ErrorKind::input, fmt::format("--output: {}: expected a name that ends in .csv, .hdf5 or .h5, found {}",
                                              request.output, found.empty() ? "no ending" : found));
  }
  if (!request.output.empty()) refuse_input_as_output("--output", request.output, {inputs.begin(), inputs.end()});
  if (request.plot.empty()) return;
  drawing_format(request.plot, "--plot");
  refuse_input_as_output("--plot", request.plot, {inputs.begin(), inputs.end()});
}

/// What was asked for, in the order in which it is written.
std::vector<fs::path> names_of_files(const Request& request) {
  std::vector<fs::path> names;
  for (const std::string& name : {request.output, request.plot})
    if (!name.empty()) names.emplace_back(name);
  return names;
}

void write_files(const AnalysisEntry& entry, const std::vector<std::string>& inputs, const AnalysisResult& result,
                 const Request& request) {
  const Drawing drawing = request.plot.empty() ? Drawing(1, 1) : draw_figures(result.figures);
  if (is_hdf5_name(request.output)) {
    write_hdf5_table(request.output, entry.name, inputs, result);
  } else if (!request.output.empty()) {
    write_text(request.output, to_csv(result.table));
  }
  if (!request.plot.empty()) write_drawing(request.plot, drawing);
}

/// Whether all ranks work on it: where the analysis knows how to, and none of them was told to take a GPU.
bool by_all_ranks(const AnalysisEntry& entry, const Context& context) {
  std::int64_t able = entry.by_ranks && (context.device == "auto" || context.device == "cpu") ? 1 : 0;
  context.communicator->all_reduce(&able, 1, Reduction::minimum);
  return able != 0 && context.communicator->size() > 1;
}

/// By all ranks, or by rank 0 alone.
void analyze(const AnalysisEntry& entry, const Request& request, const Context& context, bool by_all) {
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

void add_options(Command command, const AnalysisEntry& entry, const std::shared_ptr<Request>& request) {
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
    const auto request = std::make_shared<Request>();
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
