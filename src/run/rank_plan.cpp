#include "run/rank_plan.hpp"

#include <fmt/core.h>
#include <time.h>

#include <algorithm>
#include <cmath>

#include "base/error.hpp"
#include "base/text.hpp"
#include "comm/communicator.hpp"
#include "comm/counted_communicator.hpp"
#include "run/side_by_side.hpp"
#include "sim/system.hpp"
#include "time/work_places.hpp"

namespace pergola {

namespace {

/// Of this thread.
double thread_seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

/// What a rank has done so far, or in some steps.
struct OfRank {
  double sent = 0, received = 0, messages = 0, seconds = 0;
  double carried() const { return std::max(sent, received); }
  /// This and so many times the other.
  OfRank plus(double times, const OfRank& other) const {
    return {sent + times * other.sent, received + times * other.received, messages + times * other.messages,
            seconds + times * other.seconds};
  }
};

class LoneRank final : public Communicator {
 public:
  explicit LoneRank(int ranks) : ranks_(ranks) {}
  int rank() const override { return 0; }
  int size() const override { return ranks_; }
  void barrier() override { refuse(); }
  void broadcast(void*, std::size_t, int) override { refuse(); }
  void all_gather_in_place(void*, const std::vector<std::size_t>&) override { refuse(); }
  void exchange(const std::vector<Outgoing>&, const std::vector<Incoming>&) override { refuse(); }
  bool all_have_failed(double) override { return false; }
  void abort(int) override {}

