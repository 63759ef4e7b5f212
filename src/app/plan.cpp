#include <fmt/core.h>

#include <algorithm>

#include "app/command.hpp"
#include "app/progress_bar.hpp"
#include "base/text.hpp"
#include "run/plan.hpp"

namespace pergola::app {

namespace {

nlohmann::json to_json(const RunPlan& plan) {
  return {{"n", plan.n},
          {"device", plan.device},
          {"device_name", plan.device_name},
          {"memory",
           {{"device_bytes", plan.device_bytes},
            {"device_free_bytes", plan.device_free_bytes},
            {"device_bytes_per_particle", plan.device_bytes / static_cast<double>(plan.n)},
            {"host_bytes", plan.host_bytes},
            {"host_free_bytes", plan.host_free_bytes},
            {"fits", plan.fits}}},
          {"steps", plan.steps},
          {"particle_steps", plan.particle_steps},
          {"interactions", plan.interactions},
          {"seconds", plan.seconds},
          {"interactions_per_second", plan.interactions_per_second},
          {"steps_basis", plan.steps_basis},
          {"rate_basis", plan.rate_basis},
          {"warnings", plan.warnings}};
}

std::string to_text(const RunPlan& plan) {
  const bool pairs = plan.interactions > 0;
  return fmt::format(
      "particles  {}\n"
      "device     {} ({})\n"
      "memory     {} on the device ({:.0f} bytes per particle), {} free; {} on the host, {} free: {}\n"
      "steps      about {:.3g} steps, {:.3g} particle steps{} ({})\n"
      "time       about {} at {} ({})\n",
      plan.n, plan.device, plan.device_name, bytes_text(plan.device_bytes),
      plan.device_bytes / static_cast<double>(plan.n), bytes_text(plan.device_free_bytes), bytes_text(plan.host_bytes),
      bytes_text(plan.host_free_bytes), plan.fits ? "fits" : "does NOT fit", plan.steps, plan.particle_steps,
      pairs ? fmt::format(", {:.3g} pairs", plan.interactions) : "", plan.steps_basis, duration_text(plan.seconds),
      pairs ? rate_text(plan.interactions_per_second) + "pairs/s"
            : rate_text(plan.particle_steps / std::max(plan.seconds, 1e-9)) + "particle steps/s",
      plan.rate_basis);
}

}  // namespace

void add_plan(Command program, Context& context) {
  struct PlanCommand {
    std::string config;
    std::vector<std::string> sets;
  };
  auto command =
      program.add_subcommand("plan", "Estimate memory, steps and time of a run before anything is allocated");
  auto options = std::make_shared<PlanCommand>();
  command->add_option("CONFIG", options->config, "TOML configuration; may be a pipe")->required();
  command->add_option("--set", options->sets, "key=value, replaces a key of the configuration; any number of times")
      ->allow_extra_args(false);
  command->footer("Example:\n  pergola plan examples/plummer.toml --set particles.n=1e6");
  command->callback([&context, options] {
    RunConfig config = read_config(options->config, options->sets);
    if (context.device_given) config.run.device = context.device;
    if (context.threads_given) config.run.threads = context.threads;
    const RunPlan plan = plan_run(config);
    if (context.json)
      context.print(to_json(plan));
    else
      context.print(to_text(plan));
    for (const auto& sentence : plan.warnings) context.remark("warning: " + sentence);
  });
}

}  // namespace pergola::app
