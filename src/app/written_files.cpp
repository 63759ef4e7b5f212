#include "app/written_files.hpp"

#include <fmt/core.h>
#include <unistd.h>

#include <utility>

#include "app/command.hpp"
#include "base/error.hpp"
#include "io/snapshot.hpp"

namespace pergola::app {

namespace fs = std::filesystem;

WrittenFiles::WrittenFiles(std::vector<fs::path> files) : files_(std::move(files)) {
  std::erase_if(files_, [](const fs::path& file) {
    std::error_code ignored;
    return file.empty() || fs::exists(fs::symlink_status(file, ignored));
  });
  passing_ = std::vector<PassingFile>(files_.size());
  for (std::size_t k = 0; k < files_.size(); ++k) passing_[k].take(files_[k], -1);  // by its name
}

WrittenFiles::~WrittenFiles() {
  if (kept_) return;
  for (const auto& file : files_) {
    if (::unlink(file.c_str()) == 0) continue;
    try {
      std::error_code ignored;
      fs::remove_all(file, ignored);  // a folder, where there is one
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

std::vector<fs::path> files_of_snapshot(const fs::path& name, int files) {
  if (files == 1) return {name};
  std::vector<fs::path> names;
  for (int k = 0; k < files; ++k) names.push_back(name_in_set(name, k));
  return names;
}

void refuse_input_as_output(const std::string& what, const std::string& output, const std::vector<fs::path>& inputs) {
  for (const auto& input : inputs) {
    std::error_code ignored;
    if (fs::equivalent(output, input, ignored))
      throw Error(ErrorKind::input,
                  fmt::format("{}: {}: expected another file than the one that is read", what, output));
  }
}

}  // namespace pergola::app
