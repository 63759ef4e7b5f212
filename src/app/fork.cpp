// `pergola fork DIR -o NEW`: a branch of a run, with other accuracy or outputs, from a checkpoint. Rank 0 works alone.
#include <fmt/format.h>

#include <cstdio>

#include "app/command.hpp"
#include "base/text.hpp"
#include "comm/agreement.hpp"
#include "run/fork.hpp"

namespace pergola::app {

namespace {

struct ForkRequest {
  std::string from, checkpoint, to;
  std::vector<std::string> sets;
};

void make_branch(const Context& context, const ForkRequest& request) {
  const RunBranch branch =
      fork_run(request.from, request.checkpoint, request.sets, request.to,
               [](const std::string& text) { std::fputs(fmt::format("pergola: {}\n", text).c_str(), stderr); });
  if (context.json)
    return context.print(nlohmann::json{{"directory", request.to},
                                        {"checkpoint", branch.checkpoint.string()},
                                        {"time", branch.time},
                                        {"command", branch.command}});
  context.print(fmt::format("{}: a branch of {} at time {}; start it with: {}\n", request.to, request.from,
                            to_text(branch.time), branch.command));
}

}  // namespace

void add_fork(Command program, Context& context) {
  auto command = program.add_subcommand("fork", "Make a branch of a run, with other accuracy or outputs");
  auto options = std::make_shared<ForkRequest>();
  command->add_option("DIR", options->from, "Directory of the run")->required();
  command
      ->add_option("--set", options->sets,
                   "key=value, replaces a key of the configuration; any number of times. run.end_time, run.device, "
                   "run.threads, [output], and what the accuracy of forces and chosen steps comes from, such as "
                   "time.eta and gravity.tree.accuracy")
      ->allow_extra_args(false);
  command->add_option("--checkpoint", options->checkpoint,
                      "The checkpoint to begin with, a file or its name in DIR/checkpoint; default: the newest");
  command->add_option("-o,--output", options->to, "Directory of the branch; must not exist, or be empty")->required();
  command->footer(
      "The branch begins with the whole state of the run at the checkpoint, also of a plasma, and has its logs up to\n"
      "there. Its run.json says where it comes from (forked_from). DIR is not changed.\n\n"
      "Example:\n  pergola fork cluster --set time.eta=0.01 -o finer\n"
      "  pergola run finer/run.toml -o finer --resume");
  command->callback([&context, options] { on_root(*context.communicator, [&] { make_branch(context, *options); }); });
}

}  // namespace pergola::app
