#include "tree/ahead_cuda.cuh"

#include <algorithm>
#include <numeric>

#include "device/arena.hpp"
#include "device/launch.cuh"
#include "tree/estimate.hpp"
#include "tree/moments_cuda.cuh"
#include "tree/octree_cuda.cuh"
#include "tree/opening_cuda.cuh"

namespace pergola::tree {

namespace {

constexpr unsigned prefetched_threads = 128, prefetched_blocks = 512;
constexpr std::int64_t fewest_cells = 1 << 14;
/// Numbers of a rank among the counts.
enum Sent : std::uint32_t { sent_cells, sent_particles, sent_pieces, sent_numbers };
constexpr std::uint32_t generations = most_levels + 1;

/// The square of the distance of a cell's centre from the box of a leaf.
__device__ float square_to(const TopLeaves& top, std::uint32_t leaf, const CellRecord& s) {
  const std::uint32_t* const row = top.rows + leaf * top.words;
  const auto& record = *reinterpret_cast<const CellRecord*>(row);
  const auto& box = *reinterpret_cast<const BoxAbout*>(row + sizeof(CellRecord) / sizeof *row);
  const float d[3] = {static_cast<float>(s.x - record.x), static_cast<float>(s.y - record.y),
                      static_cast<float>(s.z - record.z)};
  float square = 0;
  for (int a = 0; a < 3; ++a) {
    const float gap = fmaxf(fmaxf(box.low[a] - d[a], d[a] - box.high[a]), 0.0f);
    square += gap * gap;
  }
  return square;
}

/// As estimate() of tree/moments_cuda.cu, of groups anywhere in the boxes of a rank.
struct EstimateWants {
  TopLeaves top;
  __device__ bool operator()(const CellRecord& s, std::uint32_t rank) const {
    if (s.children() == 0) return false;
    const float reach = s.r / estimate_angle, most = 1.0001f * reach * reach;
    for (std::uint32_t leaf = top.begin[rank]; leaf < top.begin[rank + 1]; ++leaf)
      if (square_to(top, leaf, s) < most) return true;
    return false;
  }
};

/// Targets at a rank's face are taken to be as large as those that open such a source usually are: leaves as those next
/// to them, other cells as physics::opens_target lets them. What a walk opens beyond that is asked for.
template <int order>
struct WalkWants {
  TopLeaves top;
  Opening opening;
  float support;
  const float* acceleration;
  __device__ bool operator()(const CellRecord& s, std::uint32_t rank) const {
    if (s.mass == 0) return false;
    CellRecord target{};
    target.r = s.children() > 0 ? s.r / 1.5f : s.r, target.epsilon2 = s.epsilon2, target.bits = s.bits;
    for (std::uint32_t leaf = top.begin[rank]; leaf < top.begin[rank + 1]; ++leaf) {
      const float distance = sqrtf(square_to(top, leaf, s)) + target.r / 4, a = acceleration[top.cell[leaf]];
      bool as_cell = false, as_points = false;
      test_opening<order>(opening, support, s, target, {distance, 0, 0}, a, static_cast<float>(opening.tolerance) * a,
                          as_cell, as_points);
      if (!as_cell && !(as_points && (s.bits & CellRecord::crowd))) return true;
    }
    return false;
  }
};

/// A generation of the list: cells whose children or particles have not gone. Children of those that go are the next
/// generation, as far as there is room for them.
template <class Wants>
__global__ void __launch_bounds__(prefetched_threads)
    prefetched_kernel(const CellRecord* record, const CellLink* link, const __grid_constant__ Wants wants,
                      PrefetchedCell* list, std::uint32_t room, std::uint32_t* counts, int generation) {
  std::uint32_t begin = 0;
  for (int g = 0; g < generation; ++g) begin += counts[g];
  const std::uint32_t next = begin + counts[generation], end = next < room ? next : room;
  const int lane = static_cast<int>(threadIdx.x) % 32;
  for (std::uint32_t at = begin + blockIdx.x * prefetched_threads; at < end; at += gridDim.x * prefetched_threads) {
    const std::uint32_t k = at + threadIdx.x;
    std::uint32_t children = 0, rank = 0, child = 0, place = 0;
    if (k < end && list[k].below == PrefetchedCell::not_sent) {
      PrefetchedCell& one = list[k];
      const CellRecord s = record[one.cell];
      if (wants(s, one.rank)) {
        rank = one.rank;
        const CellLink l = link[one.cell];
        std::uint32_t* const sent = counts + generations + rank * sent_numbers;
        children = l.children, child = l.child;
        place = atomicAdd(sent + (children > 0 ? sent_cells : sent_particles), children > 0 ? children : l.count);
        one.below = place, one.number = atomicAdd(sent + sent_pieces, 1u);
      }
    }
    const std::uint32_t until = lanes_scan(children, lane), all = __shfl_sync(all_lanes, until, 31);
    std::uint32_t to = 0;
    if (lane == 0 && all > 0) to = atomicAdd(counts + generation + 1, all);
    to = next + __shfl_sync(all_lanes, to, 0) + until - children;
    for (std::uint32_t c = 0; c < children; ++c, ++to)
      if (to < room) list[to] = {rank, child + c, place + c, PrefetchedCell::not_sent, 0};
  }
}

/// Of each cell of the list the piece that goes now, if one does, and its header.
template <class T>
struct MakePieces {
  const PrefetchedCell* list;
  const CellLink* link;
  const PrefetchedMessage* letters;
  std::int64_t cell_bytes;
  CellPiece* pieces;
  std::byte* room;
  __device__ void operator()(std::int64_t k) const {
    const PrefetchedCell one = list[k];
    const PrefetchedMessage& letter = letters[one.rank];
    const CellLink l = link[one.cell];
    CellPiece piece{0, 0, one.cell, 0, 0, 0, one.rank};
    const bool goes = one.below != PrefetchedCell::not_sent && (l.children == 0 || one.below >= letter.cells_before);
    if (goes) {
      const std::uint32_t below = l.children > 0 ? one.below - letter.cells_before : one.below;
      piece.children = l.children, piece.particles = l.children > 0 ? 0 : l.count;
      piece.at = l.children > 0 ? letter.cells_at + below * cell_bytes
                                : letter.at + below * static_cast<std::int64_t>(sizeof(PlacedMass<T>));
      piece.softening_at = letter.softening_at + below * static_cast<std::int64_t>(sizeof(T));
      reinterpret_cast<uint4*>(room + letter.headers_at)[one.number] =
          make_uint4(one.place, below, piece.children, piece.particles);
    }
    pieces[k] = piece;
  }
};

/// Of each header that has arrived the piece.
template <class T>
struct ReadPieces {
  const PrefetchedMessage* letters;
  std::uint32_t ranks;
  std::int64_t cell_bytes;
  CellPiece* pieces;
  const std::byte* room;
  __device__ void operator()(std::int64_t k) const {
    std::uint32_t low = 0, high = ranks;  // the last rank whose first piece is not after this one
    while (high - low > 1) {
      const std::uint32_t middle = low + (high - low) / 2;
      (letters[middle].first_piece <= k ? low : high) = middle;
    }
    const PrefetchedMessage& letter = letters[low];
    const uint4 header = reinterpret_cast<const uint4*>(room + letter.headers_at)[k - letter.first_piece];
    const std::uint32_t place = header.x, below = header.y;
    const std::uint32_t cell = place & PrefetchedCell::of_top ? place & ~PrefetchedCell::of_top
                               : place < letter.cells_before  ? letter.earlier + place
                                                              : letter.to + place - letter.cells_before;
    CellPiece piece{0, 0, cell, header.z, header.w, 0, low};
    piece.at = piece.children > 0 ? letter.cells_at + below * cell_bytes
                                  : letter.at + below * static_cast<std::int64_t>(sizeof(PlacedMass<T>));
    piece.softening_at = letter.softening_at + below * static_cast<std::int64_t>(sizeof(T));
    piece.to = piece.children > 0 ? letter.to + below : letter.particle_to + below;
    pieces[k] = piece;
  }
};

}  // namespace

PrefetchedList::PrefetchedList(const Device& device, std::shared_ptr<Communicator> ranks)
    : device_(device), ranks_(std::move(ranks)), out_(device, ranks_->size()), in_(device, ranks_->size()) {}

/// A search whose first generation, so many cells, is in the list.
void PrefetchedList::begin(std::int64_t first_generation) {
  std::vector<std::uint32_t> counts(static_cast<std::size_t>(counts_.size()));
  counts[0] = static_cast<std::uint32_t>(first_generation);
  for (std::int64_t r = 0; r < out_.size(); ++r) {
    PrefetchedMessage& letter = out_.data()[r];
    letter.cells_before += letter.cells;
    counts[static_cast<std::size_t>(generations + r * sent_numbers + sent_cells)] = letter.cells_before;
  }
  counts_.from_host(counts.data());
}

template <class Wants>
void PrefetchedList::search(const CellRecord* record, const CellLink* link, int levels, const Wants& wants) {
  const auto room = static_cast<std::uint32_t>(list_.size());
  for (int g = 0; g < levels; ++g)
    prefetched_kernel<<<prefetched_blocks, prefetched_threads, 0, cuda::handle(device_.stream())>>>(
        record, link, wants, list_.data(), room, counts_.data(), g);
  cuda::check(cudaGetLastError(), "tree branches ahead");
  const std::vector<std::uint32_t> counts = counts_.to_host();
  const auto found = std::accumulate(counts.begin(), counts.begin() + generations, std::int64_t{0});
  wished_ = std::max(wished_, found);
  count_ = static_cast<std::uint32_t>(std::min(found, list_.size()));
  for (std::int64_t r = 0; r < out_.size(); ++r) {
    const std::uint32_t* const sent = counts.data() + generations + r * sent_numbers;
    PrefetchedMessage& letter = out_.data()[r];
    letter.cells = sent[sent_cells] - letter.cells_before;
    letter.particles = sent[sent_particles], letter.pieces = sent[sent_pieces];
  }
}

template <class T>
void PrefetchedList::find_for_estimate(const CellMessages<T>& tree, const TopLeaves& top, int levels) {
  const auto size = static_cast<std::uint32_t>(ranks_->size()), own = static_cast<std::uint32_t>(ranks_->rank());
  const std::int64_t first = std::int64_t{top.own} * (size - 1);
  Arena arena(device_);
  const std::int64_t room = std::max({fewest_cells, 2 * wished_, first + tree.own_end});
  arena.room(list_, room, room / 4);
  arena.room(counts_, generations + std::int64_t{size} * sent_numbers);
  for (std::uint32_t r = 0; r < size; ++r) out_.data()[r] = {}, in_.data()[r] = {};
  gone_ = Gone::for_estimate;
  begin(first);
  cuda::launch("tree branches ahead", first, device_.stream(), [=, list = list_.data()] __device__(std::int64_t k) {
    const auto other = static_cast<std::uint32_t>(k / top.own), rank = other < own ? other : other + 1;
    const std::uint32_t cell = top.cell[top.first_own + static_cast<std::uint32_t>(k % top.own)];
    list[k] = {rank, cell, PrefetchedCell::of_top | cell, PrefetchedCell::not_sent, 0};
  });
  search(tree.record, tree.link, levels, EstimateWants{top});
}

template <class T>
void PrefetchedList::find_for_walk(const CellMessages<T>& tree, const TopLeaves& top, int levels,
                                   const Opening& opening, const float* acceleration, double support) {
  gone_ = Gone::for_walk;
  begin(count_);
  with_order(opening.order, [&](auto order) {
    search(tree.record, tree.link, levels,
           WalkWants<decltype(order)::value>{top, opening, static_cast<float>(support), acceleration});
  });
}

/// Where the parts of messages are, one message after the other. Returns the bytes of all.
template <class T>
std::int64_t PrefetchedList::place_parts(const CellMessages<T>& tree, SharedBuffer<PrefetchedMessage>& letters) const {
  constexpr std::int64_t alignment = 256;
  std::int64_t next = 0;
  for (std::int64_t r = 0; r < letters.size(); ++r) {
    PrefetchedMessage& letter = letters.data()[r];
    letter.at = next;
    letter.cells_at = letter.at + letter.particles * static_cast<std::int64_t>(sizeof(PlacedMass<T>));
    letter.headers_at = letter.cells_at + letter.cells * tree.cell_bytes();
    letter.softening_at = letter.headers_at + letter.pieces * std::int64_t{sizeof(uint4)};
    const std::int64_t end =
        letter.softening_at + (tree.softening ? letter.particles * static_cast<std::int64_t>(sizeof(T)) : 0);
    letter.bytes = end - letter.at;
    next = (end + alignment - 1) / alignment * alignment;
  }
  return next;
}

template <class T>
void PrefetchedList::lay_out(const CellMessages<T>& tree, std::uint32_t cells, std::uint32_t particles) {
  const auto size = static_cast<std::size_t>(ranks_->size());
  std::vector<std::uint32_t> exported, heard(size * sent_numbers);
  for (std::int64_t r = 0; r < out_.size(); ++r) {
    const PrefetchedMessage& letter = out_.data()[r];
    exported.insert(exported.end(), {letter.cells, letter.particles, letter.pieces});
  }
  const std::vector<std::size_t> of_each(size, sent_numbers * sizeof exported[0]);
  ranks_->all_to_all(exported.data(), of_each, heard.data(), of_each);
  arriving_cells_ = arriving_particles_ = arriving_pieces_ = 0;
  for (std::size_t r = 0; r < size; ++r) {
    PrefetchedMessage& letter = in_.data()[r];
    letter.cells_before += letter.cells, letter.earlier = letter.to;
    const std::uint32_t* const sent = heard.data() + r * sent_numbers;
    letter.cells = sent[sent_cells], letter.particles = sent[sent_particles], letter.pieces = sent[sent_pieces];
    letter.first_piece = arriving_pieces_;
    letter.to = cells + arriving_cells_, letter.particle_to = particles + arriving_particles_;
    arriving_cells_ += letter.cells, arriving_particles_ += letter.particles, arriving_pieces_ += letter.pieces;
  }
  out_bytes_ = place_parts(tree, out_), in_bytes_ = place_parts(tree, in_);
}

std::vector<Communicator::Outgoing> PrefetchedList::messages_out(const std::byte* room) const {
  std::vector<Communicator::Outgoing> messages;
  for (std::int64_t r = 0; r < out_.size(); ++r)
    if (const PrefetchedMessage& letter = out_.data()[r]; letter.bytes > 0)
      messages.push_back({static_cast<int>(r), room + letter.at, static_cast<std::size_t>(letter.bytes)});
  return messages;
}

std::vector<Communicator::Incoming> PrefetchedList::messages_in(std::byte* room) const {
  std::vector<Communicator::Incoming> messages;
  for (std::int64_t r = 0; r < in_.size(); ++r)
    if (const PrefetchedMessage& letter = in_.data()[r]; letter.bytes > 0)
      messages.push_back({static_cast<int>(r), room + letter.at, static_cast<std::size_t>(letter.bytes)});
  return messages;
}

template <class T>
void PrefetchedList::pack(const CellMessages<T>& tree, std::byte* room) {
  Arena(device_).room(pieces_out_, count_, count_ / 4);
  cuda::launch("tree branches ahead", count_, device_.stream(),
               MakePieces<T>{list_.data(), tree.link, out_.data(), tree.cell_bytes(), pieces_out_.data(), room});
  tree.pack(device_, pieces_out_.data(), count_, room);
}

template <class T>
void PrefetchedList::unpack(const CellMessages<T>& tree, const std::byte* room) {
  Arena(device_).room(pieces_in_, arriving_pieces_, arriving_pieces_ / 4);
  cuda::launch("tree branches ahead", arriving_pieces_, device_.stream(),
               ReadPieces<T>{in_.data(), static_cast<std::uint32_t>(ranks_->size()), tree.cell_bytes(),
                             pieces_in_.data(), room});
  tree.unpack(device_, pieces_in_.data(), arriving_pieces_, room);
}

#define PERGOLA_PREFETCHED_OF(T)                                                                             \
  template void PrefetchedList::find_for_estimate(const CellMessages<T>&, const TopLeaves&, int);            \
  template void PrefetchedList::find_for_walk(const CellMessages<T>&, const TopLeaves&, int, const Opening&, \
                                              const float*, double);                                         \
  template void PrefetchedList::lay_out(const CellMessages<T>&, std::uint32_t, std::uint32_t);               \
  template void PrefetchedList::pack(const CellMessages<T>&, std::byte*);                                    \
  template void PrefetchedList::unpack(const CellMessages<T>&, const std::byte*);
PERGOLA_PREFETCHED_OF(float)
PERGOLA_PREFETCHED_OF(double)
#undef PERGOLA_PREFETCHED_OF

}  // namespace pergola::tree
