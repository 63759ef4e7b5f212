// Files that a failed command removes: see written_files.hpp.
//
// A file that existed before is not in the list, so a replaced file is never removed. PassingFile (base) removes the
// same files if a signal or lack of memory ends the program.
#include "app/written_files.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <utility>

#include "app/command.hpp"
#include "base/error.hpp"
#include "config/file_units.hpp"
#include "io/snapshot.hpp"
#include "io/snapshot_formats.hpp"

namespace pergola::app {

namespace fs = std::filesystem;

namespace {

bool is_there(const fs::path& path) {
  std::error_code ignored;
  return fs::exists(fs::symlink_status(path, ignored));
}

/// Entries for paths, known by name.
std::vector<PassingFile> passing_of(const std::vector<fs::path>& paths) {
  std::vector<PassingFile> passing(paths.size());
  for (std::size_t k = 0; k < paths.size(); ++k) passing[k].take(paths[k], -1);  // by its name
  return passing;
}

}  // namespace

WrittenFiles::WrittenFiles(std::vector<fs::path> files) : files_(std::move(files)) {
  std::erase_if(files_, [](const fs::path& file) { return file.empty() || is_there(file); });
  passing_ = passing_of(files_);
}

/// Removes files, then folders from the innermost outwards; a folder with other contents stays.
WrittenFiles::~WrittenFiles() {
  if (kept_) return;
  for (const auto& file : files_) {
    if (::unlink(file.c_str()) == 0) continue;
    try {
      std::error_code ignored;
      fs::remove_all(file, ignored);  // a folder
    } catch (const std::exception&) {
      // Out of memory: the present error is the one to report.
    }
  }
  for (auto folder = folders_.rbegin(); folder != folders_.rend(); ++folder) ::rmdir(folder->c_str());  // where empty
}

void WrittenFiles::make_folder(const fs::path& folder) {
  for (fs::path at = folder; !at.empty() && !is_there(at); at = at.parent_path()) folders_.insert(folders_.begin(), at);
  passing_folders_ = passing_of(folders_);
  std::error_code code;
  fs::create_directories(folder, code);
  if (code) throw Error(ErrorKind::system, fmt::format("{}: cannot be made: {}", folder.string(), code.message()));
}

/// The order matters: a result that did not reach stdout counts as a failure, and its files go.
void WrittenFiles::print_and_keep(const Context& context, const std::string& text, const nlohmann::json& value) {
  if (context.json)
    context.print(value);
  else
    context.print(text);
  flush_output();
  keep();
}

std::vector<fs::path> files_of_snapshot(const fs::path& name, int files) {
  if (files == 1) return {name};
  std::vector<fs::path> names;
  for (int k = 0; k < files; ++k) names.push_back(name_in_set(name, k));
  return names;
}

void note_lost(const Context& context, const std::vector<std::string>& lost, const SnapshotHeader& header,
               const std::string& from) {
  if (!lost.empty()) context.remark("note: " + lost_text(lost, header));
  if (!from.empty() && !states_units(header.units))
    context.remark(fmt::format("note: {} states no units, so none are written", from));
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
