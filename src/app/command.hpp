#pragma once
/// The commands of the program and their options.
///
/// Command and Option hide CLI11's headers, which take longer to compile than a command; app/command.cpp passes every
/// call on to CLI11, which also words the help. A command is a file app/NAME.cpp with a function add_NAME, which adds
/// the subcommand with its options, its help with an example, and its callback.
#include <nlohmann/json.hpp>

#include <cmath>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "app/context.hpp"
#include "base/range.hpp"

namespace CLI {
class App;
class Option;
class ParseError;
}  // namespace CLI

namespace pergola::app {

/// Checks the text of a value and may rewrite it; returns what is wrong, or nothing.
using TextCheck = std::function<std::string(std::string& text)>;

/// For Option::transform(): the text must be a number in the range, or an integer such as 1000 or 1e6.
TextCheck number_in(const Range& range);
/// integer_in() also rewrites the text as a plain integer, for CLI11 to convert.
TextCheck integer_in(const Range& range);

/// One option of a command. A handle: copies mean the same option.
class Option {
 public:
  explicit Option(CLI::Option* option) : option_(option) {}
  Option* operator->() { return this; }

  Option required();
  Option transform(const TextCheck& wrong_with);
  Option check(const std::function<std::string(const std::string& text)>& wrong_with);
  Option one_of(const std::vector<std::string>& words);
  Option between(std::int64_t least, std::int64_t most);
  /// `action` gets the text of every given value.
  Option each(const std::function<void(std::string)>& action);
  /// The word for the value in the help.
  Option type_name(const std::string& name);
  /// The help shows the present value of the variable.
  Option capture_default_str();
  /// For lists: every mention counts; one mention may have several values; their number; the separator.
  Option take_all();
  Option allow_extra_args(bool allow);
  Option expected(int count);
  Option delimiter(char separator);
  Option needs(const std::string& other);
  Option excludes(const Option& other);
  /// The group in the help; an option of group "" is not shown.
  Option group(const std::string& name);

 private:
  CLI::Option* option_;
};

/// A command or subcommand. A handle, as Option.
class Command {
 public:
  explicit Command(CLI::App* app) : app_(app) {}
  Command* operator->() { return this; }

  Command add_subcommand(const std::string& name, const std::string& help);
  /// T: std::string, int, std::int64_t, std::uint64_t, double, std::vector<std::string>. `value` outlives the command.
  template <class T>
  Option add_option(const std::string& names, T& value, const std::string& help);
  Option add_option_function(const std::string& names, const std::function<void(const std::string&)>& take,
                             const std::string& help);
  Option add_flag(const std::string& names, bool& value, const std::string& help);
  Option add_flag_function(const std::string& names, const std::function<void(std::int64_t)>& take,
                           const std::string& help);
  /// An option that there was: refused with a sentence that says what to do instead. The help does not show it.
  void add_removed_option(const std::string& name, const std::string& instead);
  void alias(const std::string& name);
  void require_subcommand(int count);
  void footer(const std::string& text);
  void callback(const std::function<void()>& action);

 private:
  CLI::App* app_;
};

/// One function for each command; app/main.cpp calls them in the order of the help.
void add_analyze(Command program, Context& context);
void add_convert(Command program, Context& context);
void add_run(Command program, Context& context);
void add_plan(Command program, Context& context);
void add_devices(Command program, Context& context);
void add_force(Command program, Context& context);
void add_fork(Command program, Context& context);
void add_ic(Command program, Context& context);
void add_info(Command program, Context& context);
void add_merge(Command program, Context& context);
void add_movie(Command program, Context& context);
void add_g6_replay(Command program, Context& context);
void add_paper(Command program, Context& context);
void add_picture(Command program, Context& context);
void add_plot(Command program, Context& context);
void add_view(Command program, Context& context);
void add_bench(Command program, Context& context);

/// One sentence for a bad command line: the option or command, what was expected, and the nearest valid name.
std::string usage_message(const CLI::App& program, const CLI::ParseError& error);

/// A number as JSON, which has no NaN and no infinity: null.
inline nlohmann::json json_number(double value) {
  return std::isfinite(value) ? nlohmann::json(value) : nlohmann::json();
}

}  // namespace pergola::app
