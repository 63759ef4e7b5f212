#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/range.hpp"

namespace CLI {
class App;
class Option;
}  // namespace CLI

// Commands and their options without CLI11's headers, which alone take longer to compile than a command. What the
// functions do and what the help and the messages say is CLI11's; app/options.cpp passes everything on.
namespace pergola::app {

/// Looks at the text of a value and may rewrite it; returns what is wrong with it, or nothing.
using TextCheck = std::function<std::string(std::string& text)>;

/// For Option::transform(): the text must be a number in the range, or an integer such as 1000 or 1e6.
TextCheck number_in(const Range& range);
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
  /// Called with the text of every value given.
  Option each(const std::function<void(std::string)>& action);
  /// The word for the value in the help.
  Option type_name(const std::string& name);
  /// The help shows the value that the variable has now.
  Option capture_default_str();
  /// Values of a list: all of them count; whether one mention may bring several; how many; what stands between them.
  Option take_all();
  Option allow_extra_args(bool allow);
  Option expected(int count);
  Option delimiter(char separator);
  Option needs(const std::string& other);
  Option excludes(const Option& other);
  /// Of the help; an option of group "" is not shown.
  Option group(const std::string& name);

 private:
  CLI::Option* option_;
};

/// A command or subcommand. A handle, as above.
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

}  // namespace pergola::app
