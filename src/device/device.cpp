#include "device/device.hpp"

#include <fmt/core.h>
#include <sched.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <utility>

#include "base/error.hpp"
#include "base/text.hpp"

namespace pergola {

namespace {

constexpr std::size_t cpu_alignment = 64;
/// Arrays from 8 of these on lie in huge pages where Linux gives them: particles in an order of their own are read from
/// all over an array, and each small page would be looked up anew.
constexpr std::size_t huge_page = std::size_t{2} << 20;

class CpuMemory final : public DeviceMemory {
 public:
  void* allocate(std::size_t bytes) override {
    const std::size_t alignment = bytes >= 8 * huge_page ? huge_page : cpu_alignment;
    const std::size_t rounded = (bytes + alignment - 1) / alignment * alignment;
    void* pointer = std::aligned_alloc(alignment, rounded);
    if (!pointer)
      throw Error(ErrorKind::device,
                  fmt::format("cpu: out of memory: {} asked for, {} free", bytes_text(static_cast<double>(bytes)),
                              bytes_text(static_cast<double>(free_bytes()))));
#ifdef MADV_HUGEPAGE
    if (alignment == huge_page) madvise(pointer, rounded, MADV_HUGEPAGE);  // in vain: then pages are small
#endif
    return pointer;
  }
  void release(void* pointer) noexcept override { std::free(pointer); }
  void* allocate_shared(std::size_t bytes) override { return allocate(bytes); }
  void release_shared(void* pointer) noexcept override { release(pointer); }
  void from_host(void* device, const void* host, std::size_t bytes) override { copy(device, host, bytes); }
  void to_host(void* host, const void* device, std::size_t bytes) override { copy(host, device, bytes); }
  // The addresses of no bytes may be null.
  void copy(void* to, const void* from, std::size_t bytes) override {
    if (bytes > 0) std::memmove(to, from, bytes);
  }
  void zero(void* device, std::size_t bytes) override {
    if (bytes > 0) std::memset(device, 0, bytes);
  }
  void synchronize() override {}
  std::size_t free_bytes() const override { return meminfo("MemAvailable:"); }
  std::size_t total_bytes() const override { return meminfo("MemTotal:"); }
  Stream stream() const override { return {}; }
  Event record_event() override {
    return {nullptr, std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count()};
  }
  double seconds_between(const Event& first, const Event& later) override { return later.seconds - first.seconds; }
  void release(const Event&) noexcept override {}

 private:
  static std::size_t meminfo(const char* key) {
    std::ifstream file("/proc/meminfo");
    std::string word;
    while (file >> word)
      if (word == key) {
        std::size_t kib = 0;
        file >> kib;
        return kib * 1024;
      }
    return 0;
  }
};

/// A device that fails, for tests. PERGOLA_DEVICE_FAULT=KIND:N makes the N-th call of a kind fail with Error(device),
/// on every device that is opened:
///   alloc   an allocation: no memory is left; the next allocation may succeed
///   wait    a call that waits for the device, as after a kernel that failed; all later calls fail too
///   gone    a call of any kind: the device has vanished; all later calls fail too
enum class FaultKind { alloc, wait, gone };
struct Fault {
  FaultKind kind = FaultKind::gone;
  std::int64_t number = 0;
};

constexpr const char* fault_variable = "PERGOLA_DEVICE_FAULT";

Fault parse_fault(std::string_view text) {
  const auto colon = text.find(':');
  const std::string_view word = text.substr(0, colon);
  const std::int64_t number = colon == std::string_view::npos ? 0 : parse_integer(text.substr(colon + 1)).value_or(0);
  for (const auto& [name, kind] :
       {std::pair{"alloc", FaultKind::alloc}, {"wait", FaultKind::wait}, {"gone", FaultKind::gone}})
    if (word == name && number > 0) return {kind, number};
  throw Error(ErrorKind::input, fmt::format("{}: expected alloc:N, wait:N or gone:N, found {}", fault_variable, text));
}

class FaultyMemory final : public DeviceMemory {
 public:
  FaultyMemory(std::shared_ptr<DeviceMemory> memory, std::string spec, const Fault& fault)
      : memory_(std::move(memory)), spec_(std::move(spec)), fault_(fault) {}

