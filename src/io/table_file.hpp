#pragma once
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

namespace pergola {

/// A column of a table in a file: numbers, or words where there are no numbers. What it points at outlives it.
struct FileColumn {
  std::string name, unit;
  const std::vector<double>* numbers = nullptr;
  const std::vector<std::string>* words = nullptr;
};

/// Writes an HDF5 file that appears whole: a data set per column with its unit as an attribute, and texts by name as
/// attributes of the root. Throws Error(system) where the operating system refuses.
void write_table_file(const std::filesystem::path& path, const std::vector<std::pair<std::string, std::string>>& texts,
                      const std::vector<FileColumn>& columns);

}  // namespace pergola
