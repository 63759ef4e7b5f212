// What a rank needs of the branches of other domains.
#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <utility>

#include "comm/agreement.hpp"
#include "device/parallel.hpp"
#include "tree/estimate.hpp"
#include "tree/spread_octree.hpp"

namespace pergola::tree {

namespace {

constexpr std::int64_t cell_chunk = 64;
/// Particles of a task of the search, about.
constexpr std::uint32_t search_grain = 2048, estimate_grain = 8192;
/// Cells that were missed and have come, whose targets look again together.
constexpr std::int64_t missing_chunk = 256;

using Missing = Search::Missing;

/// Calls body(k, missing) for 0 … count − 1, on all threads, and adds what is missing to `all` in the order of k.
template <class Body>
std::vector<Missing> search_all(int threads, std::int64_t count, const Body& body, std::vector<Missing> all = {}) {
  std::vector<std::vector<Missing>> found(static_cast<std::size_t>(count));
  parallel_for(threads, count, [&](std::int64_t k) { body(k, found[static_cast<std::size_t>(k)]); });
  std::size_t size = all.size();
  for (const auto& one : found) size += one.size();
  all.reserve(size);
  for (auto& one : found) {
    all.insert(all.end(), one.begin(), one.end());
    std::vector<Missing>().swap(one);
  }
  return all;
}

}  // namespace

template <class T>
bool DistributedOctree<T>::Partners::know(const std::vector<std::size_t>& bytes) const {
  for (std::size_t r = 0; r < bytes.size(); ++r)
    if (bytes[r] > 0 && (r >= asked.size() || !asked[r])) return false;
  return true;
}

template <class T>
void DistributedOctree<T>::Partners::meet(Communicator& ranks, const std::vector<std::size_t>& out,
                                          std::vector<std::size_t>& in) {
  const std::vector<std::size_t> one(out.size(), sizeof(std::size_t));
  ranks.all_to_all(out.data(), one, in.data(), one);
  asked.resize(out.size()), asking.resize(in.size());
  for (std::size_t r = 0; r < out.size(); ++r) {
    if (out[r] > 0) asked[r] = 1;
    if (in[r] > 0) asking[r] = 1;
  }
}

template <class T>
void DistributedOctree<T>::Partners::tell(Communicator& ranks, const std::vector<std::size_t>& out,
                                          std::vector<std::size_t>& in) const {
  std::vector<Communicator::Outgoing> to;
  std::vector<Communicator::Incoming> from;
  for (std::size_t r = 0; r < out.size(); ++r) {
    if (asked[r]) to.push_back({static_cast<int>(r), &out[r], sizeof out[r]});
    if (asking[r]) from.push_back({static_cast<int>(r), &in[r], sizeof in[r]});
  }
  ranks.exchange(to, from);
}

/// Fetches the children or particles of all sources that are missing, each once. False: no rank misses any.
template <class T>
bool DistributedOctree<T>::fetch(const MissingCells& missing) {
  const auto size = static_cast<std::size_t>(ranks_->size());
  std::vector<std::uint64_t> by_rank;  // each source once
  std::vector<std::uint8_t> has_come(cells_.link.size());
  for (const Missing& one : missing)
    if (std::exchange(has_come[one.source], std::uint8_t{1}) == 0)
      by_rank.push_back(static_cast<std::uint64_t>(origin(one.source).rank) << 32 | one.source);
  std::sort(by_rank.begin(), by_rank.end());
  std::vector<std::uint32_t> wanted;
  for (const std::uint64_t one : by_rank) wanted.push_back(static_cast<std::uint32_t>(one));

  std::vector<std::uint32_t> asked;  // by the numbers that the cells have there
  std::vector<std::size_t> ask_bytes(size), asked_bytes(size), answer_bytes(size), reply_sizes(size);
  for (const std::uint32_t cell : wanted) {
    const auto rank = static_cast<std::size_t>(origin(cell).rank);
    asked.push_back(origin(cell).cell);
    ask_bytes[rank] += sizeof(std::uint32_t);
    answer_bytes[rank] += origin(cell).bytes;
  }
  enum : std::int64_t { nothing, of_partners, of_others };
  std::int64_t asks = missing.empty() ? nothing : partners_.know(ask_bytes) ? of_partners : of_others;
  ranks_->all_reduce(&asks, 1, Reduction::maximum);
  if (asks == nothing) return false;
  if (asks == of_others)
    partners_.meet(*ranks_, ask_bytes, asked_bytes);
  else
    partners_.tell(*ranks_, ask_bytes, asked_bytes);
  std::size_t questions = 0, answers = 0;
  for (std::size_t r = 0; r < size; ++r)
    questions += asked_bytes[r] / sizeof(std::uint32_t), answers += answer_bytes[r];
  std::vector<std::uint32_t> ask(questions);
  ranks_->all_to_all(asked.data(), ask_bytes, ask.data(), asked_bytes);

  std::size_t exported = 0, at = 0;
  for (const std::uint32_t cell : ask) exported += reply_bytes(cells_.link[cell]);
  std::vector<std::byte> reply, answer(answers);
  reply.reserve(exported);
  for (std::size_t r = 0; r < size; ++r) {
    const std::size_t before = reply.size();
    for (std::size_t k = 0; k < asked_bytes[r] / sizeof(std::uint32_t); ++k) append_reply(ask[at++], reply);
    reply_sizes[r] = reply.size() - before;
  }
  ranks_->all_to_all(reply.data(), reply_sizes, answer.data(), answer_bytes);
  std::vector<std::byte>().swap(reply);
  const std::byte* from = answer.data();
  for (const std::uint32_t cell : wanted) from = take_reply(cell, from);
  return true;
}

/// The estimate opens cells by their angle, in a periodic box but for those beyond the cut-off radius: a little more is
/// fetched than it needs, whatever its rounding. Looks for what the groups in a cell open of a source: together where
/// all of them open it or none does, by what the cell's radius tells, and else by the cell's children.
template <class T>
template <class Space>
void DistributedOctree<T>::look_for_estimate(const Space& space, std::uint32_t of, std::uint32_t from,
                                             MissingCells& missing) const {
  constexpr double rounding = 1e-9, of_images = 1e-12;
  const CellLink& link = cells_.link[from];
  if (link.children == 0 || !foreign_[from]) return;
  const CellShape &target = shape_.data()[of], &s = shape_.data()[from];
  double dx = s.x - target.x, dy = s.y - target.y, dz = s.z - target.z;
  if constexpr (Space::periodic)
    dx = nearest_image(dx, space.period.x), dy = nearest_image(dy, space.period.y),
    dz = nearest_image(dz, space.period.z);
  const bool alone = cells_.link[of].count <= estimate_capacity;
  const double distance = std::sqrt(dx * dx + dy * dy + dz * dz), reach = alone ? 0 : target.r * (1 + rounding);
  const auto opens_from = [&](double away) {
    if constexpr (Space::periodic)
      if (s.r + space.cut_off <= away) return false;
    return s.r > estimate_angle * away;
  };
  const double margin = Space::periodic ? of_images : 0;
  if (!opens_from((distance - reach) * (1 - rounding) - margin)) return;
  if (!alone && !opens_from((distance + reach) * (1 + rounding) + margin)) {
    const CellLink& parent = cells_.link[of];
    for (std::uint32_t c = parent.child; c < parent.child + parent.children; ++c)
      if (own_cell_[c]) look_for_estimate(space, c, from, missing);
    return;
  }
  if (link.child == elsewhere) return missing.push_back({of, from});
  for (std::uint32_t c = 0; c < link.children; ++c) look_for_estimate(space, of, link.child + c, missing);
}

template <class T>
template <class Space>
void DistributedOctree<T>::fetch_for_estimate(const Space& space) {
  const int threads = device_.threads();
  std::vector<std::uint32_t> targets;
  for (std::uint32_t cell = 0; cell < own_end_; ++cell)
    if (own_cell_[cell] && is_highest(cell, estimate_grain)) targets.push_back(cell);
  MissingCells missing = search_all(threads, std::ssize(targets), [&](std::int64_t k, MissingCells& found) {
    look_for_estimate(space, targets[static_cast<std::size_t>(k)], 0, found);
  });
  while (fetch(missing)) {
    const std::int64_t count = std::ssize(missing);
    missing =
        search_all(threads, (count + missing_chunk - 1) / missing_chunk, [&](std::int64_t k, MissingCells& found) {
          for (std::int64_t i = k * missing_chunk; i < std::min(count, (k + 1) * missing_chunk); ++i) {
            const auto [target, source] = missing[static_cast<std::size_t>(i)];
            look_for_estimate(space, target, source, found);
          }
        });
  }
}

/// Whether it has no more than so many particles, and its parent has.
template <class T>
bool DistributedOctree<T>::is_highest(std::uint32_t cell, std::uint32_t capacity) const {
  const auto& link = cells_.link;
  return link[cell].count <= capacity && (cell == 0 || link[cells_.parent[cell]].count > capacity);
}

template <class T>
bool DistributedOctree<T>::is_group(std::uint32_t cell) const {
  return is_highest(cell, estimate_capacity);
}

/// As OctreeCpu<T>::set_accelerations() has them. Groups may be cells of the top: all ranks with particles in it
/// estimate the same.
template <class T>
template <class OfGroup>
void DistributedOctree<T>::set_accelerations(const OfGroup& of_group) {
  has_accelerations_ = true;
  if (total_ == 0) return;
  const auto& link = cells_.link;
  std::vector<std::uint32_t> groups;
  for (std::uint32_t cell = 0; cell < own_end_; ++cell)
    if (own_cell_[cell] && is_group(cell)) groups.push_back(cell);
  Arena arena(device_);
  arena.room(this->acceleration_, own_end_);
  double* const a = this->acceleration_.data();
  on_all(*ranks_, [&] {
    parallel_chunks(device_.threads(), std::ssize(groups), cell_chunk, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t k = begin; k < end; ++k) {
        const std::uint32_t cell = groups[static_cast<std::size_t>(k)];
        a[cell] = of_group(cell);
      }
    });
  });
  for (std::uint32_t cell = 0; cell < own_end_; ++cell)
    if (own_cell_[cell] && link[cell].count <= estimate_capacity && !is_group(cell)) a[cell] = a[cells_.parent[cell]];
  const auto take_least = [&](std::uint32_t cell) {
    a[cell] = std::numeric_limits<double>::infinity();
    for (std::uint32_t c = 0; c < link[cell].children; ++c) a[cell] = std::min(a[cell], a[link[cell].child + c]);
  };
  for (std::uint32_t cell = own_end_; cell-- > top_cells_;)
    if (link[cell].count > estimate_capacity) take_least(cell);
  std::vector<double> of_leaves;
  std::vector<std::size_t> bytes(static_cast<std::size_t>(ranks_->size()));
  for (const TopTree::Leaf& leaf : leaves_) {
    const bool own = leaf.rank == ranks_->rank();
    if (own && link[leaf.cell].count > estimate_capacity) take_least(leaf.cell);
    of_leaves.push_back(own ? a[leaf.cell] : 0);
    bytes[static_cast<std::size_t>(leaf.rank)] += sizeof(double);
  }
  ranks_->all_gather_in_place(of_leaves.data(), bytes);
  for (std::size_t k = 0; k < leaves_.size(); ++k) a[leaves_[k].cell] = of_leaves[k];
  for (std::uint32_t cell = top_cells_; cell-- > 0;)
    if (link[cell].children > 0 && link[cell].child < top_cells_) take_least(cell);
}

