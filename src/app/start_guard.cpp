#include "app/start_guard.hpp"

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <utility>

#include "base/error.hpp"

namespace pergola::app {

namespace {
constexpr auto look_every = std::chrono::milliseconds(50);
constexpr int looks_of_patience = 20;  // particles that are made within a second end as a run does
}  // namespace

StartGuard::StartGuard(const Context& context) : context_(context), thread_([this] { watch(); }) {}

StartGuard::~StartGuard() {
  over_ = true;
  thread_.join();
}

void StartGuard::begin(std::function<void()> undo) {
  const std::lock_guard lock(mutex_);
  undo_ = std::move(undo);
  making_ = true;
}

void StartGuard::end() {
  const std::lock_guard lock(mutex_);
  making_ = false;
  over_ = true;
}

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

}  // namespace pergola::app
