#pragma once
#include <filesystem>
#include <nlohmann/json.hpp>

namespace pergola::app {

/// The record of the run in a directory; an empty object where there is none, or none that can be read.
nlohmann::json run_json(const std::filesystem::path& directory);

}  // namespace pergola::app