template <class T>
void DistributedOctree<T>::estimate_accelerations() {
  if (total_ > 0) fetch_for_estimate(OpenSpace());
  set_accelerations([&](std::uint32_t cell) { return estimate_acceleration(shape_.data(), cells_.link.data(), cell); });
}

/// Those of a tree that is made again, by particle: one of a group tells that of the group.
template <class T>
void DistributedOctree<T>::take_accelerations(const double* of_particles) {
  set_accelerations([&](std::uint32_t cell) {
    while (cell < top_cells_ && cells_.link[cell].children > 0 && cells_.link[cell].child < top_cells_) {
      cell = cells_.link[cell].child;
      while (!own_cell_[cell]) ++cell;
    }
    return of_particles[sort_.values.data()[cells_.link[cell].first]];
  });
}

/// Of the cells of the top that are groups and hold several of its leaves: the sums of `rest`, which is that of the
/// particles here, over all their particles in the order of one rank. They are few: leaves are that small only where a
/// rank has few particles.
template <class T>
template <class Real>
std::vector<Vec3<double>> DistributedOctree<T>::sums_in_top(const Real* const (&rest)[3]) const {
  std::vector<Vec3<double>> rows, sums(top_cells_);
  std::vector<std::size_t> bytes(static_cast<std::size_t>(ranks_->size()));
  const auto each = [&](const auto& body) {
    for (const TopTree::Leaf& leaf : leaves_)
      if (cells_.link[leaf.cell].count <= estimate_capacity && !is_group(leaf.cell)) body(leaf, cells_.link[leaf.cell]);
  };
  each([&](const TopTree::Leaf& leaf, const CellLink& link) {
    bytes[static_cast<std::size_t>(leaf.rank)] += link.count * sizeof(Vec3<double>);
    for (std::uint32_t k = 0; k < link.count; ++k) {
      rows.push_back({0, 0, 0});
      if (leaf.rank != ranks_->rank()) continue;
      const std::size_t i = sort_.values.data()[link.first + k];
      rows.back() = {static_cast<double>(rest[0][i]), static_cast<double>(rest[1][i]), static_cast<double>(rest[2][i])};
    }
  });
  ranks_->all_gather_in_place(rows.data(), bytes);
  std::size_t at = 0;
  each([&](const TopTree::Leaf& leaf, const CellLink& link) {
    std::uint32_t group = leaf.cell;
    while (!is_group(group)) group = cells_.parent[group];
    for (std::uint32_t k = 0; k < link.count; ++k) sums[group] = sums[group] + rows[at++];
  });
  return sums;
}

