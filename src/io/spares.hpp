#pragma once
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace pergola {

/// Memory that one thread fills and another has done with: taken and given back, it costs the system's pages once.
template <class T>
class Spares {
 public:
  /// One that was given back, else a new one.
  std::unique_ptr<T> take() {
    const std::lock_guard lock(mutex_);
    if (spare_.empty()) return std::make_unique<T>();
    auto one = std::move(spare_.back());
    spare_.pop_back();
    return one;
  }
  void give(std::unique_ptr<T> one) {
    const std::lock_guard lock(mutex_);
    spare_.push_back(std::move(one));
  }

 private:
  std::mutex mutex_;
  std::vector<std::unique_ptr<T>> spare_;
};

}  // namespace pergola
