#include "run/resume.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "base/text.hpp"
#include "config/keys.hpp"
#include "config/kind.hpp"
#include "io/checkpoint.hpp"
#include "run/run_record.hpp"
#include "sim/system_entry.hpp"
#include "time/integrator_entry.hpp"

namespace pergola {

namespace {

std::string value_text(const ModelValue& value) {
  if (const auto* flag = std::get_if<bool>(&value)) return *flag ? "true" : "false";
  if (const auto* number = std::get_if<double>(&value)) return nlohmann::json(*number).dump();
  return std::get<std::string>(value);
}

/// run.precision is compared by its meaning, because "auto" means one of the others.
bool may_change(const std::string& key) {
  return key == "run.end_time" || key == "run.device" || key == "run.threads" || key == "run.precision" ||
         key.starts_with("output.");
}

/// What each step asks for anew. A fixed step is none of these: its number is the time.
bool is_accuracy(const std::string& key, const RunConfig& config) {
  if (key == "time.eta" || key == "time.courant")
    return config.time.adaptive || integrator_entry(config.time.integrator).in_blocks(config.time);
  return key == "time.corrector_iterations" || key == "gravity.tree.accuracy" || key == "gravity.tree.opening" ||
         key == "gravity.tree.opening_angle" || key == "gravity.tree.order" || key == "gravity.mesh.tolerance" ||
         key == "gravity.mesh.cycles";
}

/// Compares the configuration of a session with that of the run so far.
class Comparison {
 public:
  Comparison(const RunConfig& now, const RunConfig& before, bool forks) : now_(now), before_(before), forks_(forks) {}
  void check() const;

 private:
  [[noreturn]] void refuse_change(const std::string& key, const std::string& is, const std::string& was) const;
  std::string what_else(const std::string& key) const;
  void check_part(const std::string& table, const RunConfig::ParticlesPart& a, const RunConfig::ParticlesPart& b) const;
  void check_particles() const;

