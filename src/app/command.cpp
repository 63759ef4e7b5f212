// The only file of the commands that includes CLI11: it passes Option and Command on to it and words usage errors.
//
// A usage error is one sentence: the command, what it expected, what it found and the nearest valid name. number_in()
// and integer_in() check values by a Range and accept spellings such as 1e6 and 64^3 (base/count.hpp).
#include "app/command.hpp"
#include "base/text.hpp"

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <cmath>
#include <optional>

namespace pergola::app {

Option Option::required() { return option_->required(), *this; }
Option Option::transform(const TextCheck& wrong_with) {
  return option_->transform(CLI::Validator(wrong_with, "")), *this;
}
Option Option::check(const std::function<std::string(const std::string&)>& wrong_with) {
  return option_->check(wrong_with), *this;
}
Option Option::one_of(const std::vector<std::string>& words) { return option_->check(CLI::IsMember(words)), *this; }
Option Option::between(std::int64_t least, std::int64_t most) { return option_->check(CLI::Range(least, most)), *this; }
Option Option::each(const std::function<void(std::string)>& action) { return option_->each(action), *this; }
Option Option::type_name(const std::string& name) { return option_->type_name(name), *this; }
Option Option::capture_default_str() { return option_->capture_default_str(), *this; }
Option Option::take_all() { return option_->take_all(), *this; }
Option Option::allow_extra_args(bool allow) { return option_->allow_extra_args(allow), *this; }
Option Option::expected(int count) { return option_->expected(count), *this; }
Option Option::delimiter(char separator) { return option_->delimiter(separator), *this; }
Option Option::needs(const std::string& other) { return option_->needs(other), *this; }
Option Option::excludes(const Option& other) { return option_->excludes(other.option_), *this; }
Option Option::group(const std::string& name) { return option_->group(name), *this; }

Command Command::add_subcommand(const std::string& name, const std::string& help) {
  return Command(app_->add_subcommand(name, help));
}

void Command::alias(const std::string& name) { app_->alias(name); }

template <class T>
Option Command::add_option(const std::string& names, T& value, const std::string& help) {
  return Option(app_->add_option(names, value, help));
}
template Option Command::add_option(const std::string&, std::string&, const std::string&);
template Option Command::add_option(const std::string&, int&, const std::string&);
template Option Command::add_option(const std::string&, std::int64_t&, const std::string&);
template Option Command::add_option(const std::string&, std::uint64_t&, const std::string&);
template Option Command::add_option(const std::string&, double&, const std::string&);
template Option Command::add_option(const std::string&, std::vector<std::string>&, const std::string&);

Option Command::add_option_function(const std::string& names, const std::function<void(const std::string&)>& take,
                                    const std::string& help) {
  // CLI11 2.4 (Ubuntu 24.04) takes --h for the help's -h: a command with an option h has its help as --help alone
  // there.
  if constexpr (CLI11_VERSION_MAJOR == 2 && CLI11_VERSION_MINOR == 4)
    if (names == "--h") app_->set_help_flag("--help", "This help");
  return Option(app_->add_option_function<std::string>(names, take, help));
}
Option Command::add_flag(const std::string& names, bool& value, const std::string& help) {
  return Option(app_->add_flag(names, value, help));
}
Option Command::add_flag_function(const std::string& names, const std::function<void(std::int64_t)>& take,
                                  const std::string& help) {
  return Option(app_->add_flag_function(names, take, help));
}
void Command::add_removed_option(const std::string& name, const std::string& instead) {
  const auto refuse = [name, instead](const std::string&) {
    throw CLI::ValidationError(name + " is gone: " + instead);
  };
  app_->add_option_function<std::string>(name, refuse)->expected(0, 1)->take_last()->group("");
}
void Command::require_subcommand(int count) { app_->require_subcommand(count); }
void Command::footer(const std::string& text) { app_->footer(text); }
void Command::callback(const std::function<void()>& action) { app_->callback(action); }

namespace {

/// The app whose options the user was typing: the innermost subcommand that was found.
const CLI::App& innermost(const CLI::App& program) {
  const CLI::App* app = &program;
  while (!app->get_subcommands().empty()) app = app->get_subcommands().back();
  return *app;
}

/// "pergola ic plummer": the words up to this command.
std::string full_name(const CLI::App& app) {
  return app.get_parent() ? full_name(*app.get_parent()) + " " + app.get_name() : app.get_name();
}

/// The names of the subcommands, in the order in which they were added.
std::vector<std::string> commands_of(const CLI::App& app) {
  std::vector<std::string> names;
  for (const auto* sub : app.get_subcommands([](const CLI::App*) { return true; })) names.push_back(sub->get_name());
  return names;
}

/// Options that the user may have meant: those of the command and of all commands around it.
std::vector<std::string> options_of(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* at = &app; at; at = at->get_parent())
    for (const auto* option : at->get_options())
      if (!option->get_group().empty())  // those of "" are accepted or refused, and not shown
        for (const auto& name : option->get_lnames()) names.push_back("--" + name);
  return names;
}

std::string suggestion(const std::string& near) { return near.empty() ? "" : fmt::format("; did you mean {}?", near); }

/// The sentence for a word that no command, option or argument takes.
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

/// The first word that nothing takes is the likely error; otherwise the message of CLI11 says what is missing.
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
