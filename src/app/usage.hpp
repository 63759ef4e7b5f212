#pragma once
#include <string>

namespace CLI {
class App;
class ParseError;
}  // namespace CLI

namespace pergola::app {

/// One sentence for a bad command line: the option or command, what was expected, and the nearest valid name.
std::string usage_message(const CLI::App& program, const CLI::ParseError& error);

}  // namespace pergola::app
