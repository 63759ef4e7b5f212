#include "run/run_directory.hpp"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>
#include <optional>
#include <system_error>
#include <vector>

#include "base/atomic_file.hpp"
#include "base/error.hpp"
#include "base/text.hpp"
#include "sim/plasma_diagnostics.hpp"

namespace pergola {

namespace fs = std::filesystem;

namespace {

constexpr const char* lock_name = ".lock";

[[noreturn]] void refuse(const fs::path& path, const char* what, int error_number) {
  throw Error(ErrorKind::system,
              fmt::format("{}: {}: {}", path.string(), what, std::generic_category().message(error_number)));
}

/// The number in snap_012.hdf5 or plasma_012.h5.
std::optional<std::int64_t> snapshot_number(const std::string& name) {
  for (const auto& [start, end] : {std::pair<std::string, std::string>{"snap_", ".hdf5"}, {"plasma_", ".h5"}})
    if (name.starts_with(start) && name.ends_with(end) && name.size() > start.size() + end.size())
      return parse_integer(name.substr(start.size(), name.size() - start.size() - end.size()));
  return std::nullopt;
}

bool is_temporary(const std::string& name) { return name.find(temporary_mark) != std::string::npos; }

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
  const bool made = fs::create_directories(directory, error);
  if (error) refuse(directory, "the directory cannot be made", error.value());
  if (made) path = directory;
}

RunDirectory::Made::~Made() {
  if (!path.empty()) ::rmdir(path.c_str());  // fails, as it should, when the directory holds anything
}

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
    // The file may have been removed by its former owner between open and flock: then lock the new one.
    struct stat ours {
    }, there{};
    if (::fstat(descriptor, &ours) == 0 && ::stat(file.c_str(), &there) == 0 && ours.st_ino == there.st_ino) break;
    ::close(descriptor);
  }
  // Only for the message above: a full disk shows itself at the first output.
  const std::string process = fmt::format("{}\n", ::getpid());
  [[maybe_unused]] const bool noted =
      ::ftruncate(descriptor, 0) == 0 && ::write(descriptor, process.data(), process.size()) > 0;
}

RunDirectory::Lock::~Lock() {
  ::unlink(file.c_str());
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

std::vector<fs::path> RunDirectory::outputs() const {
  std::vector<fs::path> all{run_json(), energy_csv(), audit_csv(), profile_csv(), failure_json(), checkpoints()};
  for (const auto& name : PlasmaDiagnostics::file_names()) all.push_back(path_ / name);
  std::erase_if(all, [](const fs::path& path) {
    std::error_code ignored;
    return fs::symlink_status(path, ignored).type() == fs::file_type::not_found;
  });
  for (const auto& entry : entries(path_))
    if (snapshot_number(entry.filename().string())) all.push_back(entry);
  return all;
}

void RunDirectory::remove_temporaries() {
  for (const auto& entry : entries(path_))
    if (is_temporary(entry.filename().string())) discard(entry);
}

void RunDirectory::clear() {
  for (const auto& output : outputs()) discard(output);
  remove_temporaries();
}

std::optional<fs::path> RunDirectory::set_aside() {
  remove_temporaries();
  const auto found = outputs();
  if (found.empty()) return std::nullopt;
  std::error_code error;
  fs::path folder;
  for (int number = 1; folder.empty(); ++number) {
    const fs::path candidate = path_ / fmt::format("earlier_{:03}", number);
    if (fs::create_directory(candidate, error)) folder = candidate;
    if (error && error != std::errc::file_exists) refuse(candidate, "cannot be made", error.value());
  }
  for (const auto& output : found) {
    fs::rename(output, folder / output.filename(), error);
    if (error) refuse(output, "cannot be moved", error.value());
  }
  return folder;
}

void RunDirectory::remove_snapshots_from(int number) {
  for (const auto& entry : entries(path_)) {
    const auto found = snapshot_number(entry.filename().string());
    if (found && *found >= number) discard(entry);
  }
  remove_temporaries();
}

}  // namespace pergola
