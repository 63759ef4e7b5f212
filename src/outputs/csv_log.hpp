#pragma once
#include <cstdint>
#include <filesystem>
#include <string>

namespace pergola {

/// A log of lines with numbers, each written whole. A line that the operating system refuses is taken back.
class CsvLog {
 public:
  CsvLog() = default;
  /// Keeps the first `rows` lines of the file after its header (those before a checkpoint), or as many as there are,
  /// and appends to them; 0 starts anew.
  CsvLog(const std::filesystem::path& path, const std::string& header, std::int64_t rows);
  CsvLog(CsvLog&& other) noexcept;
  CsvLog& operator=(CsvLog&& other) noexcept;
  ~CsvLog();

  /// `line` without its end.
  void add(std::string line);
  /// Brings the lines to disk: before a checkpoint that counts them, and before the run is said to be finished.
  void sync() const;
  std::int64_t rows() const { return rows_; }

 private:
  std::filesystem::path path_;
  std::int64_t rows_ = 0;
  int descriptor_ = -1;
};

}  // namespace pergola
