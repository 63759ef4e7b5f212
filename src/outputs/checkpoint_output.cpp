#include "outputs/checkpoint_output.hpp"

#include <filesystem>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "comm/agreement.hpp"
#include "io/checkpoint.hpp"
#include "io/checkpoint_writer.hpp"
#include "outputs/run_position.hpp"

namespace pergola {

namespace {

/// Bytes that a rank copies at a time of particles that are in memory already.
constexpr std::int64_t small_piece = 4 << 20;

class CheckpointOutput final : public Output {
 public:
  using Output::Output;

  bool at_pauses() const override { return true; }
  bool due(const Moment& /*now*/) override { return true; }

  void write(const Moment& now) override {
    System& system = now.system;
    Profile::Scope scope(&system.profile(), "checkpoint");
    StateSource own;
    if (system.save_own(own)) return write_set(system, std::move(own));
    system.on_root([&] {
      StateSource state;
      system.save(state);
      queue_checkpoint(*context_.queue, folder(), describe(position(system)), state, options(system),
                       [done = begin_file(context_)](const std::filesystem::path&) { done(); });
    });
  }

  void begin(System& /*system*/) override {}
  void resume(System& /*system*/, const OutputMemory& /*memory*/) override {}

 private:
  std::filesystem::path folder() const { return context_.directory / checkpoint_folder; }

  /// On rank 0.
  RunPosition position(System& system) const {
    return {.config = context_.config,
            .start = context_.results.start,
            .time = system.step_time(),
            .computed_on = computed_on(system.device()),
            .initial_state = context_.results.initial_state,
            .wall_seconds = context_.wall_seconds(),
            .outputs = context_.memory(),
            .profile = system.profile()};
  }

  CheckpointOptions options(const System& system) const {
    CheckpointOptions used;
    used.kept = static_cast<int>(context_.config.output.checkpoints_kept);
    if (system.device().is_cuda()) used.threads = system.device().threads();  // the steps leave them idle
    return used;
  }

  /// Every rank writes its particles, at once and while the steps wait; then rank 0 the file that makes it a
  /// checkpoint.
  void write_set(System& system, StateSource own) {
    Communicator& ranks = *context_.communicator;
    std::string first;
    context_.on_root([&] { first = std::filesystem::absolute(next_checkpoint(folder())).string(); });
    share(ranks, first);
    std::vector<CheckpointPart> parts(static_cast<std::size_t>(ranks.size()));
    CheckpointOptions of_part = options(system);
    if (!system.device().is_cuda()) of_part.piece_bytes = small_piece;
    try {
      on_all(ranks, [&] {
        parts[static_cast<std::size_t>(ranks.rank())] = write_checkpoint_part(first, ranks.rank(), own, of_part);
      });
    } catch (...) {  // a part alone is of no use
      std::error_code ignored;
      std::filesystem::remove(checkpoint_part(first, ranks.rank()), ignored);
      throw;
    }
    own = {};
    ranks.all_gather_in_place(parts.data(), std::vector<std::size_t>(parts.size(), sizeof(CheckpointPart)));
    system.on_root([&] {
      context_.queue->drain();  // a checkpoint counts the snapshots before it
      StateSource state;
      system.save(state);
      write_checkpoint_set(first, describe(position(system)), state, parts, options(system));
    });
  }
};

}  // namespace

OutputEntry checkpoint_output() {
  return {.name = "checkpoint",
          .keys = {"output.checkpoint_every_minutes", "output.checkpoints_kept"},
          .files = {checkpoint_folder},
          .make = [](OutputContext& context) { return std::make_unique<CheckpointOutput>(context); }};
}

}  // namespace pergola
