// What a rank needs of the branches of other domains, on GPUs.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "device/launch.cuh"
#include "tree/estimate.hpp"
#include "tree/spread_memory_cuda.cuh"
#include "tree/spread_octree_cuda.cuh"

namespace pergola::tree {

namespace {

/// Pairs that a search begins with.
constexpr std::int64_t fewest_pairs_at_once = 1 << 12, most_pairs_at_once = 1 << 19;
/// Generations of pairs that the host does not wait for, at the beginning, and of those that what was asked for leads
/// to.
constexpr int many_generations = PairGenerations::most, few_generations = 6;
constexpr std::int64_t fewest_requests = 1 << 12;

/// Room for `size` values, of which the first `used` are kept, and for so many more if it has to be taken.
template <class V>
void extend(const Device& device, Buffer<V>& buffer, std::int64_t used, std::int64_t size, std::int64_t spare) {
  if (buffer.size() >= size) return;
  if (used == 0) buffer = Buffer<V>();
  Buffer<V> larger(device, size + spare);
  if (used > 0) device.memory().copy(larger.data(), buffer.data(), static_cast<std::size_t>(used) * sizeof(V));
  device.synchronize();
  buffer = std::move(larger);
}

}  // namespace

/// What was fetched of Plummer's spheres of 16.8 million on 2 and 4 ranks at accuracies of 1e-3: as many cells as for
/// each face of a domain that meets others its particles' number to the power of two thirds, with 9 particles each.
template <class T>
std::int64_t distributed_tree_bytes(std::int64_t n, int order, int ranks) {
  constexpr double most_faces = 6, particles_of_cell = 9;
  const auto count = static_cast<double>(n);
  const double faces = std::min(most_faces, 1.5 * std::log2(ranks));
  const std::int64_t own = first_guess_of_cells(n);
  const auto cells =
      static_cast<std::int64_t>(std::min(faces * std::pow(count, 2.0 / 3), (ranks - 1) * static_cast<double>(own)));
  const auto particles = static_cast<std::int64_t>(particles_of_cell * static_cast<double>(cells));
  const std::int64_t row = Row<T>::stride(order),
                     at_once = std::clamp(2 * own, fewest_pairs_at_once, most_pairs_at_once);
  Arena all, message;
  // Own cells by level, marks, what is wanted, work, and what goes ahead.
  all.count<std::uint32_t>(5 * own), all.count<PrefetchedCell>(own), all.count<CellPiece>(2 * cells);
  // Fetched ones, and their part in a walk.
  all.count<CellLink>(cells), all.count<CellRecord>(cells), all.count<T>(cells * row), all.count<Origin>(cells);
  all.count<std::uint32_t>(2 * cells), all.count<T>(cells * multipole_stride(order)), all.count<ListHead>(cells);
  all.count<PlacedMass<T>>(particles);
  const std::int64_t spare = (own + cells) / 8;  // of make_room()
  all.count<CellLink>(spare), all.count<CellRecord>(spare), all.count<T>(spare * row);
  all.count<CellPair>(2 * PairGenerations::most_of_a_pair * at_once + 3 * at_once);
  message.count<CellRecord>(cells), message.count<T>(cells * row), message.count<PlacedMass<T>>(particles);
  return all.bytes() + 3 * message.bytes();  // two rooms for what goes out
}

/// Top and own cells are there.
template <class T>
void DistributedOctreeCuda<T>::begin_fetching() {
  fetched_cells_ = 0, here_ = count_;
  Arena arena(device_);
  arena.room(mark_, own_end(), own_end() / 4), arena.room(wanted_, own_end(), own_end() / 4);
  arena.room(wanted_count_, 1), arena.room(pair_counts_, 2 * PairGenerations::most + 1);
  mark_.zero(), wanted_count_.zero();
  prefetched_.forget();
}

template <class T>
void DistributedOctreeCuda<T>::make_room(std::int64_t cells, std::int64_t particles) {
  const std::int64_t used = this->cells(), stride = Row<T>::stride(order_), marks = mark_.size();
  const std::int64_t spare = cells / 8, spare_particles = particles / 32;
  extend(device_, link_, used, cells, spare), extend(device_, record_, used, cells, spare);
  extend(device_, row_, used * stride, cells * stride, spare * stride);
  extend(device_, wanted_, 0, cells, spare), extend(device_, mark_, used, cells, spare);
  if (mark_.size() > marks)
    device_.memory().zero(mark_.data() + used, static_cast<std::size_t>(mark_.size() - used) * sizeof(std::uint32_t));
  extend(device_, origin_, used - own_end() + top_cells(), cells - own_end() + top_cells(), spare);
  extend(device_, particle_, here_, particles, spare_particles);
  if (by_particle_) extend(device_, softening_, here_, particles, spare_particles);
}

template <class T>
CellMessages<T> DistributedOctreeCuda<T>::cell_messages() {
  return {record_.data(), link_.data(), row_.data(), particle_.data(),      by_particle_ ? softening_.data() : nullptr,
          origin_.data(), top_cells(),  own_end(),   Row<T>::chunks(order_)};
}

/// What is missing here, by the ranks that have it.
template <class T>
std::vector<typename DistributedOctreeCuda<T>::Request> DistributedOctreeCuda<T>::wanted() {
  if (wanted_here_.size() == 0) wanted_here_ = SharedBuffer<std::uint32_t>(device_, 1);
  std::int64_t count = 0;
  do {
    if (const std::int64_t room = std::max(fewest_requests, 2 * count); requests_.size() < room)
      requests_ = SharedBuffer<Request>(device_, room);
    cuda::launch("tree missing", requests_.size(), device_.stream(),
                 [list = wanted_.data(), all = wanted_count_.data(), link = link_.data(), origin = origin_.data(),
                  top = top_cells(), own_end = own_end(), to = requests_.data(),
                  exported = wanted_here_.data()] __device__(std::int64_t k) {
                   if (k == 0) *exported = *all;
                   if (k >= *all) return;
                   const std::uint32_t cell = list[k];
                   const CellLink l = link[cell];
                   const Origin from = origin[cell < top ? cell : cell - own_end + top];
                   to[k] = {cell, from.rank, from.cell, l.children, l.children > 0 ? 0 : l.count};
                 });
    device_.synchronize();
    count = wanted_here_.data()[0];
  } while (count > requests_.size());
  std::vector<std::size_t> next(static_cast<std::size_t>(ranks_->size()) + 1);
  for (std::int64_t k = 0; k < count; ++k) ++next[requests_.data()[k].rank + 1];
  std::partial_sum(next.begin(), next.end(), next.begin());
  std::vector<Request> all(static_cast<std::size_t>(count));
  for (std::int64_t k = 0; k < count; ++k) all[next[requests_.data()[k].rank]++] = requests_.data()[k];
  return all;
}

template <class T>
bool DistributedOctreeCuda<T>::fetch_missing() {
  device_.make_current();
  const std::vector<Request> wants = wanted();
  const auto size = static_cast<std::size_t>(ranks_->size());
  std::vector<std::size_t> sent(size), arriving(size);
  for (const Request& one : wants) sent[one.rank] += sizeof(Request);
  std::int64_t any = wants.empty() ? 0 : 1;
  ranks_->all_reduce(&any, 1, Reduction::maximum);
  if (!any) return false;
  const std::vector<std::size_t> one(size, sizeof(std::size_t));
  ranks_->all_to_all(sent.data(), one, arriving.data(), one);
  std::vector<Request> asked(std::accumulate(arriving.begin(), arriving.end(), std::size_t{0}) / sizeof(Request));
  ranks_->all_to_all(wants.data(), sent, asked.data(), arriving);

  std::vector<CellPiece> replies, answers;
  std::size_t k = 0;
  for (std::uint32_t r = 0; r < size; ++r)
    for (const std::size_t end = k + arriving[r] / sizeof(Request); k < end; ++k)
      replies.push_back({0, 0, asked[k].there, asked[k].children, asked[k].particles, 0, r});
  auto next_cell = this->cells(), next_particle = static_cast<std::uint32_t>(here_);
  for (const Request& want : wants) {
    answers.push_back(
        {0, 0, want.cell, want.children, want.particles, want.children > 0 ? next_cell : next_particle, want.rank});
    next_cell += want.children, next_particle += want.particles;
  }
  const CellBuffers out = cell_messages().lay_out(replies, size), in = cell_messages().lay_out(answers, size);
  make_room(next_cell, next_particle);
  std::byte* const outgoing = messages_.outgoing(out.all_bytes);
  std::byte* const incoming = messages_.incoming(in.all_bytes);
  const auto on_device = [&](SharedBuffer<CellPiece>& memory, const std::vector<CellPiece>& pieces) {
    if (memory.size() < std::ssize(pieces)) memory = SharedBuffer<CellPiece>(device_, 2 * std::ssize(pieces));
    std::copy(pieces.begin(), pieces.end(), memory.data());
    return memory.data();
  };
  cell_messages().pack(device_, on_device(replies_, replies), std::ssize(replies), outgoing);
  std::vector<Communicator::Outgoing> to;
  std::vector<Communicator::Incoming> from;
  for (std::size_t r = 0; r < size; ++r) {
    const int rank = static_cast<int>(r);
    if (out.bytes[r] > 0) to.push_back({rank, outgoing + out.at[r], static_cast<std::size_t>(out.bytes[r])});
    if (in.bytes[r] > 0) from.push_back({rank, incoming + in.at[r], static_cast<std::size_t>(in.bytes[r])});
  }
  messages_.exchange(to, from);
  cell_messages().unpack(device_, on_device(answers_, answers), std::ssize(answers), incoming);
  fetched_cells_ += static_cast<std::uint32_t>(in.cells), here_ += in.particles;
  wanted_count_.zero();
  return true;
}

template <class T>
SearchView<T> DistributedOctreeCuda<T>::search_view(const std::uint32_t* served) {
  return {this->view(), top_cells(), own_end(), not_own_.data(), foreign_.data(), served, missing()};
}

/// What goes ahead (tree/ahead_cuda.cuh).
template <class T>
void DistributedOctreeCuda<T>::send_prefetched() {
  prefetched_.lay_out(cell_messages(), this->cells(), static_cast<std::uint32_t>(here_));
  make_room(this->cells() + std::int64_t{prefetched_.arriving_cells()}, here_ + prefetched_.arriving_particles());
  std::byte* const outgoing = messages_.outgoing(prefetched_.out_bytes());
  std::byte* const incoming = messages_.incoming(prefetched_.in_bytes());
  prefetched_.pack(cell_messages(), outgoing);
  messages_.exchange(prefetched_.messages_out(outgoing), prefetched_.messages_in(incoming));
  prefetched_.unpack(cell_messages(), incoming);
  fetched_cells_ += prefetched_.arriving_cells(), here_ += prefetched_.arriving_particles();
}

template <class T>
void DistributedOctreeCuda<T>::fetch_for_estimate() {
  if (ranks_->size() == 1) return;
  prefetched_.find_for_estimate(cell_messages(), top_leaves(), level_count_);
  send_prefetched();
}

/// Looks at the first `depth` pairs of the stack and at all that they lead to. Of what was fetched only those look
/// again that have missed it.
template <class T>
void DistributedOctreeCuda<T>::search(std::int64_t depth, const Opening& opening, const std::uint32_t* served) {
  constexpr auto most = std::size_t{PairGenerations::most};
  const std::int64_t at_once = std::clamp<std::int64_t>(2 * own_end(), fewest_pairs_at_once, most_pairs_at_once);
  const std::int64_t room = PairGenerations::most_of_a_pair * at_once;
  for (Buffer<CellPair>& pairs : pairs_) extend(device_, pairs, 0, room, 0);
  for (int generations = many_generations;; generations = few_generations) {
    std::int64_t waiting = 0;
    while (depth > 0) {
      const std::int64_t count = std::min(depth, at_once);
      depth -= count;
      extend(device_, pending_, waiting, waiting + 2 * at_once, waiting / 4);
      std::vector<std::uint32_t> counts(2 * most + 1);
      counts[0] = static_cast<std::uint32_t>(count);
      pair_counts_.from_host(counts.data());
      device_.memory().copy(pairs_[0].data(), stack_.data() + depth,
                            static_cast<std::size_t>(count) * sizeof(CellPair));
      const PairGenerations found{{pairs_[0].data(), pairs_[1].data()},
                                  pending_.data() + waiting,
                                  static_cast<std::uint32_t>(room),
                                  static_cast<std::uint32_t>(pending_.size() - waiting),
                                  pair_counts_.data(),
                                  pair_counts_.data() + most + 1};
      search_walk(search_view(served), opening, found, generations, device_.stream());
      pair_counts_.to_host(counts.data());
      std::size_t generation = 0;
      std::uint32_t pending = 0;
      for (; generation < static_cast<std::size_t>(generations) && counts[generation] > 0; ++generation) {
        if (!found.fits(counts[generation], pending)) break;
        pending += counts[most + 1 + generation];
      }
      const std::uint32_t left = counts[generation];
      extend(device_, stack_, depth, depth + left, (depth + left) / 4);
      device_.memory().copy(stack_.data() + depth, found.pairs[generation % 2], left * sizeof(CellPair));
      depth += left, waiting += pending;
    }
    extend(device_, stack_, 0, waiting, waiting / 4);
    device_.memory().copy(stack_.data(), pending_.data(), static_cast<std::size_t>(waiting) * sizeof(CellPair));
    depth = waiting;
    if (!fetch_missing()) return;
  }
}

/// Cells of the top that hold own particles meet their siblings and what is in them; and so on.
template <class T>
void DistributedOctreeCuda<T>::fetch_for_walk(const Opening& opening, const ServedCells& served) {
  device_.make_current();
  if (prefetched_.may_go_on() && !served.slot) {
    prefetched_.find_for_walk(cell_messages(), top_leaves(), level_count_, opening, acceleration_.data(),
                              this->view().support);
    send_prefetched();
  }
  std::vector<CellPair> pairs;
  for (std::uint32_t cell = 0; cell < top_cells(); ++cell) {
    const CellLink& l = top_.cells.link[cell];
    for (std::uint32_t t = l.child; t < l.child + l.children; ++t)
      for (std::uint32_t s = l.child; s < l.child + l.children; ++s)
        if (s != t && own_top_[t] && foreign_top_[s]) pairs.push_back({t, s});
  }
  extend(device_, stack_, 0, std::ssize(pairs), std::ssize(pairs) / 4);
  if (!pairs.empty()) device_.memory().from_host(stack_.data(), pairs.data(), pairs.size() * sizeof(CellPair));
  search(std::ssize(pairs), opening, served.slot ? served_.data() : nullptr);
}

template std::int64_t distributed_tree_bytes<float>(std::int64_t, int, int);
template std::int64_t distributed_tree_bytes<double>(std::int64_t, int, int);
template void DistributedOctreeCuda<float>::begin_fetching();
template void DistributedOctreeCuda<double>::begin_fetching();
template bool DistributedOctreeCuda<float>::fetch_missing();
template bool DistributedOctreeCuda<double>::fetch_missing();
template void DistributedOctreeCuda<float>::fetch_for_estimate();
template void DistributedOctreeCuda<double>::fetch_for_estimate();
template void DistributedOctreeCuda<float>::fetch_for_walk(const Opening&, const ServedCells&);
template void DistributedOctreeCuda<double>::fetch_for_walk(const Opening&, const ServedCells&);

}  // namespace pergola::tree
