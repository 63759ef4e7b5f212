// Lists of cells, and the shapes and links of a pack of cells. No include guard: part of tree/walk.inl.

using ShapePack = Pack<double>;
/// Numbers of cells, as many as a pack has doubles.
using CellNumbers = hn::Rebind<std::uint32_t, ShapePack::Tag>;
inline constexpr std::size_t cells_at_once = ShapePack::size;
/// Whether one instruction stores a part of a pack.
inline constexpr bool compresses_at_once = HWY_TARGET == HWY_AVX3;

/// A bit per lane.
template <class Mask>
HWY_INLINE unsigned bits_of(Mask mask) {
  std::uint8_t bits[8] = {};
  hn::StoreMaskBits(ShapePack::Tag(), mask, bits);
  return bits[0];
}
HWY_INLINE unsigned at_most(ShapePack left, ShapePack right) { return bits_of(hn::Le(left.raw, right.raw)); }

/// body(lane) for the bits that are set.
template <class Body>
HWY_INLINE void each_bit(unsigned bits, const Body& body) {
  for (; bits != 0; bits &= bits - 1) body(static_cast<unsigned>(__builtin_ctz(bits)));
}

/// A list of cells that parts of a pack are added to. A short list allocates nothing, because searches for cells of
/// other ranks are thousands of small walks.
class CellList {
 public:
  CellList() = default;
  CellList(const CellList&) = delete;
  CellList& operator=(const CellList&) = delete;
  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  const std::uint32_t* data() const { return cells_; }
  const std::uint32_t* begin() const { return data(); }
  const std::uint32_t* end() const { return data() + size_; }
  std::uint32_t operator[](std::size_t k) const { return cells_[k]; }
  void clear() { size_ = 0; }
  /// The first `size` of them.
  void cut(std::size_t size) { size_ = size; }
  void take(const std::uint32_t* cells, std::size_t count) {
    size_ = 0;
    room(count);
    std::copy_n(cells, count, cells_);
    size_ = count;
  }
  void add(std::uint32_t cell) {
    room(1);
    cells_[size_++] = cell;
  }
  /// Those of the pack at `cells` whose bit is set, in their order.
  HWY_INLINE void add(const std::uint32_t* cells, unsigned bits) {
    if (bits == 0) return;
    if constexpr (!compresses_at_once) return each_bit(bits, [&](unsigned lane) { add(cells[lane]); });
    room(cells_at_once);
    const CellNumbers tag;
    const std::uint8_t bytes[8] = {static_cast<std::uint8_t>(bits)};
    size_ += hn::CompressStore(hn::LoadU(tag, cells), hn::LoadMaskBits(tag, bytes), tag, cells_ + size_);
  }

 private:
  /// Doubles the memory when it must grow.
  void room(std::size_t more) {
    if (room_ < size_ + more) grow(size_ + more);
  }
  void grow(std::size_t size) {
    std::vector<std::uint32_t> larger(2 * size);
    std::copy_n(cells_, size_, larger.data());
    memory_.swap(larger);
    cells_ = memory_.data(), room_ = memory_.size();
  }
  static constexpr std::size_t few = 256;
  std::uint32_t few_[few];
  std::vector<std::uint32_t> memory_;  // of more than that
  std::uint32_t* cells_ = few_;
  std::size_t size_ = 0, room_ = few;
};

/// Field `at` of the shapes of some cells, one per lane.
struct ShapeGather {
  using D = ShapePack;
  using Index = hn::RebindToSigned<D::Tag>;
  static_assert(sizeof(CellShape) == 8 * sizeof(double));
  const double* base;
  hn::Vec<Index> place;

  HWY_INLINE ShapeGather(const CellShape* shapes, const std::uint32_t* cells) : base(&shapes->x) {
    const hn::Rebind<std::uint64_t, D::Tag> wide;
    place = hn::BitCast(Index(), hn::ShiftLeft<3>(hn::PromoteTo(wide, hn::LoadU(CellNumbers(), cells))));
  }
  HWY_INLINE D operator()(int field) const { return D(hn::GatherIndex(D::Tag(), base + field, place)); }
};

/// What the links of some cells say, bit by bit.
struct LinkBits {
  unsigned leaf = 0;
  unsigned many = 0;  // at least point_capacity particles
  unsigned elsewhere = 0;

  HWY_INLINE LinkBits(const CellLink* links, const std::uint32_t* cells) {
    for (unsigned lane = 0; lane < cells_at_once; ++lane) {
      const CellLink& link = links[cells[lane]];
      leaf |= unsigned{link.children == 0} << lane;
      many |= unsigned{link.count >= point_capacity} << lane;
      elsewhere |= unsigned{link.is_elsewhere()} << lane;
    }
  }
};
