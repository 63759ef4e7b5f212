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

/// Numbers snapshots in order. A resumed run removes later ones and writes them again.
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
    context_.on_root([&] {
      for (const auto& pattern : snapshot_files())
        remove_numbered_files(context_.directory, pattern, context_.results.snapshots);
    });
  }

  void finish(System& system) override { take(system); }

  void save(OutputMemory& memory) const override {
    memory["snapshots"] = context_.results.snapshots;
    times_.save(memory);
  }

 private:
  void take(System& system) {
    Profile::Scope scope(&system.profile(), "snapshot");
    std::function<void()> done;
    context_.on_root([&] { done = begin_file(context_); });
    const auto path = context_.directory / snapshot_name(context_.config, context_.results.snapshots);
    system.write_snapshot(path, context_.queue.get(), done);
    ++context_.results.snapshots;
  }

  SnapshotTimes times_;
};

}  // namespace

OutputEntry snapshot_output() {
  return {.name = "snapshot",
          .keys = {"output.snapshots_every", "output.redshifts", "output.particles_most", "output.files"},
          .files = snapshot_files(),
          .make = [](OutputContext& context) { return std::make_unique<SnapshotOutput>(context); }};
}

}  // namespace pergola
