#include "outputs/energy_output.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "base/error.hpp"
#include "base/text.hpp"
#include "outputs/energy_log.hpp"
#include "outputs/schedule.hpp"

namespace pergola {

namespace {

constexpr const char* file_name = "energy.csv";

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
      log_ = EnergyLog(path(), 0, system.energy_columns());
      log_.add(system.time(), row.energies, 0, context_.wall_seconds(), row.more);
    });
  }

  void resume(System& system, const OutputMemory& memory) override {
    clock_ = resumed(clock(system), context_.before->output.energy_every == context_.config.output.energy_every,
                     memory.at("energy_index"), system.step_time());
    if (const auto error = memory.find("energy_error"); error != memory.end())
      context_.results.energy_error = error->second;
    const auto rows = static_cast<std::int64_t>(memory.at("energy_rows"));
    context_.on_root([&] {
      log_ = EnergyLog(path(), rows, system.energy_columns());
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
  std::filesystem::path path() const { return context_.directory / file_name; }

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

  Energies add_line(System& system) {
    const EnergyRow row = measure(system);
    const Energies& start = context_.results.start;
    const double error = row.error.value_or(relative_energy_error(row.energies, start));
    context_.results.energy_error = error;
    context_.on_root([&] { log_.add(system.time(), row.energies, error, context_.wall_seconds(), row.more); });
    return row.energies;
  }

  EnergyLog log_;  // on rank 0
  OutputClock clock_;
  std::optional<double> measured_at_;  // where the line that is due now is measured
};

}  // namespace

OutputEntry energy_output() {
  return {.name = "energy", .keys = {"output.energy_every"}, .files = {file_name}, .make = [](OutputContext& context) {
            return std::make_unique<EnergyOutput>(context);
          }};
}

}  // namespace pergola
