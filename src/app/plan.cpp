#include <fmt/format.h>

#include <algorithm>

#include "app/command.hpp"
#include "app/progress.hpp"
#include "base/text.hpp"
#include "comm/agreement.hpp"
#include "run/plan.hpp"

namespace pergola::app {

namespace {

nlohmann::json to_json(const RunPlan& plan) {
  nlohmann::json parts = nlohmann::json::array();
  for (const auto& part : plan.parts)
    parts.push_back({{"name", part.name},
                     {"count", part.count},
                     {"seconds", part.seconds},
                     {"processor_seconds", part.processor_seconds}});
  nlohmann::json universe;
  if (const auto& found = plan.universe)
    universe = {{"wave_number_h_per_mpc", found->wave_number},
                {"wave_number_of", found->wave_number_of},
                {"halo_particles", found->halo_particles},
                {"halo_mass_suns_per_h", found->halo_mass},
                {"halo_of", found->halo_of},
                {"notes", found->notes}};
  return {{"n", plan.n},
          {"device", plan.device},
          {"device_name", plan.device_name},
          {"memory",
           {{"device_bytes", plan.device_bytes},
            {"device_free_bytes", plan.device_free_bytes},
            {"device_bytes_per_particle", plan.device_bytes / static_cast<double>(plan.n)},
            {"host_bytes", plan.host_bytes},
            {"host_free_bytes", plan.host_free_bytes},
            {"program_bytes", plan.program_bytes},
            {"fits", plan.fits}}},
          {"steps", plan.steps},
          {"particle_steps", plan.particle_steps},
          {"interactions", plan.interactions},
          {"seconds", plan.seconds},
          {"seconds_range", {plan.seconds_low, plan.seconds_high}},
          {"processor_seconds", plan.processor_seconds},
          {"parts", parts},
          {"interactions_per_second", plan.interactions_per_second},
          {"steps_basis", plan.steps_basis},
          {"rate_basis", plan.rate_basis},
          {"tried", plan.tried},
          {"assumed", plan.assumed},
          {"chosen", plan.chosen},
          {"warnings", plan.warnings},
          {"universe", universe}};
}

/// "start 0.1 s, 800 steps 12.0 s, 17 energies 0.2 s, ..."
std::string parts_text(const RunPlan& plan) {
  std::vector<std::string> words;
  for (const auto& part : plan.parts)
    words.push_back(fmt::format("{}{} {}", part.name == "start" ? "" : fmt::format("{:.6g} ", part.count), part.name,
                                duration_text(part.seconds)));
  return fmt::format("{}", fmt::join(words, ", "));
}

std::string to_text(const RunPlan& plan) {
  const bool pairs = plan.interactions > 0;
  std::string text = fmt::format(
      "particles  {}\n"
      "device     {} ({})\n"
      "memory     {} on the device ({:.0f} bytes per particle), {} free; {} on the host, {} free: {}\n"
      "steps      about {:.3g} steps, {:.3g} particle steps{} ({})\n"
      "time       about {}, from {} to {}; {} of processor time; {} ({})\n"
      "           {}\n",
      plan.n, plan.device, plan.device_name, bytes_text(plan.device_bytes),
      plan.device_bytes / static_cast<double>(plan.n), bytes_text(plan.device_free_bytes), bytes_text(plan.host_bytes),
      bytes_text(plan.host_free_bytes), plan.fits ? "fits" : "does NOT fit", plan.steps, plan.particle_steps,
      pairs ? fmt::format(", {:.3g} pairs", plan.interactions) : "", plan.steps_basis, duration_text(plan.seconds),
      duration_text(plan.seconds_low), duration_text(plan.seconds_high), duration_text(plan.processor_seconds),
      pairs ? rate_text(plan.interactions_per_second) + "pairs/s"
            : rate_text(plan.particle_steps / std::max(plan.seconds, 1e-9)) + "particle steps/s",
      plan.rate_basis, parts_text(plan));
  if (const auto& found = plan.universe) {
    text += fmt::format(
        "trusted    P(k) to 1 % up to k = {:.2g} h/Mpc: {}\n"
        "           halos from {:.2g} Msun/h, {:.0f} particles, {}\n",
        found->wave_number, found->wave_number_of, found->halo_mass, found->halo_particles, found->halo_of);
    for (const auto& sentence : found->notes) text += fmt::format("           {}\n", sentence);
  }
  for (const auto& sentence : plan.chosen) text += fmt::format("chosen     {}\n", sentence);
  for (const auto& sentence : plan.tried) text += fmt::format("tried      {}\n", sentence);
  for (const auto& sentence : plan.assumed) text += fmt::format("assumed    {}\n", sentence);
  if (plan.tried.empty()) text += "           a rough guess, good to a factor of ten: nothing was tried\n";
  return text;
}

struct PlanCommand {
  std::string config;
  std::vector<std::string> sets;
  bool no_trial = false;
};

void foretell(const Context& context, const PlanCommand& options) {
  WaitLine wait(context, "plan");
  wait.begins("reading " + options.config);
  RunConfig config = read_config(options.config, options.sets);
  if (context.device_given) config.run.device = context.device;
  if (context.threads_given) config.run.threads = context.threads;
  const RunPlan plan =
      plan_run(config, {.trial = !options.no_trial, .begins = [&wait](const std::string& part) { wait.begins(part); }});
  wait.end();
  if (context.json)
    context.print(to_json(plan));
  else
    context.print(to_text(plan));
  for (const auto& sentence : plan.warnings) context.remark("warning: " + sentence);
}

}  // namespace

void add_plan(Command program, Context& context) {
  auto command =
      program.add_subcommand("plan", "Estimate memory, steps, outputs and time of a run, with a short trial");
  auto options = std::make_shared<PlanCommand>();
  command->add_option("CONFIG", options->config, "TOML configuration; may be a pipe")->required();
  command->add_option("--set", options->sets, "key=value, replaces a key of the configuration; any number of times")
      ->allow_extra_args(false);
  command->add_flag("--no-trial", options->no_trial,
                    "Try nothing: a rough guess at once (else a trial of at most 10 s and a tenth of the memory)");
  for (const char* name :
       {"--ranks", "--weak", "--network", "--gpus-per-node", "--node-network", "--latency", "--rates"})
    command->add_removed_option(
        name, "run a few steps with mpirun -n N and read bytes and times in run.json (docs/cluster.md)");
  command->footer("Example:\n  pergola plan examples/plummer.toml --set particles.n=1e6");
  command->callback([&context, options] { on_root(*context.communicator, [&] { foretell(context, *options); }); });
}

}  // namespace pergola::app
