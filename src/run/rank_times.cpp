#include "run/rank_times.hpp"

#include <fmt/core.h>

#include <algorithm>

#include "base/text.hpp"
#include "comm/agreement.hpp"

namespace pergola {

namespace {

/// Seconds of work in a stage since `before`; 0 where there is no such stage.
double work_in(const std::string& name, const Profile& before, const Profile& now) {
  double seconds = 0;
  for (const auto& stage : now.stages())
    if (stage.name == name) seconds += stage.seconds - stage.waiting;
  for (const auto& stage : before.stages())
    if (stage.name == name) seconds -= stage.seconds - stage.waiting;
  return std::max(seconds, 0.0);
}

struct MeanAndMost {
  double mean = 0, most = 0;
};

/// Of number k of each rank's `size` numbers.
MeanAndMost over_ranks(const std::vector<double>& all, std::size_t size, std::size_t k) {
  MeanAndMost found;
  for (std::size_t at = k; at < all.size(); at += size) {
    found.mean += all[at];
    found.most = std::max(found.most, all[at]);
  }
  found.mean /= static_cast<double>(all.size() / size);
  return found;
}

}  // namespace

RankTimes find_rank_times(CountedCommunicator& ranks, const Profile& before, const Profile& now, double seconds) {
  const Traffic traffic = ranks.traffic();
  std::string names;
  if (ranks.is_root())
    for (const auto& stage : now.stages()) names += stage.name + '\n';
  share(ranks, names);
  RankTimes times;
  for (std::size_t begin = 0, end; (end = names.find('\n', begin)) != std::string::npos; begin = end + 1)
    times.stages.push_back({names.substr(begin, end - begin)});

  std::vector<double> own{seconds - traffic.seconds, traffic.seconds};
  for (const auto& stage : times.stages) own.push_back(work_in(stage.name, before, now));
  const auto size = static_cast<std::size_t>(ranks.size());
  std::vector<double> all(own.size() * size);
  std::copy(own.begin(), own.end(), all.begin() + ranks.rank() * std::ssize(own));
  ranks.all_gather_in_place(all.data(), std::vector<std::size_t>(size, own.size() * sizeof(double)));
  std::int64_t sums[2] = {traffic.bytes, traffic.calls};
  ranks.all_reduce(sums, 2, Reduction::sum);

  times.ranks = ranks.size();
  const auto [working, working_most] = over_ranks(all, own.size(), 0);
  times.working_mean = working, times.working_most = working_most;
  times.waiting_mean = over_ranks(all, own.size(), 1).mean;
  times.bytes = sums[0], times.calls = sums[1];
  for (std::size_t k = 0; k < times.stages.size(); ++k) {
    const auto [mean, most] = over_ranks(all, own.size(), 2 + k);
    times.stages[k].mean = mean, times.stages[k].most = most;
  }
  return times;
}

std::string RankTimes::text() const {
  return fmt::format(
      "{} ranks: each worked {:.3g} s, the busiest {:.2f} times that, and spent {:.3g} s with the "
      "others; {} in {} calls",
      ranks, working_mean, imbalance(working_most, working_mean), waiting_mean, bytes_text(static_cast<double>(bytes)),
      calls);
}

}  // namespace pergola
