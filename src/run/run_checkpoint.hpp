#pragma once
#include <filesystem>
#include <functional>
#include <optional>
#include <string>

#include "config/config.hpp"

namespace pergola {

/// Throws Error(input) naming the first key that a resumed run may not change.
void check_resumable(const RunConfig& now, const RunConfig& before);

/// The newest checkpoint of a folder that can be used, with a notice where that is not the newest; nothing where none
/// was ever written. Throws Error(input) where there are some and none can be used, with what was found and what to do.
std::optional<std::filesystem::path> checkpoint_to_resume(const std::filesystem::path& folder,
                                                          const std::function<void(const std::string&)>& notice);

}  // namespace pergola
