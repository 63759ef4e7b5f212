#pragma once
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "base/host_device.hpp"

namespace pergola {

/// A CSV log of a run: named columns of text.
class PERGOLA_API RunLog {
 public:
  /// Reads a file with one line of names and lines of as many fields. A last line that has no end yet is left out: a
  /// run may be writing it. Throws Error(input) with the line where the file is not as expected.
  static RunLog read(const std::filesystem::path& path);

  std::size_t rows() const { return rows_; }
  const std::vector<std::string>& names() const { return names_; }
  const std::vector<std::string>& text(std::string_view name) const;
  /// The column as numbers; throws Error(input) where one is not a number.
  std::vector<double> numbers(std::string_view name) const;

 private:
  std::filesystem::path path_;
  std::vector<std::string> names_;
  std::vector<std::vector<std::string>> columns_;
  std::size_t rows_ = 0;
};

}  // namespace pergola