template <class T>
template <class Real>
void DistributedOctree<T>::estimate_accelerations(const ShortRangeBox<double>& box, const Real* const (&rest)[3],
                                                  double unit) {
  if (total_ == 0) return;
  const std::vector<Vec3<double>> in_top = sums_in_top(rest);
  fetch_for_estimate(box);
  set_accelerations([&](std::uint32_t cell) {
    const CellLink& link = cells_.link[cell];
    const bool among_leaves = cell < top_cells_ && link.children > 0 && link.child < top_cells_;
    Vec3<double> sum{0, 0, 0};
    if (among_leaves) sum = in_top[cell];
    for (std::uint32_t k = link.first; !among_leaves && k < link.first + link.count; ++k) {
      const std::size_t i = sort_.values.data()[k];
      sum = sum + Vec3<double>{static_cast<double>(rest[0][i]), static_cast<double>(rest[1][i]),
                               static_cast<double>(rest[2][i])};
    }
    return estimate_acceleration(shape_.data(), cells_.link.data(), cell, box, (unit / link.count) * sum);
  });
}

/// Looks for what the walk meets. Of what was fetched only those look again that have missed it: a walk looks for all
/// that a target misses at once, so that these stand together.
template <class T>
template <class Space>
void DistributedOctree<T>::fetch_in(const Space& space, const Opening& opening, const ActiveSet& active) {
  if (total_ == 0) return;
  ++walks_;
  const int threads = device_.threads();
  MissingCells missing;
  {
    const TreeView<T> view = this->view();
    const std::vector<WalkTask<T>> tasks =
        begin_walk(view, space, opening, active, search_grain, {}, {foreign_.data(), &missing});
    const auto look = [&](std::int64_t k, MissingCells& found) {
      walk(view, space, opening, active, tasks[static_cast<std::size_t>(k)], {}, {foreign_.data(), &found});
    };
    missing = search_all(threads, std::ssize(tasks), look, std::move(missing));
  }
  while (fetch(missing)) {
    const TreeView<T> view = this->view();
    const std::int64_t count = std::ssize(missing);
    missing =
        search_all(threads, (count + missing_chunk - 1) / missing_chunk, [&](std::int64_t k, MissingCells& found) {
          WalkTask<T> task{0, {}, std::vector<T>(static_cast<std::size_t>(multipole_stride(highest_order)))};
          const auto go_on = [&] {
            if (!task.candidates.empty()) walk(view, space, opening, active, task, {}, {foreign_.data(), &found});
            task.candidates.clear();
          };
          for (std::int64_t i = k * missing_chunk; i < std::min(count, (k + 1) * missing_chunk); ++i) {
            const auto [target, source] = missing[static_cast<std::size_t>(i)];
            if (target != task.cell) go_on();
            task.cell = target;
            const CellLink& link = cells_.link[source];
            for (std::uint32_t c = 0; c < link.children; ++c) task.candidates.push_back(link.child + c);
          }
          go_on();
        });
  }
}

