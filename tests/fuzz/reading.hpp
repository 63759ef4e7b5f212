#pragma once
#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <string>

#include "fuzz/target.hpp"

namespace pergola::fuzz {

inline constexpr double longest_try_s = 20;  // of processor time: the machine may have other work

/// What became of one input.
struct Outcome {
  std::string defect;    // empty: none
  bool refused = false;  // with Error(input)
  bool deadly = false;   // to the child that looked first
};

/// Reads one input in this process.
Outcome try_to_read(const Target& target, const std::filesystem::path& path);

/// Reads inputs, one after the other, in a child that looks at each first. To die in the first look is what that is
/// for, and another child goes on. To die after it may be its doing as well, for a library that has run over a damaged
/// input may die of it later: it is a defect if a new child that only reads dies too, as the program reads in another
/// process than the one that looked.
class ReadingChild {
 public:
  ReadingChild(const Target& target, std::filesystem::path input);
  ~ReadingChild();
  ReadingChild(const ReadingChild&) = delete;
  ReadingChild& operator=(const ReadingChild&) = delete;

  /// Of the file as it is now.
  Outcome read();

 private:
  Outcome ask(char request);
  void start();
  int end();  // its status
  [[noreturn]] void serve(int requests, int answers) const;

  const Target& target_;
  std::filesystem::path input_;
  pid_t child_ = 0;  // 0: none
  int requests_ = -1, answers_ = -1;
  std::int64_t inputs_seen_ = 0;  // by this child
};

}  // namespace pergola::fuzz
