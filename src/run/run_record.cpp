#include "run/run_record.hpp"

#include <dlfcn.h>
#include <fmt/core.h>
#include <link.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/error.hpp"
#include "base/text.hpp"
#include "base/version.hpp"
#include "config/kind.hpp"
#include "config/value.hpp"
#include "io/input_file.hpp"
#include "io/state_hash.hpp"
#include "time/particle_failure.hpp"

// run.json holds status, program, device, counts, energies, checks, hashes and the configuration, in a fixed
// order. Numbers that do not exist are null. The configuration is stored twice: as an object for other
// programs, and as the TOML text that --reproduce parses. Every write replaces the whole file.
namespace pergola {

using nlohmann::ordered_json;

bool RunSummary::all_passed() const {
  return std::all_of(checks.begin(), checks.end(), [](const Check& check) { return check.passed; });
}

namespace {

ordered_json to_json(const ConfigValue& value) {
  if (const auto* table = value.get_if<ConfigValue::Table>()) {
    ordered_json object = ordered_json::object();
    for (const auto& [key, entry] : *table) object[key] = to_json(entry);
    return object;
  }
  if (const auto* array = value.get_if<ConfigValue::Array>()) {
    ordered_json list = ordered_json::array();
    for (const auto& entry : *array) list.push_back(to_json(entry));
    return list;
  }
  if (const auto* flag = value.get_if<bool>()) return *flag;
  if (const auto* integer = value.get_if<std::int64_t>()) return *integer;
  if (const auto* real = value.get_if<double>()) return *real;
  if (const auto* word = value.get_if<std::string>()) return *word;
  return value.found();
}

ordered_json to_json(const Vec3<double>& v) { return {v.x, v.y, v.z}; }

/// The virial ratio is one of gravity's.
ordered_json to_json(const Energies& e, const RunConfig& config) {
  ordered_json text{{"kinetic", e.kinetic},
                    {"potential", e.potential},
                    {"total", e.total()},
                    {"momentum", to_json(e.momentum)},
                    {"angular_momentum", to_json(e.angular_momentum)}};
  if (has_key(kind_of(config), "gravity.solver")) text["virial_ratio"] = e.virial_ratio();
  return text;
}

ordered_json to_json(const std::vector<Check>& checks) {
  ordered_json list = ordered_json::array();
  for (const auto& check : checks) {
    list.push_back({{"name", check.name},
                    {"measured", check.measured},
                    {"expected", check.expected},
                    {"tolerance", check.tolerance},
                    {"passed", check.passed}});
    if (check.scatter > 0) list.back()["scatter"] = check.scatter;
    if (!check.parts.empty()) list.back()["parts"] = check.parts;
  }
  return list;
}

ordered_json to_json(const std::vector<ControlLine>& control) {
  ordered_json list = ordered_json::array();
  for (const auto& line : control)
    list.push_back({{"command", line.command}, {"time", line.time}, {"steps", line.steps}});
  return list;
}

/// The configuration with all defaults filled in, as an object.
ordered_json configuration(const RunConfig& config) { return to_json(parse_toml(config_text(config), config.source)); }

/// A path may hold bytes that are not UTF-8.
std::string text_of(const ordered_json& value) {
  return value.dump(2, ' ', false, ordered_json::error_handler_t::replace) + "\n";
}

ordered_json or_null(const std::string& hash) { return hash.empty() ? ordered_json() : ordered_json(hash); }

/// The hash of the file that this code was loaded from: the program, or the library that another program has loaded.
/// Empty: not known.
const std::string& program_hash() {
  static const std::string hash = [] {
    Dl_info info{};
    void* object = nullptr;
    const bool found = dladdr1(reinterpret_cast<const void*>(&program_hash), &info, &object, RTLD_DL_LINKMAP) != 0;
    const char* const name = found ? static_cast<const link_map*>(object)->l_name : "";
    try {
      return hash_of_file(*name != 0 ? name : "/proc/self/exe");
    } catch (const Error&) {
      return std::string();  // a user may be allowed to execute the file and not to read it
    }
  }();
  return hash;
}

/// Bytes. A longer file is not read: it cannot be a record.
constexpr std::int64_t longest_record = std::int64_t{1} << 24;
constexpr const char* final_state = "/hashes/final_state";

/// A string or a number as text; empty if there is none.
std::string text_at(const ordered_json& record, const char* path) {
  const ordered_json::json_pointer pointer(path);
  if (!record.contains(pointer)) return "";
  const auto& value = record.at(pointer);
  if (value.is_number()) return value.dump();
  return value.is_string() ? value.get<std::string>() : "";
}

/// For an error's text. An unknown status is not quoted, because it may be any text of another file.
std::string status_text(const std::string& status) {
  for (const char* known : {"running", "interrupted", "failed", "forked"})
    if (status == known) return fmt::format("one that is {}", known);
  return "no status of a run";
}

/// JSON has no NaN: such numbers are written as null.
double number(const ordered_json& value) { return value.is_number() ? value.get<double>() : std::nan(""); }

}  // namespace

std::string record_text(const RunConfig& config, const System& system, const RunResults& results,
                        const RunRecord& record) {
  const auto& device = system.device();
  const auto counts = system.counts();
  ordered_json text;
  text["status"] = record.status;
  text["version"] = version();
  text["commit"] = build_commit();
  text["device"] = device.spec();
  text["device_name"] = device.name();
  text["cpu_instruction_set"] = cpu_instruction_set();
  text["gpu"] = device.is_cuda() ? ordered_json(device.name()) : ordered_json();
  text["threads"] = device.threads();
  text["ranks"] = record.ranks;
  if (const auto& times = record.times)
    text["rank_times"] = {{"work_mean_seconds", times->working_mean},
                          {"work_most_seconds", times->working_most},
                          {"imbalance", RankTimes::imbalance(times->working_most, times->working_mean)},
                          {"with_others_mean_seconds", times->waiting_mean},
                          {"bytes", times->bytes},
                          {"calls", times->calls}};
  if (const auto& memory = record.memory) {
    text["memory"] = {{"most_bytes", memory->host}, {"gpu_most_bytes", memory->gpu}};
    if (memory->gpu > 0) text["memory"]["gpu_most_in"] = memory->gpu_in.empty() ? "between steps" : memory->gpu_in;
  }
  text["precision"] = precision_name(config.precision());
  text["n"] = system.size();
  const auto seed = config.seed();
  text["seed"] = seed ? ordered_json(*seed) : ordered_json();
  text["start_time"] = system.start_time();
  text["time"] = system.time();
  text["end_time"] = config.run.end_time;
  text["totals"] = {{"steps", counts.steps},
                    {"particle_steps", counts.particle_steps},
                    {"interactions", counts.interactions},
                    {"wall_seconds", record.wall_seconds},
                    {"snapshots", results.snapshots}};
  text.update(ordered_json::parse(system.describe()));
  text["energy_start"] = to_json(results.start, config);
  text["energy_end"] = results.end ? to_json(*results.end, config) : ordered_json();
  text["energy_error"] = results.end && results.energy_error ? ordered_json(*results.energy_error) : ordered_json();
  text["checks"] = to_json(results.checks);
  if (!record.forked_from.empty()) text["forked_from"] = ordered_json::parse(record.forked_from);
  if (!results.control.empty()) text["control"] = to_json(results.control);
  text["hashes"] = {{"program", or_null(program_hash())},
                    {"configuration", hash_of_text(config_text(config))},
                    {"initial_state", or_null(results.initial_state)},
                    {"final_state", or_null(results.final_state)}};
  text["configuration"] = configuration(config);
  text["configuration_toml"] = config_text(config);  // what --reproduce reads: with the order of keys
  return text_of(text);
}

std::optional<FinishedRun> read_finished_run(const std::filesystem::path& run_json) {
  std::ifstream file(run_json, std::ios::binary);
  if (!file) return std::nullopt;
  FinishedRun run;
  run.summary.json.assign(std::istreambuf_iterator<char>(file), {});
  const auto text = ordered_json::parse(run.summary.json, nullptr, false);
  if (!text.is_object() || text.value("status", "") != "finished") return std::nullopt;
  try {
    const auto& totals = text.at("totals");
    run.end_time = text.at("end_time");
    run.summary.status = RunStatus::finished_before;
    run.summary.energy_error = number(text.at("energy_error"));
    run.summary.counts = {totals.at("steps"), totals.at("particle_steps"), totals.at("interactions")};
    run.summary.wall_seconds = totals.at("wall_seconds");
    run.summary.snapshots = totals.at("snapshots");
    for (const auto& check : text.at("checks"))
      run.summary.checks.push_back({check.at("name"), number(check.at("measured")), number(check.at("expected")),
                                    number(check.at("tolerance")), check.at("passed"), check.value("scatter", 0.0),
                                    check.value("parts", std::vector<double>{})});
  } catch (const nlohmann::json::exception&) {
    return std::nullopt;  // another program's run.json
  }
  try {
    run.config = parse_config(text.value("configuration_toml", ""), run_json.string());
  } catch (const std::exception&) {
    run.config.reset();
  }
  return run;
}

std::vector<ControlLine> read_control(const std::filesystem::path& run_json) {
  std::ifstream file(run_json, std::ios::binary);
  const auto text = ordered_json::parse(file, nullptr, false);
  std::vector<ControlLine> control;
  if (!text.is_object() || !text.contains("control")) return control;
  try {
    for (const auto& line : text.at("control"))
      control.push_back({line.at("command"), line.at("time"), line.at("steps")});
  } catch (const nlohmann::json::exception&) {
    return {};  // another program's run.json
  }
  return control;
}

std::string branch_text(const RunConfig& config, const BranchOrigin& origin) {
  ordered_json text;
  text["status"] = "forked";
  text["version"] = version();
  text["forked_from"] = {{"directory", origin.directory.string()},
                         {"checkpoint", origin.checkpoint.filename().string()},
                         {"time", origin.time},
                         {"changes", origin.changes}};
  if (const std::string before = read_branch(origin.directory / "run.json").forked_from; !before.empty())
    text["forked_from"]["forked_from"] = ordered_json::parse(before);
  text["configuration_toml"] = config_text(config);
  return text_of(text);
}

BranchRecord read_branch(const std::filesystem::path& run_json) {
  std::ifstream file(run_json, std::ios::binary);
  const auto text = ordered_json::parse(file, nullptr, false);
  if (!text.is_object() || !text.contains("forked_from")) return {};
  return {text.at("forked_from").dump(), text_at(text, "/configuration_toml")};
}

std::string failure_text(const std::exception& error, const System& system) {
  ordered_json text;
  text["error"] = error.what();
  text["time"] = system.time();
  text["step"] = system.counts().steps;
  if (const auto* failure = dynamic_cast<const ParticleFailure*>(&error)) {
    const auto& state = failure->state();
    text["time"] = failure->time();
    text["reason"] = failure->reason();
    text["particle"] = {{"id", state.id},
                        {"mass", state.mass},
                        {"time", state.time},
                        {"position", to_json(state.position)},
                        {"velocity", to_json(state.velocity)},
                        {"acceleration", to_json(state.acceleration)},
                        {"jerk", to_json(state.jerk)}};
  }
  return text_of(text);
}

std::string profile_text(const Profile& profile, const std::optional<RankTimes>& ranks) {
  std::string text = fmt::format("stage,calls,seconds{}\n", ranks ? ",work_mean,work_most,imbalance" : "");
  for (const auto& stage : profile.stages()) {
    text += fmt::format("{},{},{:.6f}", stage.name, stage.calls, stage.seconds);
    if (ranks) {
      RankTimes::Stage work;
      for (const auto& one : ranks->stages)
        if (one.name == stage.name) work = one;
      text += fmt::format(",{:.6f},{:.6f},{:.3f}", work.mean, work.most, RankTimes::imbalance(work.most, work.mean));
    }
    text += '\n';
  }
  return text;
}

FinishedRecord read_record_to_reproduce(const std::filesystem::path& run_json) {
  const InputFile file(run_json);
  const auto refuse = [&](const std::string& found) {
    throw Error(ErrorKind::input,
                fmt::format("{}: expected the run.json of a finished run, found {}", run_json.string(), found));
  };
  if (file.size() > longest_record) refuse("more than 16 MiB");
  FinishedRecord record;
  record.text.resize(static_cast<std::size_t>(file.size()));
  file.read(0, record.text.data(), record.text.size());
  const auto json = ordered_json::parse(record.text, nullptr, false);
  if (!json.is_object()) refuse("something that is not a JSON object");
  if (const std::string status = text_at(json, "/status"); status != "finished") refuse(status_text(status));
  if (json.contains("forked_from")) refuse("that of a branch: branch off again with pergola fork");
  if (text_at(json, final_state).empty()) refuse("no hash of the final state (an older version wrote it)");
  const std::string configuration = text_at(json, "/configuration_toml");
  if (configuration.empty()) refuse("no configuration_toml");
  record.config = parse_config(configuration, fmt::format("{}: configuration_toml", run_json.string()));
  return record;
}

RecordComparison compare_records(const std::string& expected, const std::string& found) {
  const auto before = ordered_json::parse(expected), now = ordered_json::parse(found);
  RecordComparison comparison;
  comparison.expected = text_at(before, final_state);
  comparison.found = text_at(now, final_state);
  comparison.same = comparison.expected == comparison.found && !comparison.found.empty();
  for (const auto& [path, name] : {std::pair{"/version", "version"},
                                   {"/commit", "commit"},
                                   {"/hashes/program", "program"},
                                   {"/cpu_instruction_set", "CPU instruction set"},
                                   {"/device_name", "device"},
                                   {"/precision", "precision"},
                                   {"/start_time", "time of the particles"},
                                   {"/hashes/initial_state", "particles at the start"}})
    if (const std::string was = text_at(before, path), is = text_at(now, path); was != is)
      comparison.differences.push_back(fmt::format("{}: {} then, {} now", name, was.empty() ? "unknown" : was, is));
  return comparison;
}

}  // namespace pergola
