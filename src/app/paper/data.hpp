#pragma once
#include <string_view>
#include <utility>
#include <vector>

namespace pergola::app {

/// Name and text of every papers/*.toml; CMake writes the definition.
extern const std::vector<std::pair<std::string_view, std::string_view>> paper_data;

}  // namespace pergola::app
