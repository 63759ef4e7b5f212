#include "outputs/checkpoint_output.hpp"

#include "io/checkpoint_writer.hpp"
#include "outputs/run_position.hpp"

namespace pergola {

namespace {

class CheckpointOutput final : public Output {
 public:
  using Output::Output;

  bool at_pauses() const override { return true; }
  bool due(const Moment& /*now*/) override { return true; }

  void write(const Moment& now) override {
    System& system = now.system;
    Profile::Scope scope(&system.profile(), "checkpoint");
    system.on_root([&] {
      StateSource state;
      system.save(state);
      const RunPosition position{.config = context_.config,
                                 .start = context_.results.start,
                                 .time = system.step_time(),
                                 .computed_on = computed_on(system.device()),
                                 .initial_state = context_.results.initial_state,
                                 .wall_seconds = context_.wall_seconds(),
                                 .outputs = context_.memory(),
                                 .profile = system.profile()};
      CheckpointOptions options;
      options.kept = static_cast<int>(context_.config.output.checkpoints_kept);
      if (system.device().is_cuda()) options.threads = system.device().threads();  // the steps leave them idle
      queue_checkpoint(*context_.queue, context_.directory / checkpoint_folder, describe(position), state, options,
                       [done = begin_file(context_)](const std::filesystem::path&) { done(); });
    });
  }

  void begin(System& /*system*/) override {}
  void resume(System& /*system*/, const OutputMemory& /*memory*/) override {}
};

}  // namespace

OutputEntry checkpoint_output() {
  return {.name = "checkpoint",
          .keys = {"output.checkpoint_every_minutes", "output.checkpoints_kept"},
          .files = {checkpoint_folder},
          .make = [](OutputContext& context) { return std::make_unique<CheckpointOutput>(context); }};
}

}  // namespace pergola
