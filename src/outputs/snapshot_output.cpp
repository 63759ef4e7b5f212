#include "outputs/snapshot_output.hpp"

#include <algorithm>
#include <functional>
#include <vector>

#include "outputs/schedule.hpp"
#include "sim/system_entry.hpp"

namespace pergola {

namespace {

/// Of all kinds of system.
std::vector<std::string> file_names() {
  std::vector<std::string> names;
  for (const SystemEntry& entry : system_entries()) names.push_back(entry.snapshots);
  return names;
}

class SnapshotOutput final : public Output {
 public:
  using Output::Output;

  double next_time() const override { return std::min(clock_.next(), listed_.empty() ? never : listed_.back()); }
  bool due(const Moment& now) override { return next_time() <= now.time; }

  void write(const Moment& now) override {
    take(now.system);
    clock_.skip_to(now.time);
    forget_listed(now.time);
  }

  void begin(System& system) override {
    clock_ = clock(system);
    list_redshifts(system.time());
    take(system);
  }

  void resume(System& system, const OutputMemory& memory) override {
    clock_ = resumed(clock(system), context_.before->output.snapshots_every == context_.config.output.snapshots_every,
                     memory.at("snapshot_index"), system.step_time());
    list_redshifts(system.step_time());
    context_.results.snapshots = static_cast<int>(memory.at("snapshots"));
    context_.on_root([&] {
      for (const auto& pattern : file_names())
        remove_numbered_files(context_.directory, pattern, context_.results.snapshots);
    });
  }

  void finish(System& system) override { take(system); }

  void save(OutputMemory& memory) const override {
    memory["snapshots"] = context_.results.snapshots;
    memory["snapshot_index"] = static_cast<double>(clock_.index());
  }

 private:
  OutputClock clock(const System& system) const {
    return {system.start_time(), context_.config.output.snapshots_every, context_.config.run.end_time,
            context_.config.cosmology.has_value()};
  }

  /// The scale factors of output.redshifts between now and the end, the next one last.
  void list_redshifts(double now) {
    const double end = context_.config.run.end_time;
    listed_.clear();
    for (const double redshift : context_.config.output.redshifts)
      if (const double a = 1 / (1 + redshift); a < end * (1 - 1e-9)) listed_.push_back(a);
    std::sort(listed_.begin(), listed_.end(), std::greater<>());
    forget_listed(now);
  }
  void forget_listed(double now) {
    while (!listed_.empty() && listed_.back() <= now) listed_.pop_back();
  }

  void take(System& system) {
    Profile::Scope scope(&system.profile(), "snapshot");
    std::function<void()> done;
    context_.on_root([&] { done = begin_file(context_); });
    const auto path = context_.directory / snapshot_name(context_.config, context_.results.snapshots);
    system.write_snapshot(path, context_.queue.get(), done);
    ++context_.results.snapshots;
  }

  OutputClock clock_;
  std::vector<double> listed_;
};

}  // namespace

OutputEntry snapshot_output() {
  return {.name = "snapshot",
          .keys = {"output.snapshots_every", "output.redshifts", "output.particles_most", "output.files"},
          .files = file_names(),
          .make = [](OutputContext& context) { return std::make_unique<SnapshotOutput>(context); }};
}

}  // namespace pergola
