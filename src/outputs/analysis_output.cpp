#include <fmt/core.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <utility>

#include "analysis/analysis.hpp"
#include "base/atomic_file.hpp"
#include "base/error.hpp"
#include "comm/agreement.hpp"
#include "outputs/output.hpp"
#include "outputs/schedule.hpp"
#include "sim/analysis_snapshot.hpp"
#include "sim/system_entry.hpp"

// Analyses that ranks can share get each rank's particles; the others get all particles on rank 0. A table that cannot
// be made is not an error of the run.
namespace pergola {

namespace {

/// For all analyses of particles; # stands for the number of the snapshot.
std::vector<std::string> analysis_files() {
  std::vector<std::string> names;
  for (const AnalysisEntry& entry : analysis_entries())
    if (entry.needs == AnalysisNeeds::particles) names.push_back(fmt::format("{}/{}_#.csv", table_folder, entry.name));
  return names;
}

/// Writes after the snapshot of the same moment, and takes its number.
class AnalysisOutput final : public Output {
 public:
  explicit AnalysisOutput(OutputContext& context) : Output(context) {
    for (const AnalysisEntry& entry : analysis_entries())
      if (const auto& names = context.config.output.analyses; std::count(names.begin(), names.end(), entry.name) > 0)
        taken_.push_back({&entry, options_of(entry)});
  }

  double next_time() const override { return times_.next(); }
  bool due(const Moment& now) override { return next_time() <= now.time; }

  void write(const Moment& now) override {
    take(now.system);
    times_.skip_to(now.time);
  }

  void begin(System& system) override {
    times_ = SnapshotTimes(context_, system);
    refuse_in_open_space(system);
    take(system);
  }

  void resume(System& system, const OutputMemory& memory) override {
    times_ = SnapshotTimes(context_, system, memory);
    refuse_in_open_space(system);
    context_.on_root([&] {
      for (const auto& pattern : analysis_files())
        remove_numbered_files(context_.directory, pattern, context_.results.snapshots);
    });
  }

  void finish(System& system) override { take(system); }

 private:
  struct Taken {
    const AnalysisEntry* entry;
    AnalysisOptions options;
  };

  /// The options from [output.NAME].
  AnalysisOptions options_of(const AnalysisEntry& entry) const {
    AnalysisOptions options;
    const KeyValues& given = context_.config.output.analysis_options;
    for (const auto& key : entry.keys)
      if (const auto found = given.find(fmt::format("{}.{}", entry.name, key.name)); found != given.end())
        key.take(options, found->second);
    return options;
  }

  void refuse_in_open_space(const System& system) const {
    if (!system.has_center()) return;
    for (const auto& [entry, options] : taken_) {
      if (!entry->periodic_only || options.linking_length > 0) continue;
      const auto has_length = [](const auto& key) { return key.name == "linking-length"; };
      const bool or_length = std::any_of(entry->keys.begin(), entry->keys.end(), has_length);
      throw Error(ErrorKind::input,
                  fmt::format("{}: output.analyses: {} needs a periodic box{}, found a run in open space",
                              context_.config.source, entry->name,
                              or_length ? fmt::format(" or output.{}.linking-length", entry->name) : ""));
    }
  }

  void take(System& system) {
    const bool spread = system.own_shown() != nullptr;
    const auto by_ranks = [&](const Taken& taken) { return spread && taken.entry->by_ranks; };
    for (const Taken& taken : taken_)
      if (by_ranks(taken))
        take(taken,
             files_of(
                 system, [&] { return system.own_shown(); }, context_.communicator),
             system);
    if (std::all_of(taken_.begin(), taken_.end(), by_ranks)) return;
    system.on_root([&] {
      for (const Taken& taken : taken_)
        if (!by_ranks(taken))
          take(taken,
               files_of(
                   system, [&] { return system.shown(); }, serial_communicator()),
               system);
    });
  }

  int number() const { return context_.results.snapshots - 1; }

  /// The particles for all ranks together, or for rank 0.
  AnalysisFiles files_of(const System& system, const std::function<std::unique_ptr<ShownParticles>()>& shown,
                         std::shared_ptr<Communicator> ranks) const {
    AnalysisFiles files;
    const std::string name = snapshot_name(context_.config, number());
    files.names = {name};
    const auto with = [this, name, header = system.sample_look().header](Particles particles) {
      return analysis_snapshot(name, header, std::move(particles), &context_.config);
    };
    files.snapshot = [with, shown](std::size_t) { return with(fetch(*shown())); };
    files.frame = [with](std::size_t) { return with({}); };
    files.shown = [shown](std::size_t) { return shown(); };
    files.ranks = std::move(ranks);
    return files;
  }

  /// If there is nothing to measure yet (no groups), the log says so and the run continues.
  void take(const Taken& taken, const AnalysisFiles& files, System& system) const {
    const AnalysisEntry& entry = *taken.entry;
    const std::string stage = fmt::format("analysis: {}", entry.name);
    Profile::Scope scope(&system.profile(), stage.c_str());
    const std::string name = fmt::format("{}/{}_{:03}.csv", table_folder, entry.name, number());
    try {
      const AnalysisResult found = entry.analyze(files, taken.options, system.device());
      pergola::on_root(*files.ranks, [&] { write_text(context_.table(name), to_csv(found.table)); });
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::input) throw;
      if (files.ranks->is_root()) context_.log.info(fmt::format("{} is not written: {}", name, error.what()));
    }
  }

  std::vector<Taken> taken_;
  SnapshotTimes times_;
};

}  // namespace

OutputEntry analysis_output() {
  return {.name = "analysis",
          .keys = {"output.analyses"},
          .files = analysis_files(),
          .make = [](OutputContext& context) -> std::unique_ptr<Output> {
            if (context.config.output.analyses.empty()) return nullptr;
            return std::make_unique<AnalysisOutput>(context);
          }};
}

}  // namespace pergola
