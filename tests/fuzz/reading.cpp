#include "fuzz/reading.hpp"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <utility>

#include "base/error.hpp"

namespace pergola::fuzz {

namespace {

constexpr double longest_look_s = 4;            // of processor time
constexpr std::int64_t inputs_per_child = 500;  // what a library leaks on damaged inputs stays small

/// What a child is asked.
constexpr char look_and_read = 'g', only_read = 'r';
/// What a child says of one input: `looked`, then how the reading ended, whether it goes on, a defect's text, `end`.
constexpr char looked = 'l', fine = 'f', refused = 'r', defect = 'd', goes_on = '+', leaves = '-', end_of_answer = '\n';

/// A signal that ends this process after so much processor time (0: none).
void limit_processor_time(double seconds) {
  itimerval timer{};
  timer.it_value.tv_sec = static_cast<time_t>(seconds);
  ::setitimer(ITIMER_PROF, &timer, nullptr);
}

int open_descriptors() {
  int count = 0;
  for (int k = 0; k < 64; ++k) count += ::fcntl(k, F_GETFD) != -1;
  return count;
}

void say(int to, const std::string& bytes) {
  if (::write(to, bytes.data(), bytes.size()) != static_cast<ssize_t>(bytes.size())) std::_Exit(9);
}

}  // namespace

Outcome try_to_read(const Target& target, const std::filesystem::path& path) {
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

ReadingChild::ReadingChild(const Target& target, std::filesystem::path input)
    : target_(target), input_(std::move(input)) {}

ReadingChild::~ReadingChild() {
  if (child_) end();
}

Outcome ReadingChild::read() {
  Outcome outcome = ask(look_and_read);
  if (outcome.defect.empty()) return outcome;
  if (child_) end();
  Outcome again = ask(only_read);
  if (again.defect.empty()) again.deadly = true;
  return again;
}

Outcome ReadingChild::ask(char request) {
  if (!child_) start();
  ++inputs_seen_;
  std::string said;
  if (::write(requests_, &request, 1) == 1) {
    char byte = 0;
    while (::read(answers_, &byte, 1) == 1 && byte != end_of_answer) said += byte;
    if (byte == end_of_answer && said.size() >= 3) {
      if (said[2] == leaves || inputs_seen_ >= inputs_per_child) end();
      return {said.substr(3), said[1] == refused, false};
    }
  }
  const int status = end();
  if (said.empty()) return {"", false, true};
  return {WIFSIGNALED(status) ? fmt::format("killed by signal {} after the first look", WTERMSIG(status))
                              : fmt::format("ended with {} after the first look", WEXITSTATUS(status))};
}

void ReadingChild::start() {
  int requests[2], answers[2];
  if (::pipe2(requests, O_CLOEXEC) != 0 || ::pipe2(answers, O_CLOEXEC) != 0)
    throw Error(ErrorKind::system, "no pipe to a child that reads");
  std::fflush(nullptr);
  child_ = ::fork();
  if (child_ < 0) throw Error(ErrorKind::system, "no child that reads could be started");
  if (child_ == 0) {
    ::close(requests[1]), ::close(answers[0]);
    serve(requests[0], answers[1]);
  }
  ::close(requests[0]), ::close(answers[1]);
  requests_ = requests[1], answers_ = answers[0];
  inputs_seen_ = 0;
}

int ReadingChild::end() {
  ::close(requests_), ::close(answers_);
  int status = 0;
  ::waitpid(child_, &status, 0);
  child_ = 0;
  return status;
}

/// The child's side: an answer for every request, until the parent is gone. A file that a library has left open would
/// stand for the next input in its memory: such a child leaves.
void ReadingChild::serve(int requests, int answers) const {
  if (!std::freopen("/dev/null", "w", stderr)) std::_Exit(9);
  // Dies at once, without the report that a sanitizer takes its time for.
  for (const int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL}) std::signal(signal, SIG_DFL);
  const rlimit no_core{0, 0};
  ::setrlimit(RLIMIT_CORE, &no_core);
  const int open_before = open_descriptors();
  for (char request = 0; ::read(requests, &request, 1) == 1;) {
    limit_processor_time(longest_look_s);
    if (request == look_and_read) target_.first(input_);
    limit_processor_time(0);
    say(answers, {looked});
    limit_processor_time(longest_try_s);
    const Outcome outcome = try_to_read(target_, input_);
    limit_processor_time(0);
    const char how = outcome.refused ? refused : outcome.defect.empty() ? fine : defect;
    std::string text = outcome.defect;
    for (char& letter : text)
      if (letter == end_of_answer) letter = ' ';
    say(answers, std::string{how, open_descriptors() == open_before ? goes_on : leaves} + text + end_of_answer);
  }
  std::_Exit(0);
}

}  // namespace pergola::fuzz
