#include "app/run_json.hpp"

#include <fstream>

namespace pergola::app {

nlohmann::json run_json(const std::filesystem::path& directory) {
  std::ifstream stream(directory / "run.json");
  auto record = nlohmann::json::parse(stream, nullptr, false);
  return record.is_object() ? record : nlohmann::json::object();
}

}  // namespace pergola::app
