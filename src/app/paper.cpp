// `pergola paper PAPER[/TABLE]`: reruns the experiment of a published paper and prints our column beside the published
// ones.
//
// Steps: (1) the tables of the paper, from data that the program has built in, (2) one experiment per table, within the
// budget of seconds, smallest size first, (3) the table as text or JSON, as CSV and as a plot. The experiments are in
// app/paper; this file only chooses them by name. Ctrl-C keeps the rows measured so far.
#include <fmt/core.h>

#include "app/command.hpp"
#include "app/paper/session.hpp"
#include "base/error.hpp"

namespace pergola::app {

namespace {

/// "kirin/1" → one table; "kirin" → all of them.
std::vector<std::string> wanted_tables(const std::string& paper, const std::string& name) {
  auto names = table_names(paper);
  if (name.empty()) return names;
  load_table(paper, name);
  return {name};
}

using Experiment = PaperTable (*)(const PaperSession& session, const std::string& table);
/// load_table() has refused unknown papers before.
Experiment experiment_of(const std::string& paper) {
  if (paper == "aubert") return run_aubert;
  if (paper == "cuda-gadget") return run_cuda_gadget;
  if (paper == "decyk") return run_decyk;
  return paper == "kirin" ? run_kirin : run_bertinelli;
}

void rerun_paper(Context& context, const PaperOptions& options) {
  const auto slash = options.paper.find('/');
  const std::string paper = options.paper.substr(0, slash);
  const auto names = wanted_tables(paper, slash == std::string::npos ? "" : options.paper.substr(slash + 1));
  const PaperSession session(context, options);
  catch_interrupts();

  nlohmann::json tables = nlohmann::json::array();
  for (const auto& name : names) {
    if (interrupted) break;
    const auto table = experiment_of(paper)(session, name);
    if (context.json)
      tables.push_back(table_json(table, session.device()));
    else
      context.print(table_text(table) + "\n");
    plot_table(session, table);
  }
  if (context.json) context.print({{"paper", paper}, {"device", session.device().spec()}, {"tables", tables}});
  if (!options.output.empty()) context.remark("written to " + options.output);
  if (interrupted) context.exit_code = static_cast<int>(ErrorKind::interrupted);
}

}  // namespace

void add_paper(Command program, Context& context) {
  auto command =
      program.add_subcommand("paper", "Rerun a paper's experiment and print our column beside the published ones");
  auto options = std::make_shared<PaperOptions>();
  command->add_option("name", options->paper, fmt::format("PAPER or PAPER/TABLE, of {}", paper_help()))->required();
  command
      ->add_option("--budget", options->budget_seconds,
                   "Seconds per table: sizes that are estimated to fit are run, smallest first")
      ->transform(number_in(Range::above(0)))
      ->capture_default_str();
  command->add_option("--max-n", options->max_n, "No size above this one; cuda-gadget: this number of particles")
      ->transform(integer_in(Range::at_least(1)));
  command->add_flag("--full", options->full, "Every size of the paper, whatever it takes");
  command
      ->add_option("--seeds", options->seeds,
                   "kirin/2, /6 (default 5) and /8 (default 3): number of seeds for the median")
      ->transform(integer_in(Range::at_least(1)));
  command->add_option("-o,--output", options->output, "Folder for the tables as CSV and their plots");
  command
      ->add_flag("--resume", options->resume, "Keep the rows that the folder holds already (same device and version)")
      ->needs("-o");
  command->footer(
      "Example:\n  pergola paper kirin/1 --budget 120 -o results\n\nCtrl-C keeps the rows measured so far.");
  command->callback([&context, options] { rerun_paper(context, *options); });
}

}  // namespace pergola::app
