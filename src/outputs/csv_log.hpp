#pragma once
#include <cstdint>
#include <filesystem>
#include <string>

namespace pergola {

/// "r50[kpc]": the name of a column with its unit, as tables of analyses have it; without one the name alone.
std::string column_name(const std::string& name, const std::string& unit);

/// A CSV log. Each line is written with one system call; a line that the operating system refuses is removed again. A
/// resumed run keeps the lines before its checkpoint and drops the others.
class CsvLog {
 public:
  CsvLog() = default;
  /// Keeps the first `rows` lines after the header, or as many as exist, and appends to them. 0 starts a new file.
  CsvLog(const std::filesystem::path& path, const std::string& header, std::int64_t rows);
  CsvLog(CsvLog&& other) noexcept;
  CsvLog& operator=(CsvLog&& other) noexcept;
  ~CsvLog();

  /// `line` has no line end.
  void add(std::string line);
  /// Writes the lines to disk: before a checkpoint that counts them, and at the end of the run.
  void sync() const;
  std::int64_t rows() const { return rows_; }

 private:
  std::filesystem::path path_;
  std::int64_t rows_ = 0;
  int descriptor_ = -1;
};

}  // namespace pergola
