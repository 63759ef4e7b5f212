#pragma once
#include <filesystem>
#include <string>
#include <vector>

#include "base/host_device.hpp"
#include "config/config.hpp"

namespace pergola {

/// A finished run, as its run.json tells it: what is needed to make it again.
struct FinishedRecord {
  RunConfig config;
  std::string text;  // of run.json
};
/// Throws Error(input) for a file that is not the record of a finished run with the hash of its final state.
PERGOLA_API FinishedRecord read_record_to_reproduce(const std::filesystem::path& run_json);

/// Whether two runs came to the same bits, and what may have made them differ.
struct RecordComparison {
  bool same = false;
  std::string expected, found;           // hashes of the final states
  std::vector<std::string> differences;  // sentences: program, instruction set, device, particles at the start
};
/// Of two texts of run.json.
PERGOLA_API RecordComparison compare_records(const std::string& expected, const std::string& found);

}  // namespace pergola
