#include <fmt/core.h>

#include "outputs/output.hpp"
#include "sim/plasma_diagnostics.hpp"

namespace pergola {

namespace {

/// Records the potential after each `spectrum_every` steps; writes all files at the end.
class SpectrumOutput final : public Output {
 public:
  using Output::Output;

  std::int64_t every_steps() const override { return context_.config.output.spectrum_every; }
  bool due(const Moment& now) override { return now.steps > last_step_ && now.steps % every_steps() == 0; }

  void write(const Moment& now) override {
    Profile::Scope scope(&now.system.profile(), "spectrum");
    now.system.record();
    last_step_ = now.steps;
  }

  void begin(System& system) override { write({system, system.time(), system.counts().steps}); }
  /// At its step, the checkpoint was written after this output.
  void resume(System& system, const OutputMemory&) override { last_step_ = system.counts().steps; }

  void finish(System& system) override {
    // Only one thread may use HDF5.
    context_.on_root([&] { context_.queue->drain(); });
    system.write_records(context_.directory / table_folder);
  }

 private:
  std::int64_t last_step_ = -1;
};

}  // namespace

OutputEntry spectrum_output() {
  std::vector<std::string> files;
  for (const std::string& name : PlasmaDiagnostics::file_names())
    files.push_back(fmt::format("{}/{}", table_folder, name));
  return {.name = "spectrum",
          .keys = {"output.spectrum_every"},
          .files = files,
          .make = [](OutputContext& context) -> std::unique_ptr<Output> {
            if (context.config.output.spectrum_every == 0) return nullptr;
            return std::make_unique<SpectrumOutput>(context);
          }};
}

}  // namespace pergola
