#include "app/written_files.hpp"

#include <fmt/core.h>
#include <unistd.h>

#include <utility>

#include "app/command.hpp"
#include "base/error.hpp"

namespace pergola::app {

namespace fs = std::filesystem;

WrittenFiles::WrittenFiles(std::vector<fs::path> files) : files_(std::move(files)) {
  for (const auto& file : files_) {
    std::error_code ignored;
    const auto status = fs::symlink_status(file, ignored);
    there_before_.push_back(fs::exists(status) && !(fs::is_directory(status) && fs::is_empty(file, ignored)));
  }
}

WrittenFiles::~WrittenFiles() {
  if (kept_) return;
  for (std::size_t k = 0; k < written_; ++k) {
    if (there_before_[k] || ::unlink(files_[k].c_str()) == 0) continue;
    try {
      std::error_code ignored;
      fs::remove_all(files_[k], ignored);  // a folder
    } catch (const std::exception&) {
      // No memory to do so: the error that is under way is the one to report.
    }
  }
  if (made_folder_) ::rmdir(folder_.c_str());  // only where it is empty
}

void WrittenFiles::make_folder(const fs::path& folder) {
  folder_ = folder;
  std::error_code code;
  made_folder_ = fs::create_directories(folder, code);
  if (code) throw Error(ErrorKind::system, fmt::format("{}: cannot be made: {}", folder.string(), code.message()));
}

void WrittenFiles::print_and_keep(const Context& context, const std::string& text, const nlohmann::json& value) {
  if (context.json)
    context.print(value);
  else
    context.print(text);
  flush_output();
  kept_ = true;
}

}  // namespace pergola::app
