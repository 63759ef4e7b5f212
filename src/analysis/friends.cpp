#include "analysis/friends.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <numeric>
#include <type_traits>
#include <utility>

#include "analysis/groups_on_gpu.hpp"
#include "base/error.hpp"
#include "base/text.hpp"
#include "device/parallel.hpp"
#include "device/sort.hpp"

// Friends of friends on the CPU: sort particles by cell, list the cells, join cells that touch, collect the sets. Cells
// are numbered in ascending order of keys, and a set is named after its lowest cell. So the sets do not depend on
// threads. A sparse set of particles may need more cells than 64 bits can number; then keys have 128 bits.
namespace pergola {

namespace {

constexpr std::int64_t friends_chunk = 16384;
constexpr std::uint32_t no_place = 0xffffffff;
__extension__ typedef unsigned __int128 WideKey;  // for few particles in a space of very many cells

/// body(i) for all i, in chunks over the threads.
template <class Body>
void each_of(int threads, std::int64_t count, const Body& body) {
  parallel_chunks(threads, count, friends_chunk, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) body(i);
  });
}

/// Links that the threads of a CPU share.
struct SharedLinks {
  std::uint32_t* above;
  std::uint32_t load(std::uint32_t i) const { return std::atomic_ref(above[i]).load(std::memory_order_relaxed); }
  void store(std::uint32_t i, std::uint32_t value) const {
    std::atomic_ref(above[i]).store(value, std::memory_order_relaxed);
  }
  bool swap_if(std::uint32_t i, std::uint32_t expected, std::uint32_t value) const {
    return std::atomic_ref(above[i]).compare_exchange_strong(expected, value, std::memory_order_relaxed);
  }
};

/// The keys of all particles in ascending order, and the particle of each.
void sort_particles(const Particles& p, const FriendFrame& frame, const Device& cpu, std::vector<std::uint64_t>& keys,
                    std::vector<std::uint32_t>& order) {
  const auto count = static_cast<std::int64_t>(p.x.size());
  SortBuffers buffers{{cpu, count}, {cpu, count}, {cpu, count}, {cpu, count}};
  each_of(cpu.threads(), count, [&, key = buffers.keys.data(), value = buffers.values.data()](std::int64_t i) {
    const auto k = static_cast<std::size_t>(i);
    key[i] = frame.key<std::uint64_t>(p.x[k], p.y[k], p.z[k]);
    value[i] = static_cast<std::uint32_t>(i);
  });
  sort_by_key_cpu(cpu, count, buffers);
  buffers.other_keys = {}, buffers.other_values = {};
  keys = buffers.keys.to_host(), order = buffers.values.to_host();
}
void sort_particles(const Particles& p, const FriendFrame& frame, const Device& /*cpu*/, std::vector<WideKey>& keys,
                    std::vector<std::uint32_t>& order) {
  std::vector<std::pair<WideKey, std::uint32_t>> sorted;
  for (std::size_t i = 0; i < p.x.size(); ++i)
    sorted.emplace_back(frame.key<WideKey>(p.x[i], p.y[i], p.z[i]), static_cast<std::uint32_t>(i));
  std::sort(sorted.begin(), sorted.end());
  for (const auto& [key, i] : sorted) keys.push_back(key), order.push_back(i);
}

/// The start of each new key in an ascending list, and the end of the list.
template <class Key>
std::vector<std::uint32_t> begins_of(const std::vector<Key>& keys, int threads) {
  const auto count = static_cast<std::int64_t>(keys.size());
  const auto is_new = [&](std::size_t i) { return i == 0 || keys[i - 1] < keys[i]; };
  std::vector<std::size_t> before(static_cast<std::size_t>((count + friends_chunk - 1) / friends_chunk) +
                                  1);  // each chunk
  parallel_chunks(threads, count, friends_chunk, [&](std::int64_t begin, std::int64_t end) {
    std::size_t& in_chunk = before[static_cast<std::size_t>(begin / friends_chunk) + 1];
    for (auto i = static_cast<std::size_t>(begin); i < static_cast<std::size_t>(end); ++i)
      in_chunk += is_new(i) ? 1 : 0;
  });
  std::partial_sum(before.begin(), before.end(), before.begin());
  std::vector<std::uint32_t> begins(before.back() + 1, static_cast<std::uint32_t>(count));
  parallel_chunks(threads, count, friends_chunk, [&](std::int64_t begin, std::int64_t end) {
    std::size_t at = before[static_cast<std::size_t>(begin / friends_chunk)];
    for (auto i = static_cast<std::size_t>(begin); i < static_cast<std::size_t>(end); ++i)
      if (is_new(i)) begins[at++] = static_cast<std::uint32_t>(i);
  });
  return begins;
}