  const RunConfig &now_, &before_;
  bool forks_;
};

/// What a branch may change beside outputs and the end, and what may begin with other values of a key. A snapshot has
/// the particles, the units and the universe of its run; no run of a plasma begins with one.
std::string Comparison::what_else(const std::string& key) const {
  if (!system_entry(now_).starts_from_snapshots) return " and run.end_time; for more begin a new run";
  const bool of_particles = key.find("particles") != std::string::npos || key.starts_with("cosmology.") ||
                            key.starts_with("[") || key.starts_with("units.");
  return fmt::format(
      ", run.end_time and the accuracy (time.eta with steps that are chosen anew, gravity.tree.accuracy); for more "
      "begin a {}",
      of_particles ? "new run" : "run with a snapshot (particles.file)");
}

/// The error names the key, both values, and what the user can do.
void Comparison::refuse_change(const std::string& key, const std::string& is, const std::string& was) const {
  if (forks_)
    throw Error(ErrorKind::input,
                fmt::format("{}: {} is {}, but the run was made with {}: a branch goes on from the state of its steps "
                            "and may change [output]{}",
                            now_.source, key, is, was, what_else(key)));
  throw Error(ErrorKind::input,
              fmt::format("{}: {} is {}, but the run to resume was made with {}: set it back, {}or start again with "
                          "--overwrite",
                          now_.source, key, is, was,
                          is_accuracy(key, now_)
                              ? fmt::format("branch off with `pergola fork DIR --set {}={} -o NEW`, ", key, is)
                              : ""));
}

/// Compares the model with all its options. A file may have moved: the checkpoint holds its particles.
void Comparison::check_part(const std::string& table, const RunConfig::ParticlesPart& a,
                            const RunConfig::ParticlesPart& b) const {
  const auto kind = [](const auto& p) { return p.file.empty() ? "model " + p.model : std::string("a file"); };
  if (kind(a) != kind(b)) refuse_change(fmt::format("[{}]", table), kind(a), kind(b));
  if (a.options.n != b.options.n) refuse_change(table + ".n", std::to_string(a.options.n), std::to_string(b.options.n));
  if (a.options.seed != b.options.seed)
    refuse_change(table + ".seed", std::to_string(a.options.seed), std::to_string(b.options.seed));
  const auto text_of = [](const auto& p, const std::string& name) {
    const auto found = p.options.values.find(name);
    return found == p.options.values.end() ? std::string("the default") : value_text(found->second);
  };
  for (const auto* options : {&a.options.values, &b.options.values})
    for (const auto& [name, value] : *options)
      if (text_of(a, name) != text_of(b, name))
        refuse_change(fmt::format("{}.{}", table, name), text_of(a, name), text_of(b, name));
}

/// Of both parts if two systems were put on an orbit.
void Comparison::check_particles() const {
  const auto &a = now_.particles, &b = before_.particles;
  const auto count = [](const auto& p) { return p.parts.empty() ? std::string("one system") : "two parts"; };
  if (a.parts.size() != b.parts.size()) refuse_change("[particles]", count(a), count(b));
  if (a.parts.empty()) return check_part("particles", a, b);
  for (std::size_t k = 0; k < a.parts.size(); ++k)
    check_part(fmt::format("particles.parts.{}", k + 1), a.parts[k], b.parts[k]);
}

void Comparison::check() const {
  const KindEntry &kind = kind_of(now_), &kind_before = kind_of(before_);
  if (kind.name != kind_before.name) {
    const std::string& table = kind.table.empty() ? kind_before.table : kind.table;
    const auto given = [&](const KindEntry& one) { return one.table == table ? "given" : "not given"; };
    refuse_change(fmt::format("[{}]", table), given(kind), given(kind_before));
  }
  for (const auto& key : config_keys()) {
    if (!key.text || may_change(key.path) || !has_key(kind, key.path)) continue;
    if (forks_ && is_accuracy(key.path, now_)) continue;
    const std::string is = key.text(now_), was = key.text(before_);
    const auto shown = [](const std::string& value) { return value.empty() ? "not given" : value; };
    if (is != was) refuse_change(key.path, shown(is), shown(was));
  }
  if (now_.precision() != before_.precision())
    refuse_change("run.precision", std::string(precision_name(now_.precision())),
                  std::string(precision_name(before_.precision())));
  check_particles();
}

}  // namespace

void keep_choices(RunConfig& now, const RunConfig& before) {
  if (now.chosen_step_max) now.time.step_max = before.time.step_max;
}

void check_resumable(const RunConfig& now, const RunConfig& before) { Comparison(now, before, false).check(); }
void check_forkable(const RunConfig& now, const RunConfig& before) { Comparison(now, before, true).check(); }

std::optional<std::filesystem::path> checkpoint_to_resume(const std::filesystem::path& folder,
                                                          const std::function<void(const std::string&)>& notice) {
  const CheckpointSearch search = search_checkpoints(folder);
  if (search.state == CheckpointSearch::State::never_written) return std::nullopt;
  if (search.state == CheckpointSearch::State::none_usable) {
    std::string reasons;
    bool other_version = false;
    for (const auto& found : search.found) {
      reasons += (reasons.empty() ? "" : "; ") + found.reason;
      other_version |= found.fault == CheckpointSearch::Fault::other_version;
    }
    throw Error(ErrorKind::input,
                fmt::format("{}: expected a checkpoint to resume from, found none that can be used ({}); nothing is "
                            "changed: {}start again with --overwrite",
                            folder.string(), reasons,
                            other_version ? "resume with the version of pergola that wrote it, or " : ""));
  }
  for (const auto& found : search.found)
    if (found.fault != CheckpointSearch::Fault::none)
      notice(fmt::format("{}; going on from the one before, {}", found.reason, search.usable().string()));
  return search.usable();
}

std::string keep_all(RunDirectory& directory) {
  const auto aside = directory.set_aside();
  return fmt::format("{}: no checkpoint was ever written here, starting afresh{}", directory.path().string(),
                     aside ? fmt::format("; earlier outputs are in {}", aside->string()) : "");
}

std::string keep_shorter_end(RunDirectory& directory, SnapshotTimes times, double end) {
  const auto finished = read_finished_run(directory.run_json());
  if (!finished || finished->end_time >= end) return {};
  const double rounding = 1e-9 * std::abs(finished->end_time);
  // Output times of the longer run, from the former end on.
  times.skip_to(finished->end_time - rounding);
  if (times.next() <= finished->end_time + rounding) return {};  // the longer run has it too
  std::int64_t last = -1;
  for (const SystemEntry& entry : system_entries())
    if (const auto files = numbered_files(directory.path(), entry.snapshots); !files.empty())
      last = std::max(last, files.rbegin()->first);
  const auto aside = directory.set_aside(last);
  if (!aside) return {};
  return fmt::format(
      "{}: had ended at time {:.12g}, where the longer run has no snapshot: that one and run.json are in {}",
      directory.path().string(), finished->end_time, aside->string());
}

}  // namespace pergola
