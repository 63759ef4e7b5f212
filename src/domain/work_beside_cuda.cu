#include <algorithm>
#include <utility>
#include <vector>

#include "base/stopwatch.hpp"
#include "comm/counted_communicator.hpp"
#include "device/device.hpp"
#include "domain/work_beside.hpp"

namespace pergola {

namespace {

/// A call of all ranks.
bool some_share_a_gpu(const Device& device, Communicator& ranks) {
  std::vector<GpuIdentity> all(static_cast<std::size_t>(ranks.size()));
  all[static_cast<std::size_t>(ranks.rank())] = gpu_identity(device);
  ranks.all_gather_in_place(all.data(), std::vector<std::size_t>(all.size(), sizeof(GpuIdentity)));
  std::sort(all.begin(), all.end());
  return std::adjacent_find(all.begin(), all.end()) != all.end();
}

}  // namespace

WorkBeside::WorkBeside(const Device& device, std::shared_ptr<Communicator> ranks)
    : device_(device), there_(device), ranks_(std::move(ranks)), ranks_there_(ranks_) {
  std::int64_t cores = available_cores();
  ranks_->all_reduce(&cores, 1, Reduction::minimum);
  if (cores < 2) return;
  const auto beside = ranks_->beside();
  if (!beside) return;
  const UrgentStreams first;  // it has more to wait for
  there_ = Device::open(device_.spec(), device_.threads());
  ranks_there_ = beside;
  apart_ = true;
  shares_gpu_ = some_share_a_gpu(device_, *ranks_);
}

std::future<void> WorkBeside::begin(std::function<void()> work) {
  if (!apart_) {
    work();
    return {};
  }
  device_.synchronize();
  talked_ = counted_seconds(*ranks_there_);
  return std::async(std::launch::async, [this, work = std::move(work)] {
    there_.make_current();
    work();
    there_.synchronize();
  });
}

void WorkBeside::end(std::future<void>& running) {
  if (!running.valid()) return;
  const auto begin = Clock::now();
  running.wait();
  // Of what the first thread had to wait, at most this was for other ranks.
  const double talked = counted_seconds(*ranks_there_);
  count_other_way(*ranks_, 0, 0, 0, std::min(seconds_since(begin), talked - std::exchange(talked_, talked)));
  running.get();
}

void WorkBeside::now(const std::function<void()>& work) {
  if (!apart_) return work();
  device_.synchronize();
  const double talked = counted_seconds(*ranks_there_);
  work();
  there_.synchronize();
  count_other_way(*ranks_, 0, 0, 0, counted_seconds(*ranks_there_) - talked);
}

}  // namespace pergola
