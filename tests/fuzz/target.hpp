#pragma once
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace pergola::fuzz {

/// A reader under attack.
struct Target {
  std::string name;                                         // also the folder of its corpus
  std::function<void(const std::filesystem::path&)> read;   // may throw Error(input); all else is a defect
  std::function<void(const std::filesystem::path&)> first;  // in a child, before read: may kill it. None: in process
  std::function<std::vector<std::string>()> seeds;          // whole inputs, beside those of the corpus
};

/// All readers. `examples` is the folder of the configurations, `scratch` an empty one.
std::vector<Target> targets(const std::filesystem::path& examples, const std::filesystem::path& scratch);

}  // namespace pergola::fuzz
