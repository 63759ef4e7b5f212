#include <fmt/format.h>

#include <algorithm>

#include "app/command.hpp"
#include "app/progress_bar.hpp"
#include "base/error.hpp"
#include "base/text.hpp"
#include "run/plan.hpp"

namespace pergola::app {

namespace {

nlohmann::json to_json(const RankPlan& plan) {
  nlohmann::json json = {{"ranks", plan.ranks},
                         {"spread", plan.spread},
                         {"device_bytes_per_rank", plan.device_bytes},
                         {"host_bytes_per_rank", plan.host_bytes}};
  if (!plan.spread) return json;
  nlohmann::json counted = nlohmann::json::array();
  for (const DryRun& dry : plan.counted)
    counted.push_back({{"ranks", dry.ranks},
                       {"n", dry.n},
                       {"steps", dry.steps},
                       {"bytes_per_rank_and_step", dry.bytes_mean},
                       {"most_bytes_per_rank_and_step", dry.bytes_most},
                       {"sent_bytes_per_particle_and_step", dry.sent_per_particle},
                       {"messages_per_rank_and_step", dry.messages_most},
                       {"imbalance", dry.imbalance},
                       {"added_work", dry.added_work}});
  json.update({{"network_bytes_per_second", plan.network.bytes_per_second},
               {"latency_seconds", plan.network.latency},
               {"one_rank_seconds_per_step", plan.one_rank_seconds},
               {"compute_seconds_per_step", plan.compute_seconds},
               {"communication_seconds_per_step", plan.communication_seconds},
               {"efficiency", plan.efficiency},
               {"imbalance", plan.imbalance},
               {"added_work", plan.added_work},
               {"bytes_per_rank_and_step", plan.bytes},
               {"messages_per_rank_and_step", plan.messages},
               {"counted", counted}});
  return json;
}

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
          {"ranks", plan.ranks ? to_json(*plan.ranks) : nlohmann::json()},
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

std::string to_text(const RankPlan& plan) {
  std::string text = fmt::format("{} ranks: each takes {} on its device and {} on the host", plan.ranks,
                                 bytes_text(plan.device_bytes), bytes_text(plan.host_bytes));
  if (!plan.spread)
    return fmt::format(
        "ranks      {}; with this method, or on this device, every rank keeps all particles, so that\n"
        "           memory does not fall with the ranks. They share the work; its time is not foretold\n",
        text);
  text = fmt::format(
      "ranks      {}\n"
      "           a step: {:.3g} s computing, {:.3g} s with the network ({} and {:.0f} messages of a rank), {:.3g} s "
      "in "
      "one process: efficiency {:.2f}\n"
      "           all ranks together work {:.2f} times as much as one, the busiest {:.2f} times the mean\n",
      text, plan.compute_seconds, plan.communication_seconds, bytes_text(plan.bytes), plan.messages,
      plan.one_rank_seconds, plan.efficiency, 1 + plan.added_work, plan.imbalance);
  for (const DryRun& dry : plan.counted)
    text += fmt::format(
        "counted    {} steps of {} particles on {} ranks in this process: {:.1f} bytes sent per particle and step, at "
        "most {:.0f} messages of a rank\n",
        dry.steps, dry.n, dry.ranks, dry.sent_per_particle, dry.messages_most);
  if (plan.counted.size() > 1)
    text +=
        "assumed    bytes of a rank grow as a N/K + b (N/K)^(2/3), through both samples, and what ranks add to the "
        "work "
        "as its share of 1/(N/K)^(1/3); where each rank has the whole mesh, neither falls with more ranks; beyond the "
        "ranks of the samples messages grow with the ranks\n";
  if (plan.ranks > 1)
    text += fmt::format(
        "assumed    {:.3g} bytes a second each way and {:.2g} s a message for each rank, all with the speed and the "
        "threads of the trial; nothing overlaps; outputs are not foretold\n",
        plan.network.bytes_per_second, plan.network.latency);
  return text;
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
  if (plan.ranks) text += to_text(*plan.ranks);
  for (const auto& sentence : plan.chosen) text += fmt::format("chosen     {}\n", sentence);
  for (const auto& sentence : plan.tried) text += fmt::format("tried      {}\n", sentence);
  for (const auto& sentence : plan.assumed) text += fmt::format("assumed    {}\n", sentence);
  if (plan.tried.empty()) text += "           a rough guess, good to a factor of ten: nothing was tried\n";
  return text;
}

}  // namespace

void add_plan(Command program, Context& context) {
  struct PlanCommand {
    std::string config;
    std::vector<std::string> sets;
    bool no_trial = false;
    int ranks = 0;
    std::string network;
    double latency = Network().latency;
  };
  auto command =
      program.add_subcommand("plan", "Estimate memory, steps, outputs and time of a run, with a short trial");
  auto options = std::make_shared<PlanCommand>();
  command->add_option("CONFIG", options->config, "TOML configuration; may be a pipe")->required();
  command->add_option("--set", options->sets, "key=value, replaces a key of the configuration; any number of times")
      ->allow_extra_args(false);
  command->add_flag("--no-trial", options->no_trial,
                    "Try nothing: a rough guess at once (else a trial of at most 10 s and a tenth of the memory)");
  command
      ->add_option(
          "--ranks", options->ranks,
          "Also what a step takes on so many ranks, each with the threads and the speed of this process: their "
          "messages are counted with a sample")
      ->between(1, 1 << 20);
  command
      ->add_option("--network", options->network,
                   "Bytes a second of one rank, each way, such as 12.5GB/s (default), 800MB/s or 1e9")
      ->check([](const std::string& text) {
        return parse_byte_rate(text) ? ""
                                     : fmt::format("expected bytes a second above 0, such as 12.5GB/s, found {}", text);
      })
      ->type_name("RATE")
      ->needs("--ranks");
  command->add_option("--latency", options->latency, "Seconds of one message")
      ->transform(number_in(Range::at_least(0)))
      ->capture_default_str()
      ->needs("--ranks");
  command->footer(
      "Examples:\n  pergola plan examples/plummer.toml --set particles.n=1e6\n  pergola plan galaxy.toml --ranks 64 "
      "--network 12.5GB/s");
  command->callback([&context, options] {
    RunConfig config = read_config(options->config, options->sets);
    if (context.device_given) config.run.device = context.device;
    if (context.threads_given) config.run.threads = context.threads;
    if (options->ranks > 0 && options->no_trial)
      throw Error(ErrorKind::input,
                  "--ranks: expected a trial, for its rates are those of the ranks, found --no-trial");
    PlanOptions how{.trial = !options->no_trial, .ranks = options->ranks};
    how.network.latency = options->latency;
    if (!options->network.empty()) how.network.bytes_per_second = parse_byte_rate(options->network).value();
    const RunPlan plan = plan_run(config, how);
    if (context.json)
      context.print(to_json(plan));
    else
      context.print(to_text(plan));
    for (const auto& sentence : plan.warnings) context.remark("warning: " + sentence);
  });
}

}  // namespace pergola::app
