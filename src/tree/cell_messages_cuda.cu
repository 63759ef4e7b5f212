// Packs cells for other ranks and unpacks those received, on a GPU. A piece is either the children of one cell (records
// and rows) or the particles of one leaf. Chunks of 16 bytes are copied, a warp per piece, so that neighbouring lanes
// touch neighbouring memory. A buffer of one rank has particles first, then cells, then softening numbers.
// Received children are linked to their parents only after all pieces are unpacked (Attach).
#include "tree/cell_messages_cuda.cuh"

#include "device/launch.cuh"

namespace pergola::tree {

namespace {

constexpr unsigned message_warps = 4;
/// Of a record; the last one has its child and its bits.
constexpr std::int64_t record_chunks = CellMessages<float>::record_chunks;
static_assert(offsetof(CellRecord, child) == 40 && offsetof(CellRecord, bits) == 44);
/// On its way a record has its cell's number in place of the child, and the particles of a leaf above its bits.
constexpr unsigned count_shift = 8;

/// A warp for each piece.
template <class T>
__global__ void __launch_bounds__(message_warps * 32)
    pack_kernel(const __grid_constant__ CellMessages<T> tree, const CellPiece* pieces, std::int64_t count,
                std::byte* room) {
  const std::int64_t k = std::int64_t{blockIdx.x} * message_warps + threadIdx.x / 32;
  if (k >= count) return;
  const auto lane = threadIdx.x % 32;
  const CellPiece piece = pieces[k];
  const CellLink link = tree.link[piece.cell];
  for (auto i = lane; i < piece.particles; i += 32) {
    reinterpret_cast<PlacedMass<T>*>(room + piece.at)[i] = tree.particle[link.first + i];
    if (tree.softening) reinterpret_cast<T*>(room + piece.softening_at)[i] = tree.softening[link.first + i];
  }
  const std::int64_t chunks = record_chunks + tree.row_chunks;
  auto* const to = reinterpret_cast<uint4*>(room + piece.at);
  for (std::int64_t c = lane; c < chunks * piece.children; c += 32) {
    const std::uint32_t cell = link.child + static_cast<std::uint32_t>(c / chunks);
    const std::int64_t part = c % chunks;
    uint4 chunk = part < record_chunks
                      ? reinterpret_cast<const uint4*>(tree.record + cell)[part]
                      : reinterpret_cast<const uint4*>(tree.row)[cell * tree.row_chunks + part - record_chunks];
    if (part == record_chunks - 1) {
      const CellLink of = tree.link[cell];
      chunk.z = cell;
      if (of.children == 0) chunk.w |= of.count << count_shift;
    }
    to[c] = chunk;
  }
}

/// The reverse: a received cell notes its rank and its number there (origin), and has no children here yet.
template <class T>
__global__ void __launch_bounds__(message_warps * 32)
    unpack_kernel(const __grid_constant__ CellMessages<T> tree, const CellPiece* pieces, std::int64_t count,
                  const std::byte* room) {
  const std::int64_t k = std::int64_t{blockIdx.x} * message_warps + threadIdx.x / 32;
  if (k >= count) return;
  const auto lane = threadIdx.x % 32;
  const CellPiece piece = pieces[k];
  for (auto i = lane; i < piece.particles; i += 32) {
    tree.particle[piece.to + i] = reinterpret_cast<const PlacedMass<T>*>(room + piece.at)[i];
    if (tree.softening) tree.softening[piece.to + i] = reinterpret_cast<const T*>(room + piece.softening_at)[i];
  }
  const std::int64_t chunks = record_chunks + tree.row_chunks;
  const auto* const from = reinterpret_cast<const uint4*>(room + piece.at);
  for (std::int64_t c = lane; c < chunks * piece.children; c += 32) {
    const std::uint32_t cell = piece.to + static_cast<std::uint32_t>(c / chunks);
    const std::int64_t part = c % chunks;
    uint4 chunk = from[c];
    if (part == record_chunks - 1) {
      tree.origin[cell - tree.own_end + tree.top] = {piece.rank, chunk.z};
      tree.link[cell] = {elsewhere, chunk.w >> count_shift, elsewhere, chunk.w & CellRecord::children_mask};
      chunk.z = elsewhere;
      chunk.w &= (1u << count_shift) - 1;
    }
    if (part < record_chunks)
      reinterpret_cast<uint4*>(tree.record + cell)[part] = chunk;
    else
      reinterpret_cast<uint4*>(tree.row)[cell * tree.row_chunks + part - record_chunks] = chunk;
  }
}

/// When all cells are there, for a piece may have children of one that another piece has received.
template <class T>
struct Attach {
  CellMessages<T> tree;
  const CellPiece* pieces;
  __device__ void operator()(std::int64_t k) const {
    const CellPiece& piece = pieces[k];
    if (piece.children > 0) {
      tree.link[piece.cell].child = tree.record[piece.cell].child = piece.to;
    } else {
      tree.link[piece.cell].first = piece.to;
      tree.record[piece.cell].child = 0;
    }
  }
};

unsigned blocks_for(std::int64_t pieces) { return static_cast<unsigned>((pieces + message_warps - 1) / message_warps); }

}  // namespace

/// Places of all pieces in one buffer; pieces are ordered by rank, and each rank's part begins at a multiple of 256.
template <class T>
CellBuffers CellMessages<T>::lay_out(std::vector<CellPiece>& pieces, std::size_t ranks) const {
  constexpr std::int64_t alignment = 256;
  constexpr auto particle_bytes = static_cast<std::int64_t>(sizeof(PlacedMass<T>)),
                 softening_bytes = static_cast<std::int64_t>(sizeof(T));
  const std::int64_t cell_bytes = this->cell_bytes();
  CellBuffers letters;
  std::size_t begin = 0;
  for (std::size_t r = 0; r < ranks; ++r) {
    std::size_t end = begin;
    std::int64_t all_cells = 0, all_particles = 0;
    for (; end < pieces.size() && pieces[end].rank == r; ++end)
      all_cells += pieces[end].children, all_particles += pieces[end].particles;
    std::int64_t particles = letters.all_bytes, cells = particles + all_particles * particle_bytes,
                 numbers = cells + all_cells * cell_bytes;
    letters.at.push_back(letters.all_bytes);
    letters.bytes.push_back(numbers + (softening ? all_particles * softening_bytes : 0) - letters.all_bytes);
    for (; begin < end; ++begin) {
      CellPiece& piece = pieces[begin];
      piece.at = piece.children > 0 ? cells : particles, piece.softening_at = numbers;
      cells += piece.children * cell_bytes, particles += piece.particles * particle_bytes;
      numbers += piece.particles * softening_bytes;
    }
    letters.cells += all_cells, letters.particles += all_particles;
    letters.all_bytes += (letters.bytes[r] + alignment - 1) / alignment * alignment;
  }
  return letters;
}

template <class T>
void CellMessages<T>::pack(const Device& device, const CellPiece* pieces, std::int64_t count, std::byte* room) const {
  if (count == 0) return;
  pack_kernel<<<blocks_for(count), message_warps * 32, 0, cuda::handle(device.stream())>>>(*this, pieces, count, room);
  cuda::check(cudaGetLastError(), "tree messages");
}

template <class T>
void CellMessages<T>::unpack(const Device& device, const CellPiece* pieces, std::int64_t count,
                             const std::byte* room) const {
  if (count == 0) return;
  unpack_kernel<<<blocks_for(count), message_warps * 32, 0, cuda::handle(device.stream())>>>(*this, pieces, count,
                                                                                             room);
  cuda::check(cudaGetLastError(), "tree messages");
  cuda::launch("tree messages", count, device.stream(), Attach<T>{*this, pieces});
}

template struct CellMessages<float>;
template struct CellMessages<double>;

}  // namespace pergola::tree
