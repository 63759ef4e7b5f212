#include "app/print_for_files.hpp"

#include "app/command.hpp"
#include "base/error.hpp"

namespace pergola::app {

void remove_files(const std::vector<std::filesystem::path>& files, const std::filesystem::path& folder) {
  std::error_code ignored;
  for (const auto& file : files) std::filesystem::remove(file, ignored);
  if (!folder.empty()) std::filesystem::remove(folder, ignored);  // only where it is empty
}

void print_for_files(const Context& context, const std::string& text, const nlohmann::json& value,
                     const std::vector<std::filesystem::path>& files, const std::filesystem::path& folder) {
  try {
    if (context.json)
      context.print(value);
    else
      context.print(text);
    flush_output();
  } catch (const Error&) {
    remove_files(files, folder);
    throw;
  }
}

}  // namespace pergola::app