 private:
  [[noreturn]] static void refuse() { throw Error(ErrorKind::system, "a rank that only counts its memory was called"); }
  const int ranks_;
};

}  // namespace

std::shared_ptr<Communicator> lone_rank_of(int ranks) { return std::make_shared<LoneRank>(ranks); }

void set_added_work(DryRun& tried, const DryRun& one_rank) {
  if (one_rank.seconds_mean > 0)
    tried.added_work = std::max(0.0, tried.seconds_mean * tried.ranks / one_rank.seconds_mean - 1);
}

DryRun count_traffic(int ranks, std::int64_t steps, double together, double end_time,
                     const std::function<std::unique_ptr<System>(std::shared_ptr<Communicator>)>& make) {
  std::vector<OfRank> all(static_cast<std::size_t>(ranks));
  DryRun found{.ranks = ranks};
  run_on_thread_ranks(ranks, [&](Communicator& communicator) {
    const auto counted =
        std::make_shared<CountedCommunicator>(std::shared_ptr<Communicator>(&communicator, [](Communicator*) {}));
    const auto system = make(counted);
    system->pause_every(1);
    const auto now = [&] {
      const Traffic& traffic = counted->traffic();
      return OfRank{static_cast<double>(traffic.bytes), static_cast<double>(traffic.received),
                    static_cast<double>(traffic.messages), thread_seconds()};
    };
    const OfRank before = now();
    std::vector<OfRank> ends;  // of steps
    const auto enough = [&] {
      ends.push_back(now());
      return together < WorkPlaces::fewest_steps || std::ssize(ends) > steps;
    };
    for (bool over = false; !over && std::ssize(ends) <= steps;) over = system->advance(end_time, enough);
    if (ends.empty()) return;
    const bool alone = ends.size() == 1;
    const auto counted_steps = static_cast<double>(alone ? 1 : ends.size() - 1);
    OfRank& mine = all[static_cast<std::size_t>(communicator.rank())];
    mine = ends.back().plus(-1, alone ? before : ends.front());
    if (!alone && together >= WorkPlaces::fewest_steps) {
      const OfRank way = now().plus(-1, before).plus(-(counted_steps + 1) / counted_steps, mine);
      mine = mine.plus(counted_steps / together, way);
    }
    if (communicator.is_root()) found.n = system->size(), found.steps = static_cast<std::int64_t>(counted_steps);
  });
  if (found.steps == 0)
    throw Error(ErrorKind::input, "--ranks: expected a run of at least one whole step, found a shorter one");
  const auto taken = static_cast<double>(found.steps);
  double sent = 0, seconds = 0, most_seconds = 0;
  for (const OfRank& one : all) {
    sent += one.sent, seconds += one.seconds;
    most_seconds = std::max(most_seconds, one.seconds);
    found.bytes_mean += one.carried() / (taken * ranks);
    found.bytes_most = std::max(found.bytes_most, one.carried() / taken);
    found.messages_most = std::max(found.messages_most, one.messages / taken);
  }
  found.sent_per_particle = sent / (taken * static_cast<double>(found.n));
  found.seconds_mean = seconds / (taken * ranks);
  found.imbalance = seconds > 0 ? most_seconds * ranks / seconds : 1;
  return found;
}

double TrafficRule::at(double m) const { return volume * m + surface * std::pow(m, 2.0 / 3); }

TrafficRule fit_traffic(double m, double bytes, double fewer, double bytes_of_fewer) {
  const double each = bytes / m, thinner = std::cbrt(1 / m);
  const double surface = (bytes_of_fewer / fewer - each) / (std::cbrt(1 / fewer) - thinner);
  if (!(surface > 0)) return {each, 0};
  if (surface * thinner > each) return {0, each / thinner};
  return {each - surface * thinner, surface};
}

double scaled_messages(double messages, int tried_ranks, int ranks) {
  return messages * std::max(1.0, (ranks - 1.0) / (tried_ranks - 1.0));
}

double scaled_added_work(double added, double more) { return added / std::cbrt(more); }

namespace {

/// What the samples sent beyond what is known by rule, as it is in the run. Where they sent less, the rules' parts
/// shrink to that.
void add_rest(RankPlan& plan, const RunShape& run) {
  const DryRun& tried = plan.counted.front();
  const auto share = [](const DryRun& of) { return static_cast<double>(of.n) / of.ranks; };
  const auto rest = [&](std::size_t k) {
    const TrafficPart known = k < run.of_counted.size() ? run.of_counted[k] : TrafficPart{};
    return std::pair{std::max(0.0, plan.counted[k].bytes_mean - known.bytes),
                     std::max(0.0, plan.counted[k].messages_most - known.messages)};
  };
  const double uneven = tried.bytes_mean > 0 ? tried.bytes_most / tried.bytes_mean : 1;
  const auto [bytes, messages] = rest(0);
  TrafficPart other{run.by_rule.empty() ? "messages" : "other messages"};
  other.off_node = off_node_of_all(plan.ranks, plan.network.ranks_per_node);
  other.messages = scaled_messages(messages, tried.ranks, plan.ranks);
  if (run.whole) {
    const TrafficPart known = sum_of(plan.exchange);
    other.bytes = std::max(0.0, tried.bytes_most - known.bytes);
    for (TrafficPart& part : plan.exchange) {
      if (known.bytes > tried.bytes_most) part.bytes *= tried.bytes_most / known.bytes;
      if (known.messages > tried.messages_most) part.messages *= tried.messages_most / known.messages;
    }
  } else {
    const std::size_t last = plan.counted.size() - 1;
    const TrafficRule rule = fit_traffic(share(tried), bytes, share(plan.counted[last]), rest(last).first);
    other.bytes = uneven * rule.at(run.n / (run.sources_come_by ? tried.ranks : plan.ranks));
  }
  plan.exchange.push_back(other);
}

/// The stages of one process, each rank's share of them, and what is added.
void add_work_by_stage(RankPlan& plan, const RunShape& run, double share_seconds) {
  double all = 0;
  for (const StageSeconds& stage : run.stages) all += stage.seconds;
  for (const StageSeconds& stage : run.stages)
    if (all > 0) plan.work.push_back({stage.name, share_seconds * stage.seconds / all});
  if (plan.ranks == 1) return;
  plan.work.push_back({"added by ranks", share_seconds * plan.added_work});
  plan.work.push_back({"wait for the busiest", share_seconds * (1 + plan.added_work) * (plan.imbalance - 1)});
  if (run.host_waits_seconds > 0) plan.work.push_back({"waits for the host", run.host_waits_seconds});
}

/// Seconds of a step that are hidden where trees are built, and then walked, beside what the mesh does once particles
/// are in their slabs: in between the walk has to know its forces in the groups of trees. What else particles send, and
/// waits for busier ranks, are taken to be not.
double hidden_by_mesh(const RankPlan& plan) {
  const auto stage = [&](const char* name, double times = 1) {
    const auto at = std::find_if(plan.work.begin(), plan.work.end(), [&](const auto& of) { return of.name == name; });
    return PieceOfStep{false, at != plan.work.end() ? times * at->seconds : 0};
  };
  const auto part = [&](const char* name, double times = 1) {
    const auto at =
        std::find_if(plan.exchange.begin(), plan.exchange.end(), [&](const auto& of) { return of.name == name; });
    return PieceOfStep{true, at != plan.exchange.end() ? times * at->seconds : 0};
  };
  using Row = std::vector<PieceOfStep>;
  const auto hidden = [](const Row& mesh, const Row& trees) {
    double all = 0;
    for (const Row& row : {mesh, trees})
      for (const PieceOfStep& piece : row) all += piece.seconds;
    return all - seconds_side_by_side(mesh, trees);
  };
  constexpr double third = 1.0 / 3;
  // Transposes of the density, and of what the force along z and those along x and y are made of.
  const Row to_groups{stage("histogram"),
                      stage("density"),
                      part("sums beyond slabs"),
                      part("transposes", third),
                      stage("Poisson"),
                      stage("force x y z", third),
                      part("transposes", 2 * third),
                      stage("force x y z", 2 * third),
                      part("mesh in groups of trees")};
  Row to_particles;
  for (int axis = 0; axis < 3; ++axis)
    for (const PieceOfStep& piece :
         {part("planes around slabs", third), stage("velocity x y z", third), part("forces back from slabs", third)})
      to_particles.push_back(piece);
  const Row trees{part("counts of roots"), part("particles to trees"), part("guests of trees"), stage("tree"),
                  stage("added by ranks")};
  return hidden(to_groups, trees) + hidden(to_particles, {stage("estimate"), stage("walk")});
}

}  // namespace

void foretell_ranks(RankPlan& plan, const RunShape& run) {
  const double share_seconds = plan.one_rank_seconds / plan.ranks;
  plan.compute_seconds = share_seconds;
  if (plan.ranks > 1) {
    plan.exchange = run.by_rule;
    if (!plan.counted.empty()) {
      const DryRun& tried = plan.counted.front();
      const double more = run.n / plan.ranks / (static_cast<double>(tried.n) / tried.ranks);
      plan.added_work = run.whole ? tried.added_work : scaled_added_work(tried.added_work, more);
      plan.imbalance = tried.imbalance;
      add_rest(plan, run);
      if (!run.of_counted.empty() && tried.bytes_mean > 0)
        plan.by_rule_over_counted = run.of_counted.front().bytes / tried.bytes_mean;
    }
    plan.compute_seconds = plan.compute_seconds * plan.imbalance * (1 + plan.added_work) + run.host_waits_seconds;
    for (TrafficPart& part : plan.exchange) part.seconds = plan.network.seconds(part);
    const TrafficPart all = sum_of(plan.exchange);
    plan.bytes = all.bytes, plan.messages = all.messages, plan.communication_seconds = all.seconds;
  }
  add_work_by_stage(plan, run, share_seconds);
  // Through the host's memory it is the GPU that carries messages.
  if (plan.ranks > 1 && run.trees_beside_mesh && !(plan.network.staging_bytes_per_second > 0))
    plan.hidden_seconds = hidden_by_mesh(plan);
  const double step = plan.compute_seconds + plan.communication_seconds - plan.hidden_seconds;
  plan.efficiency = step > 0 ? share_seconds / step : 1;
}

std::optional<double> parse_byte_rate(const std::string& text) {
  struct Unit {
    const char* name;
    double bytes;
  };
  // A longer name before one that it ends with.
  constexpr Unit units[] = {{"TB/s", 1e12}, {"GB/s", 1e9}, {"MB/s", 1e6}, {"kB/s", 1e3}, {"B/s", 1}, {"", 1}};
  for (const Unit& unit : units) {
    if (!text.ends_with(unit.name)) continue;
    std::string number = text.substr(0, text.size() - std::string(unit.name).size());
    while (number.ends_with(' ')) number.pop_back();
    const auto value = parse_real(number);
    if (!value || !(*value > 0) || !std::isfinite(*value * unit.bytes)) return std::nullopt;
    return *value * unit.bytes;
  }
  return std::nullopt;
}

std::optional<std::vector<int>> parse_rank_list(const std::string& text) {
  std::vector<int> all;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    const auto value = parse_real(text.substr(begin, end - begin));
    if (!value || *value < 1 || *value > most_planned_ranks || *value != std::floor(*value)) return std::nullopt;
    all.push_back(static_cast<int>(*value));
    begin = end + 1;
  }
  return all;
}

}  // namespace pergola
