#pragma once
#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace pergola::app {

struct Context;

/// Says what was written: the text, or with --json the value. Where that cannot be printed, the files go, and the
/// folder that was made for them: a command that failed leaves none.
void print_for_files(const Context& context, const std::string& text, const nlohmann::json& value,
                     const std::vector<std::filesystem::path>& files, const std::filesystem::path& folder = {});

/// Removes files and the folder that was made for them, as far as that can be done.
void remove_files(const std::vector<std::filesystem::path>& files, const std::filesystem::path& folder);

}  // namespace pergola::app
