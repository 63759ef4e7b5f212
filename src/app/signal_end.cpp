#include "app/signal_end.hpp"

#include <semaphore.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <string_view>
#include <system_error>
#include <thread>

#include "base/atomic_file.hpp"
#include "base/error.hpp"

namespace pergola::app {

namespace {

sem_t told;
std::atomic<bool> says_so{false};

/// A handler may wait for nothing, and whoever removes files waits for those who are making one: another thread does
/// it.
void wait_and_end() {
  while (::sem_wait(&told) != 0) {
  }
  PassingFile::remove_all();
  constexpr std::string_view text = "pergola: interrupted\n";
  [[maybe_unused]] const auto written = says_so ? ::write(STDERR_FILENO, text.data(), text.size()) : 0;
  ::_exit(static_cast<int>(ErrorKind::interrupted));
}

}  // namespace

void end_on_signals(bool speaks) {
  says_so = speaks;
  ::sem_init(&told, 0, 0);
  try {
    std::thread(wait_and_end).detach();
  } catch (const std::system_error&) {
    return;  // no more threads for this user: signals end the program as they are
  }
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    struct sigaction before {};
    if (::sigaction(signal, nullptr, &before) != 0 || before.sa_handler != SIG_DFL) continue;
    struct sigaction action {};
    action.sa_handler = [](int) { ::sem_post(&told); };
    action.sa_flags = SA_RESTART;
    sigemptyset(&action.sa_mask);
    ::sigaction(signal, &action, nullptr);
  }
}

void end_on_signals_silently() { says_so = false; }

}  // namespace pergola::app
