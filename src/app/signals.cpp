// Signals: see signals.hpp. Handlers only post a semaphore or set a flag; threads do the rest.
#include "app/signals.hpp"
#include "base/atomic_file.hpp"
#include "base/error.hpp"

#include <semaphore.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>

namespace pergola::app {

namespace {

constexpr auto look_every = std::chrono::milliseconds(50);
constexpr int looks_of_patience = 20;  // if the particles are made within a second, the run ends as usual

sem_t signal_received;
std::atomic<bool> says_so{false};

/// A thread removes the files: a handler may not wait, and removal waits for files that are being made.
void wait_and_end() {
  while (::sem_wait(&signal_received) != 0) {
  }
  PassingFile::remove_all();
  constexpr std::string_view text = "pergola: interrupted\n";
  [[maybe_unused]] const auto written = says_so ? ::write(STDERR_FILENO, text.data(), text.size()) : 0;
  ::_exit(static_cast<int>(ErrorKind::interrupted));
}

}  // namespace

/// A signal that is ignored already (nohup) stays ignored.
void end_on_signals(bool speaks) {
  says_so = speaks;
  ::sem_init(&signal_received, 0, 0);
  try {
    std::thread(wait_and_end).detach();
  } catch (const std::system_error&) {
    return;  // no more threads for this user: signals end the program at once
  }
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    struct sigaction before {};
    if (::sigaction(signal, nullptr, &before) != 0 || before.sa_handler != SIG_DFL) continue;
    struct sigaction action {};
    action.sa_handler = [](int) { ::sem_post(&signal_received); };
    action.sa_flags = SA_RESTART;
    sigemptyset(&action.sa_mask);
    ::sigaction(signal, &action, nullptr);
  }
}

/// Set before an error is printed: mpirun then ends the other ranks with a signal.
void end_on_signals_silently() { says_so = false; }

StartGuard::StartGuard(const Context& context) : context_(context), thread_([this] { watch(); }) {}

StartGuard::~StartGuard() {
  over_ = true;
  thread_.join();
}

/// From here on watch() may end the process.
void StartGuard::begin(std::function<void()> undo) {
  const std::lock_guard lock(mutex_);
  undo_ = std::move(undo);
  making_ = true;
}

/// Waits for the lock: watch() holds it while it ends the process.
void StartGuard::end() {
  const std::lock_guard lock(mutex_);
  making_ = false;
  over_ = true;
}

/// Looks at `interrupted` every 50 ms while particles are made, and ends the process after about a second.
void StartGuard::watch() {
  for (int seen = 0; !over_; std::this_thread::sleep_for(look_every)) {
    if (!making_ || !interrupted || ++seen < looks_of_patience) continue;
    const std::lock_guard lock(mutex_);
    if (!making_) return;
    if (undo_) undo_();
    constexpr int code = static_cast<int>(ErrorKind::interrupted);
    if (context_.speaks())
      std::fputs("pergola: interrupted while the particles and their first forces were made; nothing is changed\n",
                 stderr);
    if (context_.communicator->size() > 1) context_.communicator->abort(code);
    std::_Exit(code);
  }
}

std::atomic<bool> checkpoint_asked{false};

/// SA_RESTART: a signal must not break a read or write in progress.
void catch_checkpoint_requests() {
  struct sigaction action {};
  action.sa_handler = [](int) { checkpoint_asked.store(true); };
  sigemptyset(&action.sa_mask);
  action.sa_flags = SA_RESTART;
  sigaction(SIGUSR1, &action, nullptr);
}

}  // namespace pergola::app
