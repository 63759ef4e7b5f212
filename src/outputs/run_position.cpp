#include "outputs/run_position.hpp"

#include <fmt/core.h>

#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "base/version.hpp"

namespace pergola {

using nlohmann::json;

namespace {

constexpr int description_version = 1;

json to_json(const Vec3<double>& v) { return {v.x, v.y, v.z}; }

Vec3<double> vector_from(const json& value) { return {value.at(0), value.at(1), value.at(2)}; }

}  // namespace

std::string describe(const RunPosition& p) {
  json profile = json::array();
  for (const auto& stage : p.profile.stages()) profile.push_back({stage.name, stage.calls, stage.seconds});
  json text{{"format", description_version},
            {"version", version()},
            {"configuration", config_text(p.config)},
            {"time", p.time},
            {"computed_on", p.computed_on},
            {"initial_state", p.initial_state},
            {"start",
             {{"kinetic", p.start.kinetic},
              {"potential", p.start.potential},
              {"momentum", to_json(p.start.momentum)},
              {"angular_momentum", to_json(p.start.angular_momentum)}}},
            {"wall_seconds", p.wall_seconds},
            {"profile", profile}};
  for (const auto& [name, number] : p.outputs) text[name] = number;
  return text.dump();
}

std::string computed_on(const Device& device) {
  return device.is_cuda() ? device.name() : fmt::format("a CPU with {}", cpu_instruction_set());
}

RunPosition read_description(const std::string& description) {
  try {
    const json text = json::parse(description);
    if (text.at("format") != description_version)
      throw Error(ErrorKind::input, fmt::format("checkpoint: expected format {} of a run, found {}",
                                                description_version, text.at("format").dump()));
    RunPosition p;
    p.config = parse_config(text.at("configuration"), "checkpoint");
    const auto& start = text.at("start");
    p.start = {start.at("kinetic"), start.at("potential"), vector_from(start.at("momentum")),
               vector_from(start.at("angular_momentum"))};
    p.time = text.value("time", 0.0);
    p.computed_on = text.value("computed_on", "");
    p.initial_state = text.value("initial_state", "");
    p.wall_seconds = text.at("wall_seconds");
    for (const char* name : {"energy_rows", "energy_index", "snapshots", "snapshot_index"})
      p.outputs[name] = text.at(name);
    for (const auto& [name, value] : text.items())
      if (value.is_number() && name != "format" && name != "time" && name != "wall_seconds") p.outputs[name] = value;
    for (const auto& stage : text.at("profile"))
      p.profile.add(stage.at(0).get<std::string>(), stage.at(2).get<double>(), stage.at(1).get<std::int64_t>());
    return p;
  } catch (const json::exception& error) {
    throw Error(ErrorKind::input, fmt::format("checkpoint: not one of a run: {}", error.what()));
  }
}

}  // namespace pergola
