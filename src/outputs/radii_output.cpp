#include <algorithm>

#include "analysis/radii.hpp"
#include "base/text.hpp"
#include "outputs/csv_log.hpp"
#include "outputs/output.hpp"
#include "outputs/schedule.hpp"
#include "sim/unit_text.hpp"

namespace pergola {

namespace {

constexpr const char* radii_file = "lagrangian.csv";
constexpr const char* key = "output.radii_every";
/// One line per interval, only in open space.
class RadiiOutput final : public Output {
 public:
  using Output::Output;

  double next_time() const override { return active_ ? clock_.next() : never; }
  bool due(const Moment& now) override { return active_ && clock_.next() <= now.time; }
  void write(const Moment& now) override {
    add_line(now.system);
    clock_.skip_to(now.time);
  }

  void begin(System& system) override {
    open(system, 0);
    if (active_) add_line(system);
  }
  void resume(System& system, const OutputMemory& memory) override {
    open(system, static_cast<std::int64_t>(remembered(memory, "radii_rows", 0)));
    const bool known = memory.contains("radii_index");
    clock_ = resumed(clock_, known && radii_interval(*context_.before) == radii_interval(context_.config),
                     remembered(memory, "radii_index", 1), system.step_time());
  }
  void finish(System& system) override {
    if (!active_) return;
    add_line(system);
    context_.on_root([&] { log_.sync(); });
  }
  void save(OutputMemory& memory) const override {
    if (!active_) return;
    log_.sync();
    memory["radii_rows"] = static_cast<double>(log_.rows());
    memory["radii_index"] = static_cast<double>(clock_.index());
  }

 private:
  void open(System& system, std::int64_t rows) {
    active_ = system.has_center();
    clock_ = OutputClock(system.start_time(), radii_interval(context_.config).value_or(0), context_.config.run.end_time,
                         context_.config.cosmology.has_value());
    if (!active_) return;
    const AnalysisUnits units = plain_units(system.sample_look().header);
    std::string header = column_name("time", units.time);
    for (const double fraction : lagrangian_fractions)
      header += "," + column_name(lagrangian_column(fraction), units.length);
    for (const char* name : {"center_x", "center_y", "center_z"}) header += "," + column_name(name, units.length);
    context_.on_root([&] { log_ = CsvLog(context_.directory / radii_file, header + ",particles", rows); });
  }

  void add_line(System& system) {
    Profile::Scope scope(&system.profile(), "radii");
    system.on_root([&] { log_.add(radii_line(system)); });
  }

  CsvLog log_;  // on rank 0
  OutputClock clock_;
  bool active_ = false;
};

}  // namespace

std::optional<double> radii_interval(const RunConfig& config) {
  const auto found = config.output.more.find(key);
  if (found == config.output.more.end() || found->second < 0) return config.output.energy_every;
  return found->second > 0 ? std::optional(found->second) : std::nullopt;
}

std::string radii_line(System& system) {
  const Particles sample = system.sample(most_particles_for_radii);
  const Vec3<double> center = density_center(sample);
  std::string line = to_text(system.time());
  for (const double radius :
       lagrangian_radii(sample, center, {lagrangian_fractions.begin(), lagrangian_fractions.end()}))
    line += "," + to_text(radius);
  for (const double value : {center.x, center.y, center.z}) line += "," + to_text(value);
  return line + "," + std::to_string(sample.size());
}

OutputEntry radii_output() {
  return {.name = "radii",
          .keys = {key},
          .files = {radii_file},
          .make = [](OutputContext& context) -> std::unique_ptr<Output> {
            if (!radii_interval(context.config)) return nullptr;
            return std::make_unique<RadiiOutput>(context);
          }};
}

}  // namespace pergola
