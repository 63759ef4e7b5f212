#include "outputs/checkpoint_output.hpp"
#include "base/error.hpp"
#include "base/version.hpp"
#include "comm/agreement.hpp"
#include "io/checkpoint.hpp"
#include "io/checkpoint_writer.hpp"

#include <fmt/core.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

// One process copies its state and queues the file. With distributed particles each rank writes a part; the set is
// valid only when rank 0 has written the last file. If a part fails, its file is removed and all ranks throw.
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
              {"angular_momentum", to_json(p.start.angular_momentum)},
              {"internal", p.start.internal}}},
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
               vector_from(start.at("angular_momentum")), start.value("internal", 0.0)};
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

namespace {

/// The bytes that a rank copies at once, of particles that are in memory already.
constexpr std::int64_t small_piece = 4 << 20;

/// Writes whenever the run pauses to be saved.
class CheckpointOutput final : public Output {
 public:
  using Output::Output;

  bool at_pauses() const override { return true; }
  bool due(const Moment& /*now*/) override { return true; }

  void write(const Moment& now) override {
    System& system = now.system;
    Profile::Scope scope(&system.profile(), "checkpoint");
    StateSource own;
    if (system.save_own(own)) return write_set(system, std::move(own));
    system.on_root([&] {
      StateSource state;
      system.save(state);
      queue_checkpoint(*context_.queue, folder(), describe(position(system)), state, options(system),
                       [done = begin_file(context_)](const std::filesystem::path&) { done(); });
    });
  }

  void begin(System& /*system*/) override {}
  void resume(System& /*system*/, const OutputMemory& /*memory*/) override {}

 private:
  std::filesystem::path folder() const { return context_.directory / checkpoint_folder; }

  /// On rank 0.
  RunPosition position(System& system) const {
    return {.config = context_.config,
            .start = context_.results.start,
            .time = system.step_time(),
            .computed_on = computed_on(system.device()),
            .initial_state = context_.results.initial_state,
            .wall_seconds = context_.wall_seconds(),
            .outputs = context_.memory(),
            .profile = system.profile()};
  }

  CheckpointOptions options(const System& system) const {
    CheckpointOptions used;
    used.kept = static_cast<int>(context_.config.output.checkpoints_kept);
    if (system.device().is_cuda()) used.threads = system.device().threads();  // the steps leave them idle
    return used;
  }

  /// Every rank writes its particles while the steps wait. Then rank 0 writes the file that makes them a checkpoint.
  void write_set(System& system, StateSource own) {
    Communicator& ranks = *context_.communicator;
    std::string first;
    context_.on_root([&] { first = std::filesystem::absolute(next_checkpoint(folder())).string(); });
    share(ranks, first);
    std::vector<CheckpointPart> parts(static_cast<std::size_t>(ranks.size()));
    CheckpointOptions of_part = options(system);
    if (!system.device().is_cuda()) of_part.piece_bytes = small_piece;
    try {
      on_all(ranks, [&] {
        parts[static_cast<std::size_t>(ranks.rank())] = write_checkpoint_part(first, ranks.rank(), own, of_part);
      });
    } catch (...) {  // a part alone is of no use
      std::error_code ignored;
      std::filesystem::remove(checkpoint_part(first, ranks.rank()), ignored);
      throw;
    }
    own = {};
    ranks.all_gather_in_place(parts.data(), std::vector<std::size_t>(parts.size(), sizeof(CheckpointPart)));
    system.on_root([&] {
      context_.queue->drain();  // a checkpoint counts the snapshots before it
      StateSource state;
      system.save(state);
      write_checkpoint_set(first, describe(position(system)), state, parts, options(system));
    });
  }
};

}  // namespace

OutputEntry checkpoint_output() {
  return {.name = "checkpoint",
          .keys = {"output.checkpoint_every_minutes", "output.checkpoints_kept"},
          .files = {checkpoint_folder},
          .make = [](OutputContext& context) { return std::make_unique<CheckpointOutput>(context); }};
}

}  // namespace pergola
