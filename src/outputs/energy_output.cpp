#include <fmt/core.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/error.hpp"
#include "base/text.hpp"
#include "outputs/csv_log.hpp"
#include "outputs/output.hpp"
#include "outputs/schedule.hpp"

// A line stands at the first moment at which the system's energies are defined (`System::measured_at`): for a leapfrog
// the next step, not the exact time, because predicted energies would show a sawtooth.
namespace pergola {

namespace {

constexpr const char* energy_file = "energy.csv";

/// The columns of all systems and those of this one, with units where it has some.
std::string energy_header(const System& system) {
  const EnergyUnits units = system.energy_units();
  std::vector<std::string> names{column_name("time", units.time)};
  for (const char* name : {"kinetic", "potential", "total"}) names.push_back(column_name(name, units.energy));
  names.emplace_back("relative_error");
  for (const char* name : {"px", "py", "pz"}) names.push_back(column_name(name, units.momentum));
  for (const char* name : {"lx", "ly", "lz"}) names.push_back(column_name(name, units.angular_momentum));
  names.emplace_back("wall");
  for (const std::string& name : system.energy_columns()) names.push_back(column_name(name, units.energy));
  return fmt::format("{}", fmt::join(names, ","));
}

/// One line per interval. The first and the last line give the run's energy error.
class EnergyOutput final : public Output {
 public:
  using Output::Output;

  double next_time() const override { return measured_at_.value_or(clock_.next()); }

  bool due(const Moment& now) override {
    if (!measured_at_ && clock_.next() <= now.time) measured_at_ = now.system.measured_at(clock_.next());
    return measured_at_ && *measured_at_ <= now.time;
  }

  void write(const Moment& now) override {
    add_line(now.system);
    clock_.skip_to(now.time);
    measured_at_.reset();
  }

  void begin(System& system) override {
    clock_ = clock(system);
    const EnergyRow row = measure(system);
    context_.results.start = row.energies;
    context_.on_root([&] {
      open(system, 0);
      log_row(system, row, 0);
    });
  }

  void resume(System& system, const OutputMemory& memory) override {
    clock_ = resumed(clock(system), context_.before->output.energy_every == context_.config.output.energy_every,
                     memory.at("energy_index"), system.step_time());
    if (const auto error = memory.find("energy_error"); error != memory.end())
      context_.results.energy_error = error->second;
    const auto rows = static_cast<std::int64_t>(memory.at("energy_rows"));
    context_.on_root([&] {
      open(system, rows);
      if (log_.rows() < rows)
        context_.log.warning(fmt::format("{}: {} of the {} lines before the checkpoint are missing", path().string(),
                                         rows - log_.rows(), rows));
    });
  }

  void finish(System& system) override {
    context_.results.end = add_line(system);
    context_.on_root([&] { log_.sync(); });
  }

  void save(OutputMemory& memory) const override {
    log_.sync();
    memory["energy_rows"] = static_cast<double>(log_.rows());
    memory["energy_index"] = static_cast<double>(clock_.index());
    if (context_.results.energy_error) memory["energy_error"] = *context_.results.energy_error;
  }

 private:
  std::filesystem::path path() const { return context_.directory / energy_file; }

  OutputClock clock(const System& system) const {
    return {system.start_time(), context_.config.output.energy_every, context_.config.run.end_time,
            context_.config.cosmology.has_value()};
  }

  EnergyRow measure(System& system) {
    Profile::Scope scope(&system.profile(), "energy");
    EnergyRow row = system.measure();
    if (const double total = row.energies.total(); !std::isfinite(total))
      throw Error(ErrorKind::numerics,
                  fmt::format("at time {} the energy is {}", to_text(system.time()), to_text(total)));
    return row;
  }

  /// On rank 0; `rows` as in CsvLog.
  void open(const System& system, std::int64_t rows) { log_ = CsvLog(path(), energy_header(system), rows); }

  /// On rank 0.
  void log_row(const System& system, const EnergyRow& row, double error) {
    const Energies& now = row.energies;
    const auto &p = now.momentum, &l = now.angular_momentum;
    std::string line;
    for (const double value :
         {system.time(), now.kinetic, now.potential, now.total(), error, p.x, p.y, p.z, l.x, l.y, l.z})
      line += to_text(value) + ",";
    line += fmt::format("{:.3f}", context_.wall_seconds());
    for (const double value : row.more) line += "," + to_text(value);
    log_.add(std::move(line));
  }

  Energies add_line(System& system) {
    const EnergyRow row = measure(system);
    const Energies& start = context_.results.start;
    const double error = row.error.value_or(relative_energy_error(row.energies, start));
    context_.results.energy_error = error;
    context_.on_root([&] { log_row(system, row, error); });
    return row.energies;
  }

  CsvLog log_;  // on rank 0
  OutputClock clock_;
  std::optional<double> measured_at_;  // the time at which the due line is measured
};

}  // namespace

OutputEntry energy_output() {
  return {
      .name = "energy", .keys = {"output.energy_every"}, .files = {energy_file}, .make = [](OutputContext& context) {
        return std::make_unique<EnergyOutput>(context);
      }};
}

}  // namespace pergola
