#include "gravity/direct_solver.cuh"
#include "gravity/direct_spread_cuda.cuh"
#include "gravity/solver.hpp"

#include <limits>
#include <utility>

namespace pergola {

namespace cuda {

namespace {

/// Sums travel only where each rank has about so many segments: what it fetches for its last one is then a small part
/// of what it has.
constexpr int least_segments = 4;
constexpr auto nobody = std::numeric_limits<std::int64_t>::max();

/// Who sums which segments: the rank that keeps the first source of one.
struct SegmentShares {
  std::int64_t sources = 0;
  std::int64_t ranks = 1;
  std::int64_t length = 0, segments = 0;

  PERGOLA_HD std::int64_t first(std::int64_t rank) const {
    if (rank >= ranks) return segments;
    const std::int64_t begin = divide_up(sources * rank / ranks, length);
    return begin < segments ? begin : segments;
  }
  PERGOLA_HD std::int64_t count(std::int64_t rank) const { return first(rank + 1) - first(rank); }
  PERGOLA_HD std::int64_t owner(std::int64_t segment) const {
    const std::int64_t place = segment * length;
    return place < sources ? ((place + 1) * ranks - 1) / sources : ranks - 1;
  }
  /// The sources that a rank needs.
  Stretch sources_of(std::int64_t rank) const {
    const auto at = [this](std::int64_t segment) { return std::min(sources, segment * length); };
    return {at(first(rank)), at(first(rank + 1)) - at(first(rank))};
  }
};

SegmentShares segment_shares(const Shares& shares, const Decomposition& d) {
  return {shares.total, shares.ranks, d.segment_length, d.segments};
}

/// Puts those who ask one behind the other.
template <Precision P>
struct TakeAsking {
  Targets targets;
  SourcePack<P> from, to;
  std::int64_t* place;  // among all
  std::int64_t first;   // the place of the first source here
  __device__ void operator()(std::int64_t t) const {
    const std::int64_t i = targets.index ? targets.index[t] : targets.first + t;
    to.place[t] = from.place[i], to.motion[t] = from.motion[i];
    if constexpr (SourcePack<P>::has_rest) to.rest[t] = from.rest[i];
    place[t] = first + i;
  }
};

/// Between the sums of all segments and those of one rank's, which travel.
template <class Sum>
struct TakeParts {
  const Sum* partial;
  Sum* to;
  std::int64_t first, count, segments, values;  // segments of this rank, of all; values of each
  __device__ void operator()(std::int64_t k) const {
    const std::int64_t row = count * values;
    to[k] = partial[((k / row) * segments + first) * values + k % row];
  }
};

/// The other way, from the messages of all ranks, for own targets.
template <class Sum>
struct PutParts {
  const Sum* from;  // what rank r sent begins behind the segments of those before, of all targets
  Sum* partial;     // of the first own target
  SegmentShares shares;
  std::int64_t own, targets, values;
  __device__ void operator()(std::int64_t k) const {
    const std::int64_t row = shares.segments * values, t = k / row, segment = k % row / values;
    const std::int64_t rank = shares.owner(segment), first = shares.first(rank);
    if (rank == own) return;
    partial[k] = from[(targets * first + t * shares.count(rank) + segment - first) * values + k % values];
  }
};

/// The place of a target and what says where it is.
template <Precision P>
struct Faulty {
  std::int64_t place = 0;
  PackedPosition<P> position{};
};

int values_of(ForceKind kind) {
  switch (kind) {
    case ForceKind::acceleration:
      return ForceColumns<ForceKind::acceleration>::values;
    case ForceKind::acceleration_potential:
      return ForceColumns<ForceKind::acceleration_potential>::values;
    case ForceKind::potential:
      return ForceColumns<ForceKind::potential>::values;
    case ForceKind::acceleration_jerk:
      return ForceColumns<ForceKind::acceleration_jerk>::values;
    case ForceKind::acceleration_jerk_potential:
      break;
  }
  return ForceColumns<ForceKind::acceleration_jerk_potential>::values;
}

}  // namespace

template <Precision P>
DistributedDirectCuda<P>::DistributedDirectCuda(const SolverOptions& options, const Device& device,
                                                std::shared_ptr<Communicator> ranks, const TravelLimits& limits,
                                                std::shared_ptr<DeviceMessages> messages)
    : sums_(options, device),
      ranks_(std::move(ranks)),
      messages_(messages ? std::move(messages) : std::make_shared<DeviceMessages>(device, ranks_)),
      limits_(limits) {}

template <Precision P>
std::vector<Stretch> DistributedDirectCuda<P>::kept() const {
  std::vector<Stretch> all;
  for (int rank = 0; rank < shares_.ranks; ++rank) all.push_back({shares_.first(rank), shares_.count(rank)});
  return all;
}

/// The longest rest of a segment, of which another rank has the begin, where sums may travel.
template <Precision P>
std::int64_t DistributedDirectCuda<P>::margin(std::int64_t all, int ranks) {
  const std::int64_t segments = std::int64_t{least_segments} * ranks;
  return all / shortest_segment < segments ? 0 : all / segments + 32;
}

template <Precision P>
void DistributedDirectCuda<P>::reserve(std::int64_t own) {
  device().make_current();
  std::int64_t all = own;
  ranks_->all_reduce(&all, 1, Reduction::sum);
  shares_ = {all, ranks_->size()};
  sums_.reserve(own + margin(all, shares_.ranks));
  sums_.reserve(own);
}

template <Precision P>
void DistributedDirectCuda<P>::prepare(const Sources<Sum>& sources) {
  reserve(sources.count);
  sums_.prepare(sources);
}

/// All ranks learn who asks.
template <Precision P>
auto DistributedDirectCuda<P>::ask(ForceKind kind, std::int64_t count) -> Question {
  struct Note {
    std::int64_t count = 0, blocks = 0;
  };
  const ForceGrid grid = sums_.grid(kind);
  std::vector<Note> notes(messages_->size());
  notes[rank()] = {count, grid.blocks};
  ranks_->all_gather_in_place(notes.data(), std::vector<std::size_t>(notes.size(), sizeof(Note)));
  Question question{kind, {}, values_of(kind), {}};
  std::int64_t before = 0;
  for (const Note& note : notes) {
    if (note.blocks != notes[0].blocks)
      throw Error(ErrorKind::device, "direct: expected GPUs of one kind on all ranks, for the bits depend on it");
    question.asking.push_back({std::exchange(before, before + note.count), note.count});
  }
  question.d = decompose(before, shares_.total, grid.blocks, grid.wide_group);
  return question;
}

template <Precision P>
void DistributedDirectCuda<P>::evaluate(const Targets& targets, unsigned want, const Forces<Sum>& forces) {
  if (want & want_nearest) throw no_nearest_of_distributed();
  if (!(want & (want_acceleration | want_jerk | want_potential))) return;
  device().make_current();
  const Question question = ask(kind_of(want), targets.count);
  if (question.all() == 0) return;
  ForceTask<P> task = sums_.task(question.kind);
  task.source_count = shares_.total;
  task.total = question.all();
  task.first = question.asking[rank()].first;
  task.count = targets.count;
  set_answers(task, want, forces);
  if (sums_travel(question))
    sum_by_parts(question, task, targets);
  else
    sum_by_sources(question, task, targets);
  if (sums_.may_diverge()) refuse_coincident(question, targets, first_answers(want, forces));
}

/// By the bytes that a rank gets, for it computes as many pairs either way; sums take an exchange more.
template <Precision P>
bool DistributedDirectCuda<P>::sums_travel(const Question& question) const {
  const Decomposition& d = question.d;
  if (d.whole > 0 || d.segments < least_segments * shares_.ranks) return false;
  std::int64_t most = 0;
  for (const Stretch& asking : question.asking) most = std::max(most, asking.count);
  const auto source = DirectSums<P>::source_bytes(), place = static_cast<std::int64_t>(sizeof(std::int64_t));
  const std::int64_t by_parts = question.all() * (source + place) + d.segment_length * source +
                                most * d.segments * question.values * static_cast<std::int64_t>(sizeof(Sum));
  return by_parts + limits_.bytes_of_an_exchange < (shares_.total - shares_.total / shares_.ranks) * source;
}

template <Precision P>
void DistributedDirectCuda<P>::add_arrays(std::vector<StretchedArray>& arrays, const SourcePack<P>& own,
                                          const SourcePack<P>& to, const std::vector<Stretch>& has,
                                          const std::vector<Stretch>& wants) {
  constexpr auto bytes = static_cast<std::int64_t>(sizeof(Real4<typename SourcePack<P>::Number>));
  arrays.push_back({own.place, to.place, bytes, &has, &wants});
  if constexpr (SourcePack<P>::has_rest) arrays.push_back({own.rest, to.rest, bytes, &has, &wants});
  arrays.push_back({own.motion, to.motion, bytes, &has, &wants});
}

template <Precision P>
void DistributedDirectCuda<P>::sum_by_sources(const Question& question, ForceTask<P> task, const Targets& targets) {
  if (question.all() < shares_.total && !targets.index) {
    take_own_asking(targets);
    task.points = own_asking_.pack(), task.index = own_place_.data();
  } else {
    task.points = sums_.pack(), task.points_by_place = true;
    task.index_from = own_first();
    if (question.all() < shares_.total) task.index = targets.index;  // else a target's number is its place
  }
  const bool in_pieces = shares_.total > limits_.sources_at_once;
  if (in_pieces) clear_sums(question, task);
  const std::vector<Stretch> has = kept();
  for (std::int64_t from = 0; from < shares_.total; from += limits_.sources_at_once) {
    const Stretch piece{from, std::min(shares_.total - from, limits_.sources_at_once + force_tile - 1)};
    const std::vector<Stretch> wants(messages_->size(), piece);
    travelling_.reserve(device(), piece.count);
    task.sources = travelling_.pack();
    std::vector<StretchedArray> arrays;
    add_arrays(arrays, sums_.pack(), task.sources, has, wants);
    fetch_stretches(device(), *messages_, arrays);
    task.window = {true, in_pieces, from, in_pieces ? from + limits_.sources_at_once : INT64_MAX, from};
    sums_.launch_sums(task, question.kind);
  }
  if (in_pieces && question.d.narrow)
    launch_add_warps<P>(task, question.kind, sums_.grid(question.kind), device().stream());
  sums_.collect(task, question.kind);
}

/// Sums go on from zero.
template <Precision P>
void DistributedDirectCuda<P>::clear_sums(const Question& question, ForceTask<P>& task) {
  const Decomposition& d = question.d;
  const auto zero = [&](Sum* sums, std::int64_t count) {
    if (count > 0) device().memory().zero(sums, static_cast<std::size_t>(count) * sizeof(Sum));
  };
  if (d.narrow) {
    const std::int64_t room = warp_sums_at(task, d, task.end(task.total)) * force_warps * question.values;
    if (warp_sums_.size() < room) warp_sums_ = Buffer<Sum>(device(), room);
    task.warp_sums = warp_sums_.data();
    return zero(task.warp_sums, room);
  }
  for (Sum* const out : task.out)
    if (out) zero(out, task.count);
  const std::int64_t first_split = d.whole * d.group, split = std::max(task.first, first_split);
  zero(task.partial + (split - first_split) * d.segments * question.values,
       (task.end(task.total) - split) * d.segments * question.values);
}

/// Those of this rank's particles that ask, and their places among all.
template <Precision P>
void DistributedDirectCuda<P>::take_own_asking(const Targets& targets) {
  own_asking_.reserve(device(), targets.count);
  if (own_place_.size() < targets.count) own_place_ = Buffer<std::int64_t>(device(), targets.count);
  launch("take those who ask", targets.count, device().stream(),
         TakeAsking<P>{targets, sums_.pack(), own_asking_.pack(), own_place_.data(), own_first()});
}

template <Precision P>
void DistributedDirectCuda<P>::sum_by_parts(const Question& question, const ForceTask<P>& task,
                                            const Targets& targets) {
  const SegmentShares shares = segment_shares(shares_, question.d);
  const std::vector<Stretch> has = kept(), everyone(messages_->size(), Stretch{0, question.all()});
  std::vector<Stretch> wants;  // behind what a rank has itself
  for (int of = 0; of < shares_.ranks; ++of) {
    const std::int64_t own_end = shares_.first(of + 1);
    wants.push_back({own_end, std::max<std::int64_t>(0, shares.sources_of(of).end() - own_end)});
  }
  take_own_asking(targets);
  asking_.reserve(device(), question.all());
  if (place_.size() < question.all()) place_ = Buffer<std::int64_t>(device(), question.all());
  const SourcePack<P> own = sums_.pack();
  SourcePack<P> rest = own;
  rest.place += sums_.count(), rest.motion += sums_.count();
  if constexpr (SourcePack<P>::has_rest) rest.rest += sums_.count();
  std::vector<StretchedArray> arrays;
  add_arrays(arrays, own, rest, has, wants);
  add_arrays(arrays, own_asking_.pack(), asking_.pack(), question.asking, everyone);
  arrays.push_back(
      {own_place_.data(), place_.data(), static_cast<std::int64_t>(sizeof(std::int64_t)), &question.asking, &everyone});
  fetch_stretches(device(), *messages_, arrays);

  ForceTask<P> of_all = task;
  of_all.first = 0, of_all.count = question.all();
  of_all.points = asking_.pack(), of_all.index = place_.data();
  std::fill(std::begin(of_all.out), std::end(of_all.out), nullptr);
  const Stretch summed = shares.sources_of(ranks_->rank());
  of_all.window = {true, false, summed.first, summed.end(), own_first()};
  device().memory().zero(
      task.partial, static_cast<std::size_t>(question.all() * question.d.segments * question.values) * sizeof(Sum));
  sums_.launch_sums(of_all, question.kind);
  exchange_parts(question, task);
  sums_.collect(task, question.kind);
}

/// Gives each rank the sums of this rank's segments for its targets.
template <Precision P>
void DistributedDirectCuda<P>::exchange_parts(const Question& question, const ForceTask<P>& task) {
  const SegmentShares shares = segment_shares(shares_, question.d);
  const auto own = static_cast<std::int64_t>(rank());
  const std::int64_t values = question.values, here = shares.count(own), row = question.d.segments * values;
  constexpr auto bytes = static_cast<std::int64_t>(sizeof(Sum));
  Sum* const out = reinterpret_cast<Sum*>(messages_->outgoing(question.all() * here * values * bytes));
  Sum* const in = reinterpret_cast<Sum*>(messages_->incoming(task.count * row * bytes));
  launch("take sums", question.all() * here * values, device().stream(),
         TakeParts<Sum>{task.partial, out, shares.first(own), here, question.d.segments, values});
  std::vector<Communicator::Outgoing> sent;
  std::vector<Communicator::Incoming> got;
  for (std::int64_t of = 0; of < shares.ranks; ++of) {
    if (of == own) continue;
    const Stretch& asking = question.asking[static_cast<std::size_t>(of)];
    if (const std::int64_t count = asking.count * here * values; count > 0)
      sent.push_back(
          {static_cast<int>(of), out + asking.first * here * values, static_cast<std::size_t>(count * bytes)});
    if (const std::int64_t count = task.count * shares.count(of) * values; count > 0)
      got.push_back(
          {static_cast<int>(of), in + task.count * shares.first(of) * values, static_cast<std::size_t>(count * bytes)});
  }
  messages_->exchange(sent, got);
  launch("put sums", task.count * row, device().stream(),
         PutParts<Sum>{in, task.partial + task.first * row, shares, own, task.count, values});
}

/// Throws on all ranks when an answer is not finite, naming the first such target and its nearest neighbour.
template <Precision P>
void DistributedDirectCuda<P>::refuse_coincident(const Question& question, const Targets& targets, const Sum* answers) {
  std::int64_t number = nobody;
  if (targets.count > 0) {
    if (bad_.size() == 0) bad_ = Buffer<std::int64_t>(device(), 1);
    bad_.from_host(&number);
    launch("look for coincident particles", targets.count, device().stream(), MarkNotFinite<Sum>{answers, bad_.data()});
    bad_.to_host(&number);
    if (number != nobody) number += question.asking[rank()].first;
  }
  const std::int64_t here = number;
  ranks_->all_reduce(&number, 1, Reduction::minimum);
  if (number == nobody) return;
  std::size_t keeper = 0;
  while (question.asking[keeper].end() <= number) ++keeper;
  DeviceMemory& memory = device().memory();
  Faulty<P> one;
  if (keeper == rank()) {
    const std::int64_t t = here - question.asking[keeper].first;
    std::int64_t i = targets.first + t;
    if (targets.index) memory.to_host(&i, targets.index + t, sizeof i);
    one.place = own_first() + i;
    memory.to_host(&one.position.high, sums_.pack().place + i, sizeof one.position.high);
    if constexpr (SourcePack<P>::has_rest)
      memory.to_host(&one.position.low, sums_.pack().rest + i, sizeof one.position.low);
  }
  ranks_->broadcast(&one, sizeof one, static_cast<int>(keeper));

  PackBuffers<P> point;
  point.reserve(device(), 1);
  memory.from_host(point.pack().place, &one.position.high, sizeof one.position.high);
  if constexpr (SourcePack<P>::has_rest)
    memory.from_host(point.pack().rest, &one.position.low, sizeof one.position.low);
  const std::int64_t local = one.place - own_first();
  const Buffer<std::int64_t> own(device(), std::vector<std::int64_t>{local >= 0 && local < sums_.count() ? local : -1});
  Buffer<std::int64_t> nearest(device(), 1);
  Buffer<Sum> distance(device(), 1);
  NeighbourSearch<P> search(sums_);
  search.nearest(search.by(PackedPoints<P>{point.pack(), own.data(), 1}), nearest.data(), distance.data());
  const std::int64_t found = nearest.to_host()[0];
  const double least = static_cast<double>(distance.to_host()[0]);
  double least_of_all = least;
  ranks_->all_reduce(&least_of_all, 1, Reduction::minimum);
  std::int64_t partner = found >= 0 && least == least_of_all ? own_first() + found : nobody;
  ranks_->all_reduce(&partner, 1, Reduction::minimum);
  throw_coincident(one.place, partner == nobody ? -1 : partner);
}

template <Precision P>
std::int64_t DistributedDirectCuda<P>::device_bytes(std::int64_t n) const {
  const std::int64_t all = n * ranks_->size();
  const std::int64_t piece = std::min(all, limits_.sources_at_once + force_tile);
  // What travels stands in two rooms on its way.
  const std::int64_t sources = n + margin(all, ranks_->size()) + 2 * piece + std::min(n, piece);
  return sources * DirectSums<P>::source_bytes() + sums_.scratch_bytes();
}

template class DistributedDirectCuda<Precision::single>;
template class DistributedDirectCuda<Precision::mixed>;
template class DistributedDirectCuda<Precision::double_>;

}  // namespace cuda

template <class Real>
std::unique_ptr<Solver<Real>> make_distributed_direct_cuda(const SolverOptions& options, const Device& device,
                                                           std::shared_ptr<Communicator> ranks, TravelLimits limits) {
  return make_for_precision<Solver<Real>, cuda::DistributedDirectCuda>(options, device, std::move(ranks), limits);
}
template std::unique_ptr<Solver<float>> make_distributed_direct_cuda(const SolverOptions&, const Device&,
                                                                     std::shared_ptr<Communicator>, TravelLimits);
template std::unique_ptr<Solver<double>> make_distributed_direct_cuda(const SolverOptions&, const Device&,
                                                                      std::shared_ptr<Communicator>, TravelLimits);

std::unique_ptr<Solver<double>> make_distributed_direct_cuda_beside(AnySolver& run, const SolverOptions& options,
                                                                    const Device& device,
                                                                    std::shared_ptr<Communicator> ranks) {
  std::shared_ptr<DeviceMessages> messages;
  const auto look = [&]<Precision P>() {
    if (const auto* const solver = dynamic_cast<cuda::DistributedDirectCuda<P>*>(&run.plain()))
      messages = solver->messages();
  };
  look.template operator()<Precision::single>();
  look.template operator()<Precision::mixed>();
  look.template operator()<Precision::double_>();
  if (!messages) return nullptr;
  SolverOptions full = options;
  full.precision = Precision::double_;
  return std::make_unique<cuda::DistributedDirectCuda<Precision::double_>>(full, device, std::move(ranks),
                                                                           TravelLimits{}, std::move(messages));
}

}  // namespace pergola
