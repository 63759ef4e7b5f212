// Feeds damaged inputs to every reader: each must read them or throw Error(input), in little time and memory.
//   pergola_fuzz CORPUS EXAMPLES [--seconds S] [--tries N] [--seed K] [--target NAME] [--keep FOLDER]
// The seed decides every input. What kills the program is left in FOLDER as NAME.input, to become a file of the corpus.
#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <iterator>
#include <map>

#include "base/text.hpp"
#include "fuzz/mutation.hpp"
#include "fuzz/reading.hpp"
#include "fuzz/target.hpp"

namespace pergola::fuzz {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

struct Options {
  fs::path corpus, examples, keep = fs::temp_directory_path();
  double seconds = 60;
  std::int64_t tries = INT64_MAX;
  std::uint64_t seed = 1;
  std::string target;  // empty: all
};

void write_bytes(const fs::path& path, const std::string& bytes) {
  fs::remove(path);
  std::ofstream(path, std::ios::binary).write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

class Attack {
 public:
  Attack(const Target& target, const Options& options)
      : target_(target), input_(options.keep / (target.name + ".input")), child_(target, input_), dice_(options.seed) {
    inputs_ = target.seeds();
    std::map<fs::path, std::string> files;
    std::error_code none;
    for (const auto& entry : fs::directory_iterator(options.corpus / target.name, none)) {
      std::ifstream stream(entry.path(), std::ios::binary);
      files[entry.path()] = {std::istreambuf_iterator<char>(stream), {}};
    }
    for (auto& [path, bytes] : files) inputs_.push_back(std::move(bytes));
  }

  /// The whole inputs as they are, then changed ones. Returns whether all went well.
  bool run(double seconds, std::int64_t tries) {
    const auto begin = Clock::now();
    const auto elapsed = [&] { return std::chrono::duration<double>(Clock::now() - begin).count(); };
    bool good = !inputs_.empty();
    for (const auto& input : inputs_) good = try_one(input) && good;
    while (good && tries_ < tries && elapsed() < seconds) good = try_one(mutate(inputs_, dice_)) && good;
    fmt::print("{:<16} {:>8} tries in {:>5.1f} s: {} refused, {} deadly to a first look{}\n", target_.name, tries_,
               elapsed(), refused_, deadly_,
               good              ? ""
               : inputs_.empty() ? ": NO INPUTS"
                                 : ": DEFECT");
    if (good) fs::remove(input_);
    return good;
  }

 private:
  bool try_one(const std::string& bytes) {
    write_bytes(input_, bytes);
    const std::clock_t begin = std::clock();  // of this process: a child has its own limits
    Outcome outcome = target_.first ? child_.read() : try_to_read(target_, input_);
    if (static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC > longest_try_s) outcome.defect = "takes too long";
    ++tries_;
    refused_ += outcome.refused, deadly_ += outcome.deadly;
    if (outcome.defect.empty()) return true;
    fmt::print(stderr, "{}: try {}: {}; the input is {}\n", target_.name, tries_, outcome.defect, input_.string());
    return false;
  }

  const Target& target_;
  fs::path input_;
  ReadingChild child_;
  Dice dice_;
  std::vector<std::string> inputs_;
  std::int64_t tries_ = 0, refused_ = 0, deadly_ = 0;
};

bool read_options(int argc, char** argv, Options& options) {
  if (argc < 3) return false;
  options.corpus = argv[1], options.examples = argv[2];
  for (int k = 3; k + 1 < argc; k += 2) {
    const std::string name = argv[k], value = argv[k + 1];
    const auto number = parse_real(value);
    if (name == "--target")
      options.target = value;
    else if (name == "--keep")
      options.keep = value;
    else if (name == "--seconds" && number)
      options.seconds = *number;
    else if (name == "--tries" && number)
      options.tries = static_cast<std::int64_t>(*number), options.seconds = HUGE_VAL;
    else if (name == "--seed" && number)
      options.seed = static_cast<std::uint64_t>(*number);
    else
      return false;
  }
  return argc % 2 == 1;
}

int run(int argc, char** argv) {
  Options options;
  if (!read_options(argc, argv, options)) {
    fmt::print(stderr,
               "usage: {} CORPUS EXAMPLES [--seconds S] [--tries N] [--seed K] [--target NAME] [--keep FOLDER]\n",
               argv[0]);
    return 2;
  }
  std::string scratch = (fs::temp_directory_path() / "pergola-fuzz-XXXXXX").string();
  if (!::mkdtemp(scratch.data())) return 3;
  if (options.keep == fs::temp_directory_path()) options.keep = scratch;
  auto all = targets(options.examples, scratch);
  std::erase_if(all, [&](const Target& t) { return !options.target.empty() && t.name != options.target; });
  bool good = !all.empty();
  for (const Target& target : all)
    good = Attack(target, options).run(options.seconds / static_cast<double>(all.size()), options.tries) && good;
  if (good) fs::remove_all(scratch);
  return good ? 0 : 1;
}

}  // namespace
}  // namespace pergola::fuzz

int main(int argc, char** argv) { return pergola::fuzz::run(argc, argv); }
