#pragma once
#include <filesystem>

#include "app/context.hpp"

namespace pergola::app {

/// What the directory of a run holds, and whether each piece is whole: heads and shapes, or with `verify` every byte.
/// Sets the exit code to 2 where something is damaged. Throws Error(input) where there is nothing of a run.
void show_run_directory(Context& context, const std::filesystem::path& directory, bool verify);

}  // namespace pergola::app
