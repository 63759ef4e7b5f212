#include <fmt/core.h>

#include "base/text.hpp"
#include "outputs/csv_log.hpp"
#include "outputs/output.hpp"
#include "sim/unit_text.hpp"

namespace pergola {

namespace {

constexpr const char* audit_file = "audit.csv";

/// One line per audit, after every `force_audit_every` steps. No lines if forces are exact.
class AuditOutput final : public Output {
 public:
  using Output::Output;

  std::int64_t every_steps() const override { return audits_ ? context_.config.output.force_audit_every : 0; }

  bool due(const Moment& now) override {
    return audits_ && now.steps > last_step_ && now.steps % context_.config.output.force_audit_every == 0;
  }

  void write(const Moment& now) override {
    Profile::Scope scope(&now.system.profile(), "force audit");
    last_step_ = now.steps;
    const ForceErrors errors = now.system.audit(context_.config.output.force_audit_sample);
    context_.results.force_error = errors.median;
    context_.on_root([&] {
      log_.add(fmt::format("{},{},{},{},{},{},{}", to_text(now.system.step_time()), last_step_, errors.sample,
                           to_text(errors.median), to_text(errors.rms), to_text(errors.p99), to_text(errors.max)));
    });
  }

  void begin(System& system) override {
    open(system, 0);
    const Moment now{system, system.time(), system.counts().steps};
    if (due(now)) write(now);
  }

  void resume(System& system, const OutputMemory& memory) override {
    last_step_ = static_cast<std::int64_t>(remembered(memory, "audit_step", -1));
    context_.results.force_error = remembered(memory, "force_error", 0);
    open(system, static_cast<std::int64_t>(remembered(memory, "audit_rows", 0)));
  }

  void finish(System& /*system*/) override {
    context_.on_root([&] { log_.sync(); });
  }

  void save(OutputMemory& memory) const override {
    log_.sync();
    memory["audit_rows"] = static_cast<double>(log_.rows());
    memory["audit_step"] = static_cast<double>(last_step_);
    memory["force_error"] = context_.results.force_error;
  }

 private:
  /// `rows`: the lines of the file before the checkpoint.
  void open(System& system, std::int64_t rows) {
    audits_ = system.can_audit();
    const std::string time = column_name("time", plain_units(system.sample_look().header).time);
    context_.on_root([&] {
      if (audits_)
        log_ = CsvLog(context_.directory / audit_file, time + ",step,sample,median,rms,p99,max", rows);
      else
        context_.log.info("output.force_audit_every: forces are sums over all pairs, there is no error to measure");
    });
  }

  CsvLog log_;  // on rank 0
  bool audits_ = false;
  std::int64_t last_step_ = -1;  // of the latest line
};

}  // namespace

OutputEntry audit_output() {
  return {.name = "audit",
          .keys = {"output.force_audit_every", "output.force_audit_sample"},
          .files = {audit_file},
          .make = [](OutputContext& context) -> std::unique_ptr<Output> {
            if (context.config.output.force_audit_every == 0) return nullptr;
            return std::make_unique<AuditOutput>(context);
          }};
}

}  // namespace pergola