/// If `p` is an rvalue, its positions are freed after they are sorted.
template <class Key, class Given>
LinkedCells link_cells(const Device& cpu, Given&& p, const FriendFrame& frame) {
  const int threads = cpu.threads();
  LinkedCells linked;
  std::vector<Key> keys;
  sort_particles(p, frame, cpu, keys, linked.order);
  linked.begin = begins_of(keys, threads);
  const auto count = static_cast<std::int64_t>(linked.begin.size()) - 1;
  for (std::size_t k = 0; k + 1 < linked.begin.size(); ++k) keys[k] = keys[linked.begin[k]];  // of the cells
  const auto sorted = [&](auto& values) {
    std::vector<double> to(values.size());
    each_of(threads, static_cast<std::int64_t>(to.size()), [&](std::int64_t i) {
      const auto k = static_cast<std::size_t>(i);
      to[k] = values[linked.order[k]];
    });
    if constexpr (!std::is_lvalue_reference_v<Given>) std::vector<double>().swap(values);
    return to;
  };
  const std::vector<double> x = sorted(p.x), y = sorted(p.y), z = sorted(p.z);
  const std::int64_t rows = rows_to_list(frame, count);
  std::vector<std::uint32_t> row_begins(static_cast<std::size_t>(rows > 0 ? rows + 1 : 0));
  if (rows > 0) each_of(threads, count + 1, FillRows<Key>{keys.data(), count, frame.count[0], rows, row_begins.data()});
  linked.root.resize(static_cast<std::size_t>(count));
  std::iota(linked.root.begin(), linked.root.end(), 0u);
  const FriendSets<SharedLinks> sets{{linked.root.data()}};
  const FriendCells<Key> cells{
      count, keys.data(), linked.begin.data(), rows > 0 ? row_begins.data() : nullptr, x.data(), y.data(), z.data()};
  each_of(threads, count, LinkCells<Key, SharedLinks>{frame, cells, sets});
  for (std::uint32_t& root : linked.root) root = linked.root[root];  // roots of lower cells are final
  return linked;
}

/// Members of the sets with at least `least` particles, one set after the other, in any order.
struct SetMembers {
  std::vector<std::uint32_t> members;
  std::vector<std::uint32_t> begin;  // of each set, and the end
};

/// Counts the particles of each set at its root, gives large sets their places, then fills in the members. Threads
/// fill a set in any order; the members are sorted later.
// `least`: smaller sets are dropped.
SetMembers sets_of(const LinkedCells& cells, std::int64_t least, int threads) {
  const auto count = static_cast<std::int64_t>(cells.root.size());
  const auto in_cell = [&](std::size_t cell) { return cells.begin[cell + 1] - cells.begin[cell]; };
  std::vector<std::uint32_t> particles(cells.root.size(), 0), place(cells.root.size(), no_place);
  each_of(threads, count, [&](std::int64_t k) {
    const auto cell = static_cast<std::size_t>(k);
    std::atomic_ref(particles[cells.root[cell]]).fetch_add(in_cell(cell), std::memory_order_relaxed);
  });
  SetMembers sets;
  sets.begin.assign(1, 0);
  for (std::size_t cell = 0; cell < particles.size(); ++cell) {
    if (particles[cell] == 0 || std::int64_t{particles[cell]} < least) continue;
    place[cell] = sets.begin.back();
    sets.begin.push_back(place[cell] + particles[cell]);
  }
  sets.members.resize(sets.begin.back());
  each_of(threads, count, [&](std::int64_t k) {
    const auto cell = static_cast<std::size_t>(k);
    std::uint32_t& next = place[cells.root[cell]];
    if (std::atomic_ref(next).load(std::memory_order_relaxed) == no_place) return;
    std::size_t at = std::atomic_ref(next).fetch_add(in_cell(cell), std::memory_order_relaxed);
    for (std::uint32_t j = cells.begin[cell]; j < cells.begin[cell + 1]; ++j) sets.members[at++] = cells.order[j];
  });
  return sets;
}

/// Places of particles by rising id. In most files ids rise with the places.
std::vector<std::size_t> by_id(const Particles& particles, std::vector<std::size_t> places) {
  const auto lower = [&](std::size_t a, std::size_t b) { return particles.id[a] < particles.id[b]; };
  std::sort(places.begin(), places.end());
  if (!std::is_sorted(places.begin(), places.end(), lower)) std::sort(places.begin(), places.end(), lower);
  return places;
}

}  // namespace

