#include <fmt/core.h>

#include <cstdint>
#include <functional>
#include <vector>

#include "outputs/output.hpp"
#include "outputs/schedule.hpp"
#include "sim/system_entry.hpp"

namespace pergola {

namespace {

/// The names for all kinds of system.
std::vector<std::string> snapshot_files() {
  std::vector<std::string> names;
  for (const SystemEntry& entry : system_entries()) names.push_back(entry.snapshots);
  return names;
}

/// Numbers snapshots in order, or by step. A resumed run removes later ones and writes them again.
class SnapshotOutput final : public Output {
 public:
  using Output::Output;

  double next_time() const override { return times_.next(); }
  bool due(const Moment& now) override { return next_time() <= now.time; }

  void write(const Moment& now) override {
    take(now.system);
    times_.skip_to(now.time);
  }

  void begin(System& system) override {
    times_ = SnapshotTimes(context_, system);
    take(system);
  }

  void resume(System& system, const OutputMemory& memory) override {
    times_ = SnapshotTimes(context_, system, memory);
    context_.results.snapshots = static_cast<int>(memory.at("snapshots"));
    number_ = static_cast<std::int64_t>(remembered(memory, "snapshot_number", context_.results.snapshots - 1));
    context_.on_root([&] {
      for (const auto& pattern : snapshot_files()) remove_numbered_files(context_.directory, pattern, number_ + 1);
      if (system_entry(context_.config).snapshots_by_step && !memory.contains("snapshot_number"))
        context_.log.info(fmt::format(
            "{}: snapshots so far are numbered by output, as an earlier version of pergola did; from here on by step",
            context_.directory.string()));
    });
  }

  void finish(System& system) override { take(system); }

  void save(OutputMemory& memory) const override {
    memory["snapshots"] = context_.results.snapshots;
    memory["snapshot_number"] = static_cast<double>(number_);
    times_.save(memory);
  }

 private:
  void take(System& system) {
    Profile::Scope scope(&system.profile(), "snapshot");
    std::function<void()> done;
    context_.on_root([&] { done = begin_file(context_); });
    number_ = system_entry(context_.config).snapshots_by_step ? system.counts().steps : context_.results.snapshots;
    const auto path = context_.directory / snapshot_name(context_.config, number_);
    system.write_snapshot(path, context_.queue.get(), done);
    ++context_.results.snapshots;
  }

  SnapshotTimes times_;
  std::int64_t number_ = -1;  // of the latest snapshot
};

}  // namespace

OutputEntry snapshot_output() {
  return {.name = "snapshot",
          .keys = {"output.snapshots_every", "output.redshifts", "output.particles_most", "output.files"},
          .files = snapshot_files(),
          .make = [](OutputContext& context) { return std::make_unique<SnapshotOutput>(context); }};
}

}  // namespace pergola
