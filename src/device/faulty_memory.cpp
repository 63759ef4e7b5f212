#include "device/faulty_memory.hpp"

#include <fmt/core.h>

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <string_view>
#include <utility>

#include "base/error.hpp"
#include "base/text.hpp"

namespace pergola {

namespace {

enum class Kind { alloc, wait, gone };
struct Fault {
  Kind kind = Kind::gone;
  std::int64_t number = 0;
};

constexpr const char* variable = "PERGOLA_DEVICE_FAULT";

Fault parse(std::string_view text) {
  const auto colon = text.find(':');
  const std::string_view word = text.substr(0, colon);
  const std::int64_t number = colon == std::string_view::npos ? 0 : parse_integer(text.substr(colon + 1)).value_or(0);
  for (const auto& [name, kind] : {std::pair{"alloc", Kind::alloc}, {"wait", Kind::wait}, {"gone", Kind::gone}})
    if (word == name && number > 0) return {kind, number};
  throw Error(ErrorKind::input, fmt::format("{}: expected alloc:N, wait:N or gone:N, found {}", variable, text));
}

class FaultyMemory final : public DeviceMemory {
 public:
  FaultyMemory(std::shared_ptr<DeviceMemory> memory, std::string spec, const Fault& fault)
      : memory_(std::move(memory)), spec_(std::move(spec)), fault_(fault) {}

  void* allocate(std::size_t bytes) override { return ask(Kind::alloc), memory_->allocate(bytes); }
  void release(void* pointer) noexcept override { memory_->release(pointer); }
  void* allocate_shared(std::size_t bytes) override { return ask(Kind::alloc), memory_->allocate_shared(bytes); }
  void release_shared(void* pointer) noexcept override { memory_->release_shared(pointer); }
  void from_host(void* device, const void* host, std::size_t bytes) override {
    ask(Kind::wait);
    memory_->from_host(device, host, bytes);
  }
  void to_host(void* host, const void* device, std::size_t bytes) override {
    ask(Kind::wait);
    memory_->to_host(host, device, bytes);
  }
  void copy(void* to, const void* from, std::size_t bytes) override { ask(), memory_->copy(to, from, bytes); }
  void zero(void* device, std::size_t bytes) override { ask(), memory_->zero(device, bytes); }
  void synchronize() override { ask(Kind::wait), memory_->synchronize(); }
  std::size_t free_bytes() const override { return memory_->free_bytes(); }
  std::size_t total_bytes() const override { return memory_->total_bytes(); }
  Stream stream() const override { return memory_->stream(); }
  Event record_event() override { return ask(), memory_->record_event(); }
  double seconds_between(const Event& first, const Event& later) override {
    return ask(), memory_->seconds_between(first, later);
  }
  void release(const Event& event) noexcept override { memory_->release(event); }
  void make_current() const override { memory_->make_current(); }

 private:
  /// Throws where it is this call's turn to fail, or where the device has failed before.
  void ask(Kind kind = Kind::gone) {
    const bool counts = fault_.kind == Kind::gone || fault_.kind == kind;
    const std::int64_t number = counts ? ++calls_ : calls_.load();
    if (fault_.kind == Kind::alloc) {
      if (counts && number == fault_.number)
        throw Error(ErrorKind::device, fmt::format("{}: out of memory ({})", spec_, variable));
    } else if (number >= fault_.number) {
      throw Error(ErrorKind::device,
                  fmt::format("{}: {} ({})", spec_,
                              fault_.kind == Kind::wait ? "a kernel has failed" : "the device is gone", variable));
    }
  }

  std::shared_ptr<DeviceMemory> memory_;
  std::string spec_;
  Fault fault_;
  std::atomic<std::int64_t> calls_{0};  // of the kind that fails
};

}  // namespace

std::shared_ptr<DeviceMemory> with_faults(std::shared_ptr<DeviceMemory> memory, const std::string& spec) {
  const char* const text = std::getenv(variable);
  if (!text || !*text) return memory;
  return std::make_shared<FaultyMemory>(std::move(memory), spec, parse(text));
}

}  // namespace pergola
