#include "app/command.hpp"
#include "base/text.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cmath>
#include <optional>


namespace pergola::app {

namespace {

/// The app whose options the user was typing: the innermost subcommand that was found.
const CLI::App& innermost(const CLI::App& program) {
  const CLI::App* app = &program;
  while (!app->get_subcommands().empty()) app = app->get_subcommands().back();
  return *app;
}

std::string full_name(const CLI::App& app) {
  return app.get_parent() ? full_name(*app.get_parent()) + " " + app.get_name() : app.get_name();
}

std::vector<std::string> commands_of(const CLI::App& app) {
  std::vector<std::string> names;
  for (const auto* sub : app.get_subcommands([](const CLI::App*) { return true; })) names.push_back(sub->get_name());
  return names;
}

std::vector<std::string> options_of(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* at = &app; at; at = at->get_parent())
    for (const auto* option : at->get_options())
      if (!option->get_group().empty())  // those of "" are accepted or refused, and not shown
        for (const auto& name : option->get_lnames()) names.push_back("--" + name);
  return names;
}

std::string suggestion(const std::string& near) { return near.empty() ? "" : fmt::format("; did you mean {}?", near); }

std::string unknown_word(const CLI::App& app, const std::string& word) {
  const std::string where = full_name(app);
  if (word.starts_with("-") && word != "-") {
    const std::string name = word.substr(0, word.find('='));
    return fmt::format("{}: unknown option {}{} (see {} --help)", where, name,
                       suggestion(nearest_name(name, options_of(app))), where);
  }
  const auto commands = commands_of(app);
  if (commands.empty()) return fmt::format("{}: unexpected argument {} (see {} --help)", where, word, where);
  return fmt::format("{}: expected one of {}, found {}{}", where, fmt::join(commands, ", "), word,
                     suggestion(nearest_name(word, commands)));
}

}  // namespace

TextCheck number_in(const Range& range) {
  return [range](std::string& text) {
    const auto number = parse_real(text);
    if (number && range.contains(*number)) return std::string();
    return fmt::format("expected {}, found {}", range.text(), text);
  };
}

TextCheck integer_in(const Range& range) {
  return [range](std::string& text) {
    const auto integer = parse_count(text);
    if (!integer || !range.contains(static_cast<double>(*integer)))
      return fmt::format("expected {}, found {}", range.text("an integer"), text);
    text = std::to_string(*integer);
    return std::string();
  };
}

std::string usage_message(const CLI::App& program, const CLI::ParseError& error) {
  const CLI::App& app = innermost(program);
  const auto unknown = program.remaining(true);
  if (!unknown.empty()) return unknown_word(app, unknown.front());
  const auto commands = commands_of(app);
  if (error.get_exit_code() == static_cast<int>(CLI::ExitCodes::RequiredError) && !commands.empty() &&
      app.get_subcommands().empty())
    return fmt::format("{}: expected one of {} (see {} --help)", full_name(app), fmt::join(commands, ", "),
                       full_name(app));
  return fmt::format("{}: {}", full_name(app), error.what());
}

}  // namespace pergola::app
