// `pergola devices`: the CPU and the GPUs that this build can use, with memory (bytes) and units, or why one cannot be
// used. It opens no device for work and never fails because a GPU is missing.
#include <fmt/core.h>

#include "app/command.hpp"
#include "base/text.hpp"

namespace pergola::app {

namespace {

/// Fields for JSON: `units` are cores or multiprocessors; `instruction_set` is that of the loops on this CPU.
void show_devices(const Context& context) {
  const auto reports = list_devices();
  if (context.json) {
    auto list = nlohmann::json::array();
    for (const auto& report : reports)
      list.push_back(
          {{"device", report.spec},
           {"name", report.name},
           {"usable", report.usable},
           {"why_not", report.usable ? nlohmann::json() : nlohmann::json(report.why_not)},
           {"memory_bytes", report.memory_bytes},
           {"units", report.units},
           {"instruction_set", report.spec == "cpu" ? nlohmann::json(cpu_instruction_set()) : nlohmann::json()}});
    context.print(list);
    return;
  }
  std::string text;
  for (const auto& report : reports)
    text += report.usable ? fmt::format("{:<8} {} ({} {}, {})\n", report.spec, report.name, report.units,
                                        report.spec == "cpu" ? "cores, " + cpu_instruction_set() : "multiprocessors",
                                        bytes_text(static_cast<double>(report.memory_bytes)))
                          : fmt::format("{:<8} not usable: {}\n", report.spec, report.why_not);
  context.print(text);
}

}  // namespace

void add_devices(Command program, Context& context) {
  auto command = program.add_subcommand("devices", "Show what this machine and this build can use, and why not");
  command->footer("Example:\n  pergola devices --json");
  command->callback([&context] { show_devices(context); });
}

}  // namespace pergola::app
