#include <algorithm>
#include <utility>

#include "base/stopwatch.hpp"
#include "outputs/analysis_output.hpp"
#include "outputs/audit_output.hpp"
#include "outputs/checkpoint_output.hpp"
#include "outputs/energy_output.hpp"
#include "outputs/output.hpp"
#include "outputs/radii_output.hpp"
#include "outputs/snapshot_output.hpp"
#include "outputs/spectrum_output.hpp"

namespace pergola {

namespace {

std::vector<OutputEntry>& entries() {
  static std::vector<OutputEntry> all{energy_output(),   radii_output(),    audit_output(),     spectrum_output(),
                                      snapshot_output(), analysis_output(), checkpoint_output()};
  return all;
}

}  // namespace

const std::vector<OutputEntry>& output_entries() { return entries(); }

std::int64_t most_bytes_waiting(int ranks) {
  constexpr std::int64_t gib = std::int64_t{1} << 30, least = std::int64_t{1} << 26;
  const auto free = static_cast<std::int64_t>(Device::open("cpu", 1).memory().free_bytes());
  return std::max(least, std::clamp(free / 8, gib, 16 * gib) / ranks);
}

std::function<void()> begin_file(OutputContext& context) {
  constexpr int most_files_waiting = 4;
  if (context.files_waiting >= most_files_waiting) context.queue->drain();
  ++context.files_waiting;
  return [&context, begin = Clock::now()] {
    --context.files_waiting;
    context.longest_write_seconds = std::max(context.longest_write_seconds.load(), seconds_since(begin));
  };
}

void register_output(OutputEntry entry, std::vector<NumberKey> keys) {
  entries().push_back(std::move(entry));
  for (auto& key : keys) register_number_key(std::move(key));
}

}  // namespace pergola
