#include <fmt/format.h>

#include <algorithm>
#include <fstream>

#include "app/command.hpp"
#include "app/progress.hpp"
#include "base/error.hpp"
#include "base/text.hpp"
#include "comm/agreement.hpp"
#include "run/plan.hpp"

namespace pergola::app {

namespace {

nlohmann::json to_json(const RankPlan& plan) {
  nlohmann::json json = {{"ranks", plan.ranks},
                         {"spread", plan.spread},
                         {"weak", plan.weak},
                         {"device_bytes_per_rank", plan.device_bytes},
                         {"host_bytes_per_rank", plan.host_bytes}};
  if (!plan.foretold) return json;
  nlohmann::json work = nlohmann::json::array(), exchange = nlohmann::json::array();
  for (const StageSeconds& stage : plan.work) work.push_back({{"stage", stage.name}, {"seconds", stage.seconds}});
  for (const TrafficPart& part : plan.exchange)
    exchange.push_back({{"stage", part.name},
                        {"seconds", part.seconds},
                        {"bytes", part.bytes},
                        {"messages", part.messages},
                        {"to_other_nodes", part.off_node}});
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
               {"ranks_per_node", plan.network.ranks_per_node},
               {"node_bytes_per_second", plan.network.node_bytes_per_second},
               {"staging_bytes_per_second", plan.network.staging_bytes_per_second},
               {"constant_bytes_per_rank", plan.constant_bytes},
               {"waiting_bytes_of_rank_0", plan.waiting_bytes},
               {"one_rank_seconds_per_step", plan.one_rank_seconds},
               {"compute_seconds_per_step", plan.compute_seconds},
               {"communication_seconds_per_step", plan.communication_seconds},
               {"hidden_seconds_per_step", plan.hidden_seconds},
               {"efficiency", plan.efficiency},
               {"imbalance", plan.imbalance},
               {"added_work", plan.added_work},
               {"bytes_per_rank_and_step", plan.bytes},
               {"messages_per_rank_and_step", plan.messages},
               {"compute_stages", work},
               {"communication_stages", exchange},
               {"counted", counted}});
  if (plan.by_rule_over_counted > 0) json["bytes_by_rule_over_counted"] = plan.by_rule_over_counted;
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
  nlohmann::json scaling = nlohmann::json::array(), stages = nlohmann::json::array();
  for (const StageSeconds& stage : plan.stages) stages.push_back({{"stage", stage.name}, {"seconds", stage.seconds}});
  for (const RankPlan& ranks : plan.ranks) scaling.push_back(to_json(ranks));
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
          {"stages", stages},
          {"interactions_per_second", plan.interactions_per_second},
          {"steps_basis", plan.steps_basis},
          {"rate_basis", plan.rate_basis},
          {"tried", plan.tried},
          {"assumed", plan.assumed},
          {"chosen", plan.chosen},
          {"warnings", plan.warnings},
          {"ranks", plan.ranks.empty() ? nlohmann::json() : scaling.back()},
          {"scaling", scaling},
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

/// "position 1.2 ms, walk 30 ms, ..."
std::string stages_text(const RankPlan& plan) {
  std::vector<std::string> words;
  for (const StageSeconds& stage : plan.work) words.push_back(fmt::format("{} {:.3g} s", stage.name, stage.seconds));
  std::string text = fmt::format("           computing: {}\n", fmt::join(words, ", "));
  words.clear();
  for (const TrafficPart& part : plan.exchange)
    words.push_back(fmt::format("{} {:.3g} s ({}, {:.0f} messages, {:.2f} to other nodes)", part.name, part.seconds,
                                bytes_text(part.bytes), part.messages, part.off_node));
  if (!words.empty()) text += fmt::format("           with others: {}\n", fmt::join(words, ", "));
  return text;
}

/// What stands behind the numbers.
std::string assumed_text(const RankPlan& plan) {
  std::string text;
  for (const DryRun& dry : plan.counted)
    text += fmt::format(
        "counted    {} steps of {} particles on {} ranks in this process: {:.1f} bytes sent per particle and step, at "
        "most {:.0f} messages of a rank\n",
        dry.steps, dry.n, dry.ranks, dry.sent_per_particle, dry.messages_most);
  if (plan.by_rule_over_counted > 0)
    text += fmt::format(
        "counted    parts of the traffic that are known by rule are {:.3f} of what the larger sample sent\n",
        plan.by_rule_over_counted);
  if (plan.counted.size() > 1)
    text +=
        "assumed    other bytes of a rank grow as a N/K + b (N/K)^(2/3), through both samples, and what ranks add to "
        "the work as its share of 1/(N/K)^(1/3); the bytes of a direct sum do not fall with more ranks; beyond the "
        "ranks of the samples messages grow with the ranks\n";
  text += fmt::format(
      "assumed    {:.3g} bytes a second each way to other nodes, {:.3g} to the {} of its own, and {:.2g} s a message "
      "for each rank, all with the speed and the threads of the trial; {}; outputs are not foretold\n",
      plan.network.bytes_per_second, plan.network.node_bytes_per_second,
      plan.network.ranks_per_node > 1 ? fmt::format("{} ranks", plan.network.ranks_per_node) : "one rank",
      plan.network.latency,
      plan.hidden_seconds > 0
          ? "trees are built and walked beside what the mesh does, which goes first on the GPU and shares the network"
          : "nothing overlaps");
  if (const double rate = plan.network.staging_bytes_per_second; rate > 0)
    text += fmt::format(
        "assumed    messages go through page-locked memory of the host, {:.3g} bytes a second out of a GPU and into "
        "it, as measured here; walks take the same time for every particle\n",
        rate);
  return text;
}

std::string to_text(const RankPlan& plan) {
  std::string text = fmt::format("{} ranks: each takes {} on its device and {} on the host", plan.ranks,
                                 bytes_text(plan.device_bytes), bytes_text(plan.host_bytes));
  if (!plan.foretold)
    return fmt::format(
        "ranks      {}; with this method, or on this device, every rank keeps all particles, so that\n"
        "           memory does not fall with the ranks. They share the work; its time is not foretold\n",
        text);
  if (!plan.spread)
    text +=
        "\n           NOT YET: today every rank keeps all particles with this method on this device; what follows "
        "is for ranks that keep their own";
  return fmt::format(
             "ranks      {}\n"
             "           of that {}{} more than a share of what one process takes{}\n{}"
             "           a step: {:.3g} s computing, {:.3g} s with the network ({} and {:.0f} messages of a rank), "
             "{}{:.3g} s {}: efficiency {:.2f}\n"
             "           all ranks together work {:.2f} times as much as one, the busiest {:.2f} times the mean\n",
             text, bytes_text(plan.constant_bytes), plan.on_gpu ? " on its device" : "",
             plan.weak ? ", for each rank has as many particles as the configuration" : "",
             plan.waiting_bytes > 0 ? fmt::format("           rank 0 up to {} more, of files that wait to be written\n",
                                                  bytes_text(plan.waiting_bytes))
                                    : "",
             plan.compute_seconds, plan.communication_seconds, bytes_text(plan.bytes), plan.messages,
             plan.hidden_seconds > 0 ? fmt::format("{:.3g} s of both beside each other, ", plan.hidden_seconds) : "",
             plan.weak ? plan.one_rank_seconds / plan.ranks : plan.one_rank_seconds,
             plan.weak ? "for a share of the work alone" : "in one process", plan.efficiency, 1 + plan.added_work,
             plan.imbalance) +
         stages_text(plan) + (plan.ranks > 1 ? assumed_text(plan) : "");
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
  for (const RankPlan& ranks : plan.ranks) text += to_text(ranks);
  for (const auto& sentence : plan.chosen) text += fmt::format("chosen     {}\n", sentence);
  for (const auto& sentence : plan.tried) text += fmt::format("tried      {}\n", sentence);
  for (const auto& sentence : plan.assumed) text += fmt::format("assumed    {}\n", sentence);
  if (plan.tried.empty()) text += "           a rough guess, good to a factor of ten: nothing was tried\n";
  return text;
}

}  // namespace

