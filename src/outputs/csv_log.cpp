#include "outputs/csv_log.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>
#include <utility>

#include "base/atomic_file.hpp"
#include "base/error.hpp"

namespace pergola {

std::string column_name(const std::string& name, const std::string& unit) {
  return unit.empty() ? name : name + "[" + unit + "]";
}

CsvLog::CsvLog(const std::filesystem::path& path, const std::string& header, std::int64_t rows) : path_(path) {
  std::string text = header + "\n";
  if (rows > 0) {
    std::ifstream file(path);
    std::string line;
    std::getline(file, line);
    while (rows_ < rows && std::getline(file, line)) {
      text += line + "\n";
      ++rows_;
    }
  }
  write_text(path, text);
  descriptor_ = ::open(path.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC);
  if (descriptor_ < 0) throw_write_error(path, errno);
}

CsvLog::CsvLog(CsvLog&& other) noexcept
    : path_(std::move(other.path_)), rows_(other.rows_), descriptor_(std::exchange(other.descriptor_, -1)) {}

CsvLog& CsvLog::operator=(CsvLog&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(rows_, other.rows_);
  std::swap(descriptor_, other.descriptor_);
  return *this;
}

CsvLog::~CsvLog() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

void CsvLog::sync() const {
  if (descriptor_ >= 0 && ::fsync(descriptor_) != 0 && errno != EINVAL) throw_write_error(path_, errno);
}

void CsvLog::add(std::string line) {
  line += "\n";
  const off_t size = ::lseek(descriptor_, 0, SEEK_END);
  const ssize_t written = ::write(descriptor_, line.data(), line.size());
  if (written != static_cast<ssize_t>(line.size())) {
    const int reason = written < 0 ? errno : ENOSPC;
    // Half a line must not stay. If this fails too, the next --resume drops it.
    [[maybe_unused]] const int taken_back = ::ftruncate(descriptor_, size);
    throw_write_error(path_, reason);
  }
  ++rows_;
}

}  // namespace pergola
