#include "run/reproduction.hpp"

#include <fmt/core.h>

#include <cstdint>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/error.hpp"
#include "io/input_file.hpp"

namespace pergola {

using nlohmann::ordered_json;

namespace {

constexpr std::int64_t longest_record = std::int64_t{1} << 24;
constexpr const char* final_state = "/hashes/final_state";

/// A string or a number; empty where there is none.
std::string text_at(const ordered_json& record, const char* path) {
  const ordered_json::json_pointer pointer(path);
  if (!record.contains(pointer)) return "";
  const auto& value = record.at(pointer);
  if (value.is_number()) return value.dump();
  return value.is_string() ? value.get<std::string>() : "";
}

std::string status_text(const std::string& status) {
  for (const char* known : {"running", "interrupted", "failed"})
    if (status == known) return fmt::format("one that is {}", known);
  return "no status of a run";
}

}  // namespace

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
