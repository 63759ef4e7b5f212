#include "run/run_agreement.hpp"

#include <sstream>
#include <utility>

#include "base/version.hpp"
#include "device/device.hpp"

namespace pergola {

namespace {

std::string without_comment(std::string value) {
  const auto comment = value.rfind(" # ");
  if (comment != std::string::npos) value.resize(value.find_last_not_of(' ', comment) + 1);
  return value;
}

}  // namespace

std::vector<Fact> configuration_facts(RunConfig config) {
  config.run.threads = 0;
  config.run.device = config.run.device.substr(0, config.run.device.find(':'));
  std::istringstream lines(config_text(config));
  std::vector<Fact> facts;
  std::string line, table;
  while (std::getline(lines, line)) {
    const auto equals = line.find(" = ");
    if (line.starts_with("["))
      table = line.substr(0, line.find(']')).substr(line.find_first_not_of('[')) + ".";
    else if (equals != std::string::npos)
      facts.push_back({table + line.substr(0, equals), without_comment(line.substr(equals + 3))});
  }
  return facts;
}

std::vector<Fact> program_facts() {
  return {{"version", std::string(version()) + " (commit " + std::string(build_commit()) + ")"},
          {"instruction set", cpu_instruction_set()}};
}

}  // namespace pergola
