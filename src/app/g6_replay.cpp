// `pergola g6-replay FILE`: runs the recorded calls of a GRAPE-6 client again.
//
// A client writes the trace with PERGOLA_G6_TRACE=FILE (g6/trace.hpp). g6/replay.hpp repeats it; this file reports the
// rate and the differences from the recorded answers. Differences are relative; the rate counts interactions/s in the
// library only. Exit code 1 if the trace ends within a call, or if a difference exceeds --tolerance.
#include "g6/replay.hpp"

#include <fmt/core.h>

#include "app/command.hpp"
#include "app/progress.hpp"
#include "base/error.hpp"
#include "comm/agreement.hpp"

namespace pergola::app {

namespace {

struct ReplayOptions {
  std::string file;
  std::string precision = "mixed";
  bool self_neighbour = false;
  double tolerance = 0;
};

/// Interactions per second in the library; 0 if nothing was timed.
double rate_of(const g6::ReplayReport& report) {
  return report.seconds > 0 ? static_cast<double>(report.interactions) / report.seconds : 0;
}

nlohmann::json to_json(const g6::ReplayDifferences& d) {
  return {{"count", d.count}, {"median", d.median}, {"p99", d.p99}, {"max", d.max}};
}

nlohmann::json to_json(const g6::ReplayReport& r, const ReplayOptions& options, const Device& device) {
  return {{"file", options.file},
          {"device", device.spec()},
          {"precision", options.precision},
          {"calls", r.calls},
          {"j_particles", r.j_particles},
          {"blocks", r.blocks},
          {"i_particles", r.i_particles},
          {"interactions", r.interactions},
          {"seconds", r.seconds},
          {"interactions_per_second", rate_of(r)},
          {"truncated", r.truncated},
          {"acceleration", to_json(r.acceleration)},
          {"jerk", to_json(r.jerk)},
          {"potential", to_json(r.potential)},
          {"nearest", {{"compared", r.nearest_compared}, {"different", r.nearest_different}}},
          {"lists", {{"compared", r.lists_compared}, {"different", r.lists_different}}}};
}

std::string replay_text(const g6::ReplayReport& r, const ReplayOptions& options, const Device& device) {
  const auto line = [](const char* name, const g6::ReplayDifferences& d) {
    return d.count == 0 ? std::string()
                        : fmt::format("  {:<13} median {:.2e}  p99 {:.2e}  max {:.2e}  ({} vectors)\n", name, d.median,
                                      d.p99, d.max, d.count);
  };
  std::string text = fmt::format(
      "{} on {}, {} precision: {} calls, {} j-particles sent, {} blocks of {:.1f} i-particles on average\n"
      "  {:.4g} s in the library, {:.4g} interactions, {}interactions/s\n"
      "differences from what was recorded:\n",
      options.file, device.spec(), options.precision, r.calls, r.j_particles, r.blocks,
      r.blocks > 0 ? static_cast<double>(r.i_particles) / static_cast<double>(r.blocks) : 0.0, r.seconds,
      static_cast<double>(r.interactions), rate_text(rate_of(r)));
  text += line("acceleration", r.acceleration) + line("jerk", r.jerk) + line("potential", r.potential);
  if (r.nearest_compared > 0)
    text += fmt::format("  nearest       {} of {} different\n", r.nearest_different, r.nearest_compared);
  if (r.lists_compared > 0)
    text += fmt::format("  lists         {} of {} different\n", r.lists_different, r.lists_compared);
  if (r.truncated) text += "  the trace ends within a call: the program that wrote it was killed\n";
  return text;
}

/// Whether all differences are within the tolerance. Neighbours must be the same.
bool within(const g6::ReplayReport& r, double tolerance) {
  return r.acceleration.max <= tolerance && r.jerk.max <= tolerance && r.potential.max <= tolerance &&
         r.nearest_different == 0 && r.lists_different == 0;
}

/// The report is printed before an error for a truncated trace or large differences is thrown.
void run_replay(const ReplayOptions& options, Context& context) {
  const auto device = context.open_device();
  const auto precision = options.precision == "double" ? Precision::double_ : Precision::mixed;
  const auto report = g6::replay_trace(options.file, device, precision, options.self_neighbour, [] {
    if (interrupted) throw Error(ErrorKind::interrupted, "interrupted");
  });
  if (context.json)
    context.print(to_json(report, options, device));
  else
    context.print(replay_text(report, options, device));
  if (report.truncated)
    throw Error(ErrorKind::numerics,
                fmt::format("{}: expected whole calls, found an end within call {}: replayed up to there", options.file,
                            report.calls + 1));
  if (options.tolerance > 0 && !within(report, options.tolerance))
    throw Error(ErrorKind::numerics,
                fmt::format("{}: expected all answers within {:g} of the recorded ones (--tolerance),"
                            " found larger differences",
                            options.file, options.tolerance));
}

}  // namespace

void add_g6_replay(Command program, Context& context) {
  auto command = program.add_subcommand(
      "g6-replay", "Run the recorded calls of a GRAPE-6 client again: compare the answers, measure the rate");
  auto options = std::make_shared<ReplayOptions>();
  command->add_option("FILE", options->file, "Trace that a client of libg6 wrote with PERGOLA_G6_TRACE=FILE")
      ->required();
  command->add_option("--precision", options->precision, "mixed or double")
      ->one_of({"mixed", "double"})
      ->capture_default_str();
  command->add_flag("--self-neighbour", options->self_neighbour,
                    "Neighbour lists hold the particle itself (PERGOLA_G6_SELF_NEIGHBOUR=1)");
  command->add_option("--tolerance", options->tolerance, "Exit with 1 when a relative difference is larger than this")
      ->transform(number_in(Range::above(0)));
  command->footer(
      "Example:\n  PERGOLA_G6_TRACE=run.g6 ./my_nbody_code && pergola g6-replay run.g6 --device cuda --tolerance 1e-5");
  command->callback([options, &context] {
    catch_interrupts();
    on_root(*context.communicator, [&] { run_replay(*options, context); });
  });
}

}  // namespace pergola::app