// Cells are so small that all particles of a cell are friends: their diagonal is shorter than the linking length. So
// only whole cells are joined. `reach`: cells along an axis within which friends can be.
FriendFrame::FriendFrame(const Box& of, double linking, const std::array<double, 3>& low,
                         const std::array<double, 3>& high)
    : box(of), length(linking), corner{of.corner.x, of.corner.y, of.corner.z}, side{of.side.x, of.side.y, of.side.z} {
  const double wanted = length / std::sqrt(3.0) * (1 - 1e-9);
  for (std::size_t k = 0; k < 3; ++k) {
    if (box.periodic()) {
      count[k] = static_cast<std::int64_t>(std::ceil(side[k] / wanted));
      cell[k] = side[k] / static_cast<double>(count[k]);
    } else {
      corner[k] = low[k];
      cell[k] = wanted;
      count[k] = static_cast<std::int64_t>(std::floor((high[k] - low[k]) / wanted)) + 1;
    }
    reach = std::max(reach, static_cast<std::int64_t>(std::ceil(length / cell[k])));
  }
}

bool has_narrow_keys(const FriendFrame& frame) { return frame.cells() < 0x1p62; }

// Rows of cells along x are listed if the list is not much longer than that of the cells; 0: they are searched.
std::int64_t rows_to_list(const FriendFrame& frame, std::int64_t cells) {
  constexpr double most_rows = 0x1p20;
  const double rows = static_cast<double>(frame.count[1]) * static_cast<double>(frame.count[2]);
  return rows > std::max(most_rows, 8 * static_cast<double>(cells)) ? 0 : frame.count[1] * frame.count[2];
}

LinkedCells link_friends(const Device& cpu, const Particles& particles, const FriendFrame& frame) {
  return has_narrow_keys(frame) ? link_cells<std::uint64_t>(cpu, particles, frame)
                                : link_cells<WideKey>(cpu, particles, frame);
}
LinkedCells link_places(const Device& cpu, Particles&& places, const FriendFrame& frame) {
  return has_narrow_keys(frame) ? link_cells<std::uint64_t>(cpu, std::move(places), frame)
                                : link_cells<WideKey>(cpu, std::move(places), frame);
}

// Collective: in open space the frame spans the particles of all ranks.
FriendFrame friend_frame(Communicator& ranks, const Particles& own, const Box& box, double length) {
  const double most = box.periodic() ? std::min({box.side.x, box.side.y, box.side.z}) / 4 : 0;
  if (!(length > 0) || (box.periodic() && length > most))
    throw Error(ErrorKind::input,
                fmt::format("groups: the linking length is {}, expected above 0{}", to_text(length),
                            box.periodic() ? fmt::format(" and at most a quarter of the box, {}", to_text(most)) : ""));
  std::array<double, 3> low{}, high{};  // a periodic box has its own
  if (!box.periodic()) {
    low.fill(HUGE_VAL), high.fill(-HUGE_VAL);
    const std::array<const std::vector<double>*, 3> places{&own.x, &own.y, &own.z};
    for (std::size_t k = 0; k < 3; ++k)
      for (const double x : *places[k]) low[k] = std::min(low[k], x), high[k] = std::max(high[k], x);
    ranks.all_reduce(low.data(), low.size(), Reduction::minimum);
    ranks.all_reduce(high.data(), high.size(), Reduction::maximum);
    if (!(low[0] <= high[0])) low = high = {};  // no particles
  }
  return {box, length, low, high};
}

// Members of a group by rising id; groups by falling size, equal ones by their lowest id.
FriendGroups friends_of_friends(const Particles& particles, const Box& box, double length, std::int64_t least,
                                const Device& device) {
  const FriendFrame frame = friend_frame(*serial_communicator(), particles, box, length);
  FriendGroups result;
  if (particles.size() == 0) return result;
  if constexpr (cuda_built) {
    if (GroupsOnGpu::can_find(device, particles.size(), frame))
      return lists_of(device, find_groups_cuda(GpuParticles(device, particles), frame, least));
  }
  const Device cpu = device.is_cuda() ? Device::open("cpu", device.threads()) : device;
  const SetMembers sets = sets_of(link_friends(cpu, particles, frame), least, cpu.threads());
  result.groups.resize(sets.begin.size() - 1);
  parallel_for(device.threads(), static_cast<std::int64_t>(result.groups.size()), [&](std::int64_t k) {
    const auto first = sets.members.begin() + sets.begin[static_cast<std::size_t>(k)];
    const auto last = sets.members.begin() + sets.begin[static_cast<std::size_t>(k) + 1];
    result.groups[static_cast<std::size_t>(k)] = by_id(particles, {first, last});
  });
  std::sort(result.groups.begin(), result.groups.end(), [&](const auto& a, const auto& b) {
    return a.size() != b.size() ? a.size() > b.size() : particles.id[a[0]] < particles.id[b[0]];
  });
  return result;
}

}  // namespace pergola
