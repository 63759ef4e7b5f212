#include "device/device.hpp"

#include <fmt/core.h>
#include <sched.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <fstream>

#include "base/error.hpp"
#include "base/text.hpp"
#include "device/cores.hpp"
#include "device/faulty_memory.hpp"

namespace pergola {

namespace {

constexpr std::size_t cpu_alignment = 64;

class CpuMemory final : public DeviceMemory {
 public:
  void* allocate(std::size_t bytes) override {
    const std::size_t rounded = (bytes + cpu_alignment - 1) / cpu_alignment * cpu_alignment;
    void* pointer = std::aligned_alloc(cpu_alignment, rounded);
    if (!pointer)
      throw Error(ErrorKind::device,
                  fmt::format("cpu: out of memory: {} asked for, {} free", bytes_text(static_cast<double>(bytes)),
                              bytes_text(static_cast<double>(free_bytes()))));
    return pointer;
  }
  void release(void* pointer) noexcept override { std::free(pointer); }
  void* allocate_shared(std::size_t bytes) override { return allocate(bytes); }
  void release_shared(void* pointer) noexcept override { release(pointer); }
  void from_host(void* device, const void* host, std::size_t bytes) override { copy(device, host, bytes); }
  void to_host(void* host, const void* device, std::size_t bytes) override { copy(host, device, bytes); }
  // Nothing may be nowhere.
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

/// Read once: the kernel writes /proc/cpuinfo anew for each reader, which takes longer than the forces of a few
/// particles.
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