namespace {

/// From what to_json() made on another machine.
MachineRates read_rates(const std::string& path) {
  try {
    const nlohmann::json plan = nlohmann::json::parse(std::ifstream(path));
    const nlohmann::json &memory = plan.at("memory"), &ranks = plan.at("ranks");
    MachineRates rates;
    rates.source = path, rates.n = plan.at("n");
    rates.device = plan.at("device"), rates.device_name = plan.at("device_name");
    rates.device_bytes = memory.at("device_bytes"), rates.device_free_bytes = memory.at("device_free_bytes");
    rates.host_bytes = memory.at("host_bytes"), rates.host_free_bytes = memory.at("host_free_bytes");
    rates.program_bytes = memory.at("program_bytes"), rates.steps = plan.at("steps");
    for (const auto& part : plan.at("parts"))
      if (part.at("name") == "steps") rates.step_seconds = part.at("seconds").get<double>() / rates.steps;
    for (const auto& stage : plan.at("stages")) rates.stages.push_back({stage.at("stage"), stage.at("seconds")});
    rates.spread = ranks.at("spread");
    rates.staging_bytes_per_second = ranks.value("staging_bytes_per_second", 0.0);
    return rates;
  } catch (const nlohmann::json::exception& error) {
    throw Error(
        ErrorKind::input,
        fmt::format("{}: expected what pergola --json plan CONFIG --ranks K prints, found: {}", path, error.what()));
  }
}

struct PlanCommand {
  std::string config;
  std::vector<std::string> sets;
  bool no_trial = false;
  std::string ranks, network, node_network, rates;
  int gpus_per_node = 1;
  bool weak = false;
  double latency = Network().latency;
};

void foretell(const Context& context, const PlanCommand& options) {
  WaitLine wait(context, "plan");
  wait.begins("reading " + options.config);
  RunConfig config = read_config(options.config, options.sets);
  if (context.device_given) config.run.device = context.device;
  if (context.threads_given) config.run.threads = context.threads;
  if (!options.ranks.empty() && options.no_trial)
    throw Error(ErrorKind::input, "--ranks: expected a trial, for its rates are those of the ranks, found --no-trial");
  PlanOptions how{.trial = !options.no_trial, .weak = options.weak};
  if (!options.ranks.empty()) how.ranks = parse_rank_list(options.ranks).value();
  how.network.latency = options.latency;
  how.network.ranks_per_node = options.gpus_per_node;
  if (!options.network.empty()) how.network.bytes_per_second = parse_byte_rate(options.network).value();
  how.network.node_bytes_per_second =
      options.node_network.empty() ? how.network.bytes_per_second : parse_byte_rate(options.node_network).value();
  if (!options.rates.empty()) how.rates = read_rates(options.rates);
  how.begins = [&wait](const std::string& part) { wait.begins(part); };
  const RunPlan plan = plan_run(config, how);
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
  const auto is_rate = [](const std::string& text) {
    return parse_byte_rate(text) ? ""
                                 : fmt::format("expected bytes a second above 0, such as 12.5GB/s, found {}", text);
  };
  command
      ->add_option("--ranks", options->ranks,
                   "Also what a step takes on so many ranks, or on each of several numbers of them, such as 8,64,1024, "
                   "each with the threads and the speed of this process: their messages are counted with a sample")
      ->check([](const std::string& text) {
        return parse_rank_list(text)
                   ? ""
                   : fmt::format("expected numbers from 1 to {}, such as 8,64, found {}", most_planned_ranks, text);
      })
      ->type_name("LIST");
  command->add_flag("--weak", options->weak, "The configuration is what one rank has: K ranks have K times as much")
      ->needs("--ranks");
  command
      ->add_option("--network", options->network,
                   "Bytes a second of one rank to other nodes, each way, such as 12.5GB/s (default), 800MB/s or 1e9")
      ->check(is_rate)
      ->type_name("RATE")
      ->needs("--ranks");
  command
      ->add_option("--gpus-per-node", options->gpus_per_node,
                   "Ranks of a node, one for each of its GPUs (or, on CPUs, as they are started)")
      ->between(1, 1 << 10)
      ->capture_default_str()
      ->needs("--ranks");
  command
      ->add_option("--node-network", options->node_network,
                   "Bytes a second of one rank to ranks of its node, each way (default: that of --network)")
      ->check(is_rate)
      ->type_name("RATE")
      ->needs("--ranks");
  command->add_option("--latency", options->latency, "Seconds of one message")
      ->transform(number_in(Range::at_least(0)))
      ->capture_default_str()
      ->needs("--ranks");
  command
      ->add_option(
          "--rates", options->rates,
          "What pergola --json plan CONFIG --ranks 2 printed on the machine to come, for the same run: seconds "
          "and memory of one process are taken from there, nothing is tried here, and no GPU is needed")
      ->type_name("FILE")
      ->needs("--ranks");
  command->footer(
      "Examples:\n  pergola plan examples/plummer.toml --set particles.n=1e6\n  pergola plan galaxy.toml --ranks 64 "
      "--network 12.5GB/s\n  pergola --device cuda plan box.toml --ranks 8,64,1024 --weak --gpus-per-node 8 "
      "--network 50GB/s");
  command->callback([&context, options] { on_root(*context.communicator, [&] { foretell(context, *options); }); });
}

}  // namespace pergola::app
