// Feeds damaged inputs to every reader: each must read them or throw Error(input), in little time and memory.
//   pergola_fuzz CORPUS EXAMPLES [--seconds S] [--tries N] [--seed K] [--target NAME] [--keep FOLDER]
// The seed decides every input. What kills the program is left in FOLDER as NAME.input, to become a file of the corpus.
#include <fmt/core.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <map>

#include "base/error.hpp"
#include "base/text.hpp"
#include "fuzz/mutation.hpp"
#include "fuzz/target.hpp"

namespace pergola::fuzz {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

constexpr double longest_try_s = 20;

struct Options {
  fs::path corpus, examples, keep = fs::temp_directory_path();
  double seconds = 60;
  std::int64_t tries = INT64_MAX;
  std::uint64_t seed = 1;
  std::string target;  // empty: all
};

/// What became of one input.
struct Outcome {
  std::string defect;    // empty: none
  bool refused = false;  // with Error(input)
  bool deadly = false;   // to the child that looked first
};

/// Reads one input in this process.
Outcome try_to_read(const Target& target, const fs::path& path) {
  try {
    target.read(path);
    return {};
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::input) return {"", true};
    return {fmt::format("an error of kind {}: {}", static_cast<int>(error.kind()), error.what())};
  } catch (const std::exception& error) {
    return {fmt::format("an unexpected exception: {}", error.what())};
  }
}

/// Reads one input in a child that looks at it first. To die in the first look is what that is for; after it, a defect.
Outcome read_in_child(const Target& target, const fs::path& path) {
  int pipe[2];
  if (::pipe(pipe) != 0) return {"no pipe"};
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(static_cast<unsigned>(longest_try_s));
    if (!std::freopen("/dev/null", "w", stderr)) std::_Exit(9);
    target.first(path);
    const char looked = 'l';
    if (::write(pipe[1], &looked, 1) != 1) std::_Exit(9);
    const Outcome outcome = try_to_read(target, path);
    if (::write(pipe[1], outcome.defect.data(), outcome.defect.size()) < 0) std::_Exit(9);
    std::_Exit(outcome.refused ? 2 : 0);
  }
  ::close(pipe[1]);
  std::string said;
  char bytes[512];
  for (ssize_t count = 0; (count = ::read(pipe[0], bytes, sizeof bytes)) > 0;)
    said.append(bytes, static_cast<std::size_t>(count));
  ::close(pipe[0]);
  int status = 0;
  ::waitpid(child, &status, 0);
  Outcome outcome;
  if (said.empty())
    outcome.deadly = true;
  else if (!WIFEXITED(status))
    outcome.defect = fmt::format("killed by signal {} after the first look", WTERMSIG(status));
  else if (said.size() > 1)
    outcome.defect = said.substr(1);
  else if (WEXITSTATUS(status) != 0 && WEXITSTATUS(status) != 2)
    outcome.defect = fmt::format("ended with {} after the first look", WEXITSTATUS(status));
  outcome.refused = WIFEXITED(status) && WEXITSTATUS(status) == 2;
  return outcome;
}

void write_bytes(const fs::path& path, const std::string& bytes) {
  fs::remove(path);
  std::ofstream(path, std::ios::binary).write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

class Attack {
 public:
  Attack(const Target& target, const Options& options)
      : target_(target), input_(options.keep / (target.name + ".input")), dice_(options.seed) {
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
    const auto begin = Clock::now();
    Outcome outcome = target_.first ? read_in_child(target_, input_) : try_to_read(target_, input_);
    if (std::chrono::duration<double>(Clock::now() - begin).count() > longest_try_s && !outcome.deadly)
      outcome.defect = "takes too long";
    ++tries_;
    refused_ += outcome.refused, deadly_ += outcome.deadly;
    if (outcome.defect.empty()) return true;
    fmt::print(stderr, "{}: try {}: {}; the input is {}\n", target_.name, tries_, outcome.defect, input_.string());
    return false;
  }

  const Target& target_;
  fs::path input_;
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