  void* allocate(std::size_t bytes) override { return ask(FaultKind::alloc), memory_->allocate(bytes); }
  void release(void* pointer) noexcept override { memory_->release(pointer); }
  void* allocate_shared(std::size_t bytes) override { return ask(FaultKind::alloc), memory_->allocate_shared(bytes); }
  void release_shared(void* pointer) noexcept override { memory_->release_shared(pointer); }
  void from_host(void* device, const void* host, std::size_t bytes) override {
    ask(FaultKind::wait);
    memory_->from_host(device, host, bytes);
  }
  void to_host(void* host, const void* device, std::size_t bytes) override {
    ask(FaultKind::wait);
    memory_->to_host(host, device, bytes);
  }
  void copy(void* to, const void* from, std::size_t bytes) override { ask(), memory_->copy(to, from, bytes); }
  void zero(void* device, std::size_t bytes) override { ask(), memory_->zero(device, bytes); }
  void synchronize() override { ask(FaultKind::wait), memory_->synchronize(); }
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
  /// Throws if this call is to fail, or if the device has failed before.
  void ask(FaultKind kind = FaultKind::gone) {
    const bool counts = fault_.kind == FaultKind::gone || fault_.kind == kind;
    const std::int64_t number = counts ? ++calls_ : calls_.load();
    if (fault_.kind == FaultKind::alloc) {
      if (counts && number == fault_.number)
        throw Error(ErrorKind::device, fmt::format("{}: out of memory ({})", spec_, fault_variable));
    } else if (number >= fault_.number) {
      throw Error(
          ErrorKind::device,
          fmt::format("{}: {} ({})", spec_,
                      fault_.kind == FaultKind::wait ? "a kernel has failed" : "the device is gone", fault_variable));
    }
  }

  std::shared_ptr<DeviceMemory> memory_;
  std::string spec_;
  Fault fault_;
  std::atomic<std::int64_t> calls_{0};  // of the kind that fails
};

/// `memory`, or a FaultyMemory over it if the variable is set. Throws Error(input) for another text in it.
std::shared_ptr<DeviceMemory> with_faults(std::shared_ptr<DeviceMemory> memory, const std::string& spec) {
  const char* const text = std::getenv(fault_variable);
  if (!text || !*text) return memory;
  return std::make_shared<FaultyMemory>(std::move(memory), spec, parse_fault(text));
}

std::string read_cpu_name() {
  std::ifstream file("/proc/cpuinfo");
  std::string line;
  while (std::getline(file, line))
    if (line.starts_with("model name")) {
      const auto colon = line.find(": ");
      if (colon != std::string::npos) return line.substr(colon + 2);
    }
  return "CPU";
}

/// Read once: the kernel writes /proc/cpuinfo for each reader, which takes longer than the forces of a few particles.
const std::string& cpu_name() {
  static const std::string name = read_cpu_name();
  return name;
}

const char* no_cuda_build = "this build has no CUDA backend (the CUDA toolkit was not found when it was built)";

}  // namespace

int available_cores() {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) == 0) return CPU_COUNT(&set);
  return static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN));
}

Device Device::open(std::string_view spec, int threads) {
  const bool any_cuda = spec == "cuda";
  std::int64_t ordinal = -1;
  if (spec.starts_with("cuda:")) {
    const auto number = parse_integer(spec.substr(5));
    if (!number || *number < 0 || *number > 1023)
      throw Error(ErrorKind::input, fmt::format("device: expected auto, cpu, cuda or cuda:K, found \"{}\"", spec));
    ordinal = *number;
  } else if (!any_cuda && spec != "auto" && spec != "cpu") {
    throw Error(ErrorKind::input, fmt::format("device: expected auto, cpu, cuda or cuda:K, found \"{}\"", spec));
  }
  if (threads < 0) throw Error(ErrorKind::input, fmt::format("threads: expected 0 or more, found {}", threads));

  Device device;
  device.threads_ = threads > 0 ? threads : available_cores();
  if (any_cuda || ordinal >= 0 || spec == "auto") {
    const bool wanted = spec != "auto";
    if constexpr (cuda_built) {
      if (!wanted) {
        const auto found = list_cuda_devices();
        ordinal = !found.empty() && found[0].usable ? 0 : -1;
      } else if (any_cuda) {
        ordinal = 0;
      }
      if (ordinal >= 0) {
        device.ordinal_ = static_cast<int>(ordinal);
        device.memory_ = with_faults(open_cuda_memory(device.ordinal_, device.name_), device.spec());
        return device;
      }
    } else if (wanted) {
      throw Error(ErrorKind::device, fmt::format("{}: {}", spec, no_cuda_build));
    }
  }
  device.name_ = cpu_name();
  device.memory_ = with_faults(std::make_shared<CpuMemory>(), device.spec());
  return device;
}

std::string Device::spec() const { return is_cuda() ? fmt::format("cuda:{}", ordinal_) : "cpu"; }

std::vector<DeviceReport> list_devices() {
  CpuMemory memory;
  std::vector<DeviceReport> all{{"cpu", cpu_name(), true, "", memory.total_bytes(), available_cores()}};
  if constexpr (cuda_built) {
    for (auto& report : list_cuda_devices()) all.push_back(std::move(report));
  } else {
    all.push_back({"cuda", "", false, no_cuda_build, 0, 0});
  }
  return all;
}

}  // namespace pergola
