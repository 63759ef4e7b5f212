#include "app/options.hpp"

#include <CLI/CLI.hpp>

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

}  // namespace pergola::app