template <class T>
void DistributedOctree<T>::fetch_for_walk(const OpenSpace& space, const Opening& opening, const ActiveSet& active) {
  fetch_in(space, opening, active);
}
template <class T>
void DistributedOctree<T>::fetch_for_walk(const ShortRangeBox<T>& space, const Opening& opening,
                                          const ActiveSet& active) {
  fetch_in(space, opening, active);
}

template void DistributedOctree<float>::take_accelerations(const double*);
template void DistributedOctree<double>::take_accelerations(const double*);
template void DistributedOctree<float>::estimate_accelerations();
template void DistributedOctree<double>::estimate_accelerations();
template void DistributedOctree<float>::estimate_accelerations(const ShortRangeBox<double>&, const float* const (&)[3],
                                                               double);
template void DistributedOctree<float>::estimate_accelerations(const ShortRangeBox<double>&, const double* const (&)[3],
                                                               double);
template void DistributedOctree<double>::estimate_accelerations(const ShortRangeBox<double>&,
                                                                const double* const (&)[3], double);
template void DistributedOctree<float>::fetch_for_walk(const OpenSpace&, const Opening&, const ActiveSet&);
template void DistributedOctree<double>::fetch_for_walk(const OpenSpace&, const Opening&, const ActiveSet&);
template void DistributedOctree<float>::fetch_for_walk(const ShortRangeBox<float>&, const Opening&, const ActiveSet&);
template void DistributedOctree<double>::fetch_for_walk(const ShortRangeBox<double>&, const Opening&, const ActiveSet&);

}  // namespace pergola::tree
