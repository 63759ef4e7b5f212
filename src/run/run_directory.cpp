#include "run/run_directory.hpp"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/file.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <fstream>
#include <optional>
#include <system_error>
#include <vector>

#include "base/atomic_file.hpp"
#include "base/error.hpp"
#include "outputs/output.hpp"

namespace pergola {

namespace fs = std::filesystem;

namespace {

constexpr const char* lock_name = ".lock";

[[noreturn]] void refuse(const fs::path& path, const char* what, int error_number) {
  throw Error(ErrorKind::system,
              fmt::format("{}: {}: {}", path.string(), what, std::generic_category().message(error_number)));
}

/// Whether earlier versions wrote this name of a file for the pattern: tables stood beside the snapshots.
bool is_former_table(const std::string& name, const std::string& pattern) {
  const fs::path path = pattern;
  return path.parent_path() == table_folder && number_in_name(name, path.filename().string());
}

/// Whether a run writes a file or folder of this name, or did in an earlier version.
bool is_output(const std::string& name) {
  if (name == "run.json" || name == "profile.csv" || name == "failure.json") return true;
  for (const auto& entry : output_entries())
    for (const auto& pattern : entry.files)
      if (number_in_name(name, pattern) || is_former_table(name, pattern)) return true;
  return false;
}

/// Whether the file is a numbered output with this number.
bool has_number(const std::string& name, std::int64_t number) {
  for (const auto& entry : output_entries())
    for (const auto& pattern : entry.files)
      if (pattern.find('#') != std::string::npos && number_in_name(name, pattern) == number) return true;
  return false;
}

bool is_temporary(const std::string& name) { return name.find(temporary_mark) != std::string::npos; }

/// Files and folders in the directory, without those below them.
std::vector<fs::path> entries(const fs::path& directory) {
  std::vector<fs::path> found;
  std::error_code error;
  for (fs::directory_iterator at(directory, error), end; !error && at != end; at.increment(error))
    found.push_back(at->path());
  if (error) refuse(directory, "cannot be read", error.value());
  return found;
}

void discard(const fs::path& path) {
  std::error_code error;
  fs::remove_all(path, error);
  if (error) refuse(path, "cannot be removed", error.value());
}

}  // namespace

RunDirectory::Made::Made(const fs::path& directory) {
  std::error_code error;
  if (fs::exists(directory, error) && !fs::is_directory(directory, error))
    throw Error(ErrorKind::input,
                fmt::format("{}: expected a directory for the run, found a file", directory.string()));
  paths = make_directories(directory, error);
  if (error) refuse(directory, "the directory cannot be made", error.value());
}

void RunDirectory::Made::remove() const {
  for (auto path = paths.rbegin(); path != paths.rend(); ++path)
    if (::rmdir(path->c_str()) != 0) return;  // it is not empty
}

/// The operating system drops the lock when the process ends, in whatever way: a killed run never blocks its directory.
RunDirectory::Lock::Lock(const fs::path& directory) : file(directory / lock_name) {
  while (true) {
    descriptor = ::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (descriptor < 0) refuse(directory, "cannot be written", errno);
    if (::flock(descriptor, LOCK_EX | LOCK_NB) != 0) {
      const int reason = errno;
      ::close(descriptor);
      if (reason != EWOULDBLOCK) refuse(file, "cannot be locked", reason);
      std::string process;
      std::ifstream(file) >> process;
      throw Error(ErrorKind::input, fmt::format("{}: in use by another run{}", directory.string(),
                                                process.empty() ? "" : fmt::format(" (process {})", process)));
    }
    // Its former owner may have removed the file between open and flock: then lock the new one.
    if (in_place()) break;
    ::close(descriptor);
  }
  passing.take(file, descriptor);
  // Only for the message above; a full disk is reported at the first output.
  std::array<char, 24> process{};
  const auto end = fmt::format_to(process.begin(), "{}\n", ::getpid());
  [[maybe_unused]] const bool noted =
      ::ftruncate(descriptor, 0) == 0 &&
      ::write(descriptor, process.data(), static_cast<std::size_t>(end - process.begin())) > 0;
}

bool RunDirectory::Lock::in_place() const { return names_open_file(file.c_str(), descriptor); }

void RunDirectory::Lock::remove() const {
  if (in_place()) ::unlink(file.c_str());  // else it is another run's
}

RunDirectory::Lock::~Lock() {
  remove();
  passing.forget();
  ::close(descriptor);
}

RunDirectory::RunDirectory(const fs::path& path, Use use) : path_(path), made_(path), lock_(path) {
  if (use != Use::fresh) return;
  for (const auto& entry : entries(path_)) {
    const std::string name = entry.filename().string();
    if (name != lock_name && !is_temporary(name))
      throw Error(ErrorKind::input,
                  fmt::format("{}: the directory is not empty (it holds {}): use --resume to go on with its run, "
                              "--overwrite to replace it, or -o with another directory",
                              path_.string(), name));
  }
}

void RunDirectory::abandon() const {
  lock_.remove();
  made_.remove();
}

bool RunDirectory::gone() const { return !lock_.in_place(); }

std::vector<fs::path> RunDirectory::outputs() const {
  std::vector<fs::path> all = entries(path_);
  if (std::error_code none; fs::is_directory(tables(), none))
    for (auto& table : entries(tables())) all.push_back(std::move(table));
  std::erase_if(all, [&](const fs::path& path) { return !is_output(name_of(path)); });
  return all;
}

std::string RunDirectory::name_of(const fs::path& path) const {
  return path.lexically_relative(path_).generic_string();
}

void RunDirectory::remove_temporaries() {
  for (const fs::path& folder : {path_, checkpoints(), tables()}) {
    std::error_code none;
    if (!fs::is_directory(folder, none)) continue;
    for (const auto& entry : entries(folder))
      if (is_temporary(entry.filename().string())) discard(entry);
  }
}

void RunDirectory::clear() {
  for (const auto& output : outputs()) discard(output);
  remove_temporaries();
  ::rmdir(tables().c_str());  // unless something else is in it
}

bool RunDirectory::gather_tables() {
  const auto is_table = [&](const fs::path& path) {
    for (const auto& entry : output_entries())
      for (const auto& pattern : entry.files)
        if (is_former_table(name_of(path), pattern)) return true;
    return false;
  };
  std::vector<fs::path> former = outputs();
  std::erase_if(former, [&](const fs::path& path) { return !is_table(path); });
  for (const fs::path& table : former) move(table, tables() / table.filename());
  return !former.empty();
}

/// On the same file system, into a folder that is made if there is none. Waits until both folders are on disk.
void RunDirectory::move(const fs::path& from, const fs::path& to) const {
  std::error_code error;
  make_directories(to.parent_path(), error);
  if (!error) fs::rename(from, to, error);
  if (error) refuse(from, "cannot be moved", error.value());
  for (const fs::path& changed : {to.parent_path(), from.parent_path()})
    if (const int refused = sync_directory(changed)) refuse(changed, "cannot be written", refused);
}

std::optional<fs::path> RunDirectory::set_aside() {
  remove_temporaries();
  const auto found = outputs();
  if (found.empty()) return std::nullopt;
  return move_aside(found);
}

std::optional<fs::path> RunDirectory::set_aside(std::int64_t number) {
  std::vector<fs::path> found = outputs();
  std::erase_if(found, [&](const fs::path& path) { return !has_number(name_of(path), number); });
  if (found.empty()) return std::nullopt;
  const fs::path folder = move_aside(found);
  std::error_code error;
  fs::copy_file(run_json(), folder / run_json().filename(), error);
  if (error) refuse(folder, "cannot be written", error.value());
  return folder;
}

/// Renames files into a new folder, tables into a folder of tables there.
fs::path RunDirectory::move_aside(const std::vector<fs::path>& files) const {
  std::error_code error;
  fs::path folder;
  for (int number = 1; folder.empty(); ++number) {
    const fs::path candidate = path_ / fmt::format("earlier_{:03}", number);
    if (fs::create_directory(candidate, error)) folder = candidate;
    if (error && error != std::errc::file_exists) refuse(candidate, "cannot be made", error.value());
  }
  for (const auto& output : files) move(output, folder / name_of(output));
  ::rmdir(tables().c_str());  // unless something is left in it
  return folder;
}

}  // namespace pergola
