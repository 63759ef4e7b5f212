// The walk on the CPU. No include guard: part of tree/walk_instance.inl, inside the namespace of an instruction set.

// Dehnen 2002, J. Comput. Phys. 179, 27: a walk over pairs of cells; here each target cell goes down once, with a list
// of candidate sources. Sources are tested a pack at a time; verdicts are bits. Units are those of the tree: lengths of
// the cube's side, masses of the total. Expansions are in units of the scale of their cell.
// Steps for a target: (1) sort the candidates into lists, (2) add far cells to its local expansion, (3) shift that to
// the children and visit them with what was passed on, or, for a leaf, evaluate it and add points and pairs.
using physics::expansion_terms, physics::factor_of, physics::Factor, physics::index_of, physics::is_valid,
    physics::term_of;

#include "device/simd_pack.inl"
#include "physics/expansion.inl"
#include "physics/pair.inl"
#include "physics/separation.inl"
#include "physics/split.inl"
#include "tree/nearest_image.inl"
#include "tree/walk_lists.inl"
#include "tree/walk_pairs.inl"

/// One walk, or one task of it. The walk's bits do not depend on how it is divided into tasks.
template <class T, int order, class Space>
class Walker {
  using P = Pack<T>;
  using D = Pack<double>;
  static constexpr int terms = expansion_terms(order);
  static constexpr int lanes = P::size;
  using Expansion = T[terms];

 public:
  Walker(const TreeView<T>& tree, const Space& space, const Opening& opening, const ActiveSet& active, const Sink& sink,
         const Search& search)
      : tree_(tree),
        space_(space),
        opening_(opening),
        active_(active),
        sink_(sink),
        search_(search),
        pairs_(tree, space, active, sink.work != nullptr) {}

  /// From the root down to cells of at most `grain` particles, which become tasks.
  std::vector<WalkTask<T>> begin(std::uint32_t grain) {
    const Expansion none = {};
    grain_ = grain, divides_ = true;
    pass_.clear();
    pass_.add(0);
    descend(0, 0, 1, none);
    return std::move(tasks_);
  }
  /// One task: a cell with its candidates and the local expansion of its parents.
  void run(const WalkTask<T>& task) {
    Expansion local;
    for (int t = 0; t < terms; ++t) local[t] = task.local[static_cast<std::size_t>(t)];
    pass_.take(task.candidates.data(), task.candidates.size());
    visit(task.cell, 0, pass_.size(), local);
  }

 private:
  bool asks(std::uint32_t cell) const { return !active_.cell || active_.cell[cell]; }

  /// Children without active particles are left out. A search stops where no candidate is left.
  void descend(std::uint32_t cell, std::size_t begin, std::size_t end, const Expansion& local) {
    if (!asks(cell) || (search_.missing && begin == end)) return;
    if (!divides_ || tree_.link[cell].count > grain_) return visit(cell, begin, end, local);
    tasks_.push_back({cell, {pass_.begin() + begin, pass_.begin() + end}, {local, local + terms}});
  }

  /// pass_ is a stack of lists: a cell's list is cut off when its children are done.
  void visit(std::uint32_t cell, std::size_t begin, std::size_t end, const Expansion& incoming) {
    const CellLink& link = tree_.link[cell];
    queue_.take(pass_.begin() + begin, end - begin);
    far_.clear(), points_.clear(), near_.clear();
    const std::size_t base = pass_.size();
    sort_candidates(cell);
    if (search_.missing) {
      const std::size_t passed = pass_.size();
      for (std::uint32_t c = 0; c < link.children; ++c) descend(link.child + c, base, passed, incoming);
      return pass_.cut(base);
    }
    if (sink_.work) sink_.work[cell] += sink_.costs.test * queue_.size() + sink_.costs.far * far_.size();
    Expansion local;
    for (int t = 0; t < terms; ++t) local[t] = incoming[t];
    add_far(cell, local);
    if (link.children == 0) {
      serve_leaf(cell, local);
    } else {
      const std::size_t passed = pass_.size();
      Expansion child[8];
      shift_to_children(cell, local, child);
      for (std::uint32_t c = 0; c < link.children; ++c) descend(link.child + c, base, passed, child[c]);
    }
    pass_.cut(base);
  }

  /// Every candidate goes to one of the lists: cells that act through their expansion on the target's (far_) or on its
  /// particles (points_), leaves to be summed by pairs (near_), cells that the target's children decide about (pass_).
  void sort_candidates(std::uint32_t target) {
    const bool leaf = tree_.link[target].children == 0;
    for (std::size_t k = 0, count = 0; k < queue_.size(); k += count) {
      count = std::min(cells_at_once, queue_.size() - k);
      // Straight from the queue: numbers that were just written one by one are slow to load together.
      const std::uint32_t* cells = queue_.data() + k;
      std::uint32_t last[cells_at_once];
      if (count < cells_at_once) {
        for (std::size_t lane = 0; lane < cells_at_once; ++lane) last[lane] = cells[lane < count ? lane : 0];
        cells = last;
      }
      const Verdicts of = test(target, cells);
      const unsigned act = ~of.beyond & ((1u << count) - 1);
      far_.add(cells, act & of.as_cell & ~of.self);
      const unsigned rest = act & (of.self | ~of.as_cell);
      if (rest == 0) continue;
      const LinkBits link(tree_.link, cells);
      unsigned opened;
      if (leaf) {
        const unsigned points = rest & ~of.self & of.as_points & link.many;
        points_.add(cells, points);
        near_.add(cells, rest & ~points & link.leaf & ~link.elsewhere);
        opened = rest & ~points & (~link.leaf | link.elsewhere);
      } else {
        const unsigned others = rest & ~of.self, passed = others & (link.leaf | targets_opened(target, cells, others));
        pass_.add(cells, passed);
        each_bit(rest & of.self, [&](unsigned) { open(tree_.link[target], pass_); });
        opened = others & ~passed;
      }
      each_bit(opened, [&](unsigned lane) {
        const std::uint32_t source = queue_[k + lane];
        if (link.elsewhere >> lane & 1) return miss(target, source);
        open(tree_.link[source], queue_);
      });
    }
  }
  /// Bit by bit: whether the target is opened rather than the source; of those of `sources`.
  unsigned targets_opened(std::uint32_t target, const std::uint32_t* cells, unsigned sources) const {
    unsigned opens = 0;
    each_bit(sources, [&](unsigned lane) {
      opens |= unsigned{opens_target(tree_.shape[cells[lane]].r, tree_.shape[target].r)} << lane;
    });
    return opens;
  }
  void open(const CellLink& s, CellList& to) const {
    for (std::uint32_t c = s.child; c < s.child + s.children; ++c)
      if (!search_.missing || search_.foreign[c]) to.add(c);
  }
  /// A cell of another rank is needed: an error, or, in a search, an entry of its list.
  void miss(std::uint32_t target, std::uint32_t source) const {
    if (!search_.missing) fail_elsewhere(source);
    search_.missing->push_back({target, source});
  }

  /// Of some sources, bit by bit.
  struct Verdicts {
    unsigned as_cell, as_points;  // it may act on the target cell, on the target's particles
    unsigned beyond;              // none of it acts
    unsigned self;                // it is the target
  };
  /// The opening test for a pack of sources. d: from target to source; u: 1 / √(d² + ε²). The criteria are in
  /// physics/expansion.inl.
  HWY_INLINE Verdicts test(std::uint32_t target, const std::uint32_t* cells) const {
    const CellShape& t = tree_.shape[target];
    const ShapeGather source(tree_.shape, cells);
    Vec3<D> d = separation<D>({D(t.x), D(t.y), D(t.z)}, {source(0), source(1), source(2)});
    if constexpr (Space::periodic) d = nearest_image(d, space_.period);
    const D epsilon2 = tree_.softening ? larger(source(6), D(t.epsilon2)) : D(t.epsilon2);
    const D square = softened_square(d, expansion_epsilon2(epsilon2));
    const D u = rsqrt(square);
    const D r = source(3), rho = source(4), mass = source(5), target_r = D(t.r);
    unsigned as_cell =
        at_most(opening_ratio(r, target_r, u), D(opening_.angle)) & at_most(target_r * u, D(opening_.target_angle));
    const D rest = square * u - target_r;  // no particle of the target is nearer
    unsigned as_points = at_most(r, D(opening_.angle) * rest), beyond = at_most(larger(mass, D(0.0) - mass), D(0.0));
    if (opening_.tolerance > 0) {
      const D allowed(opening_.tolerance * tree_.acceleration[target]);
      as_cell &= at_most(neglected_acceleration<order>(mass, rho, target_r, u), allowed);
      as_points &= at_most(mass * power<order>(rho), allowed * power<order + 2>(rest));
    }
    if (tree_.support > 0) {
      const D apart = nearest_apart(square * u, r, target_r);
      const unsigned newtonian = at_most(epsilon2 * D(tree_.support * tree_.support), apart * apart);
      as_cell &= newtonian, as_points &= newtonian;
    } else if (tree_.softening) {
      // Where a cell with one softening length has the larger, all pairs have that.
      const D differs = where_less(source(6), D(t.epsilon2), D(1.0), source(7)) *
                        where_less(D(t.epsilon2), source(6), D(1.0), D(t.mixed));
      const D wrong = differs * softening_effect(mass, epsilon2);
      if (opening_.tolerance > 0) {
        const D allowed(opening_.softening * tree_.acceleration[target]);
        as_cell &= at_most(wrong * power<4>(u), allowed);
        as_points &= at_most(wrong, allowed * power<4>(rest));
      } else {
        as_cell &= at_most(wrong * u * u, D(opening_.softening) * mass);
        as_points &= at_most(wrong, D(opening_.softening) * mass * rest * rest);
      }
    }
    if constexpr (Space::periodic) test_reach(d, r, target_r, as_cell, as_points, beyond);
    unsigned self = 0;
    for (unsigned lane = 0; lane < cells_at_once; ++lane) self |= unsigned{cells[lane] == target} << lane;
    return {as_cell, as_points, beyond, self};
  }

  /// Expansions hold somewhat beyond the cut-off radius, and for one image of the source: no other is to reach into it.
  HWY_INLINE void test_reach(const Vec3<D>& d, D r, D target_r, unsigned& as_cell, unsigned& as_points,
                             unsigned& beyond) const {
    const D distance(hn::Sqrt(softened_square(d, D(0.0)).raw)), cut_off(space_.cut_off);
    const D reach = r + target_r + cut_off;
    beyond |= at_most(reach, distance);
    const auto alone = [&](D along, double period)
                           HWY_ATTR { return at_most(larger(along, D(0.0) - along) + reach, D(period)); };
    const unsigned one = alone(d.x, space_.period.x) & alone(d.y, space_.period.y) & alone(d.z, space_.period.z);
    const D last = cut_off * D(physics::expansion_reach);
    as_cell &= one & at_most(distance, last);
    as_points &= one & at_most(distance + target_r, last);
  }

  /// Where expansions of a law with a support are used, it is Newton's.
  template <class R>
  HWY_INLINE R expansion_epsilon2(R epsilon2) const {
    return tree_.support > 0 ? R(0.0) : epsilon2;
  }

  /// Up to `lanes` cells of a list, one per lane. Lanes beyond the list repeat its first cell, without mass.
  struct SourceCells {
    alignas(64) T x[lanes], y[lanes], z[lanes];  // from the target's centre
    alignas(64) T scale[lanes], epsilon2[lanes];
    P multipole[terms];
  };
  HWY_INLINE void load(const CellList& list, std::size_t at, const CellShape& target, SourceCells& to) const {
    const T* from[lanes];
    for (std::size_t lane = 0; lane < lanes; ++lane) {
      const std::uint32_t cell = list[at + lane < list.size() ? at + lane : at];
      const CellShape& s = tree_.shape[cell];
      const Vec3<double> centre = image_of(s, target, space_);
      to.x[lane] = static_cast<T>(centre.x - target.x);
      to.y[lane] = static_cast<T>(centre.y - target.y);
      to.z[lane] = static_cast<T>(centre.z - target.z);
      to.epsilon2[lane] = static_cast<T>(expansion_epsilon2(s.epsilon2));
      to.scale[lane] = tree_.scale[cell];
      from[lane] = at + lane < list.size() ? tree_.multipole + static_cast<std::int64_t>(cell) * multipole_stride(order)
                                           : nothing_;
    }
    transpose(from, to.multipole);
  }
  /// Rows of numbers, one per lane, become columns. Floats go through blocks of four rows and four numbers.
  static HWY_INLINE void transpose(const T* const (&from)[lanes], P (&to)[terms]) {
#if HWY_TARGET != HWY_SCALAR
    if constexpr (sizeof(T) == 4) {
      constexpr int groups = multipole_stride(order) / 4;
      alignas(64) T stage[groups][4][lanes];
      for (int lane = 0; lane < lanes; ++lane)
        for (int g = 0; g < groups; ++g)
          std::memcpy(&stage[g][lane % 4][lane / 4 * 4], from[lane] + 4 * g, 4 * sizeof(T));
      for (int g = 0; g < groups; ++g) {
        P column[4];
        transpose_blocks(stage[g], column);
        for (int c = 0; c < 4 && 4 * g + c < terms; ++c) to[4 * g + c] = column[c];
      }
      return;
    }
#endif
    for (int term = 0; term < terms; ++term) {
      alignas(64) T column[lanes];
      for (int lane = 0; lane < lanes; ++lane) column[lane] = from[lane][term];
      to[term] = P::load(column);
    }
  }
#if HWY_TARGET != HWY_SCALAR
  /// Within every block of four lanes, the four numbers of row r become lane r.
  static HWY_INLINE void transpose_blocks(const T (&rows)[4][lanes], P (&columns)[4]) {
    const typename P::Tag d;
    const hn::Repartition<std::uint64_t, typename P::Tag> pairs;
    const auto a = P::load(rows[0]).raw, b = P::load(rows[1]).raw, c = P::load(rows[2]).raw, e = P::load(rows[3]).raw;
    const auto ab_low = hn::BitCast(pairs, hn::InterleaveLower(d, a, b));
    const auto ab_high = hn::BitCast(pairs, hn::InterleaveUpper(d, a, b));
    const auto ce_low = hn::BitCast(pairs, hn::InterleaveLower(d, c, e));
    const auto ce_high = hn::BitCast(pairs, hn::InterleaveUpper(d, c, e));
    columns[0] = P(hn::BitCast(d, hn::InterleaveLower(pairs, ab_low, ce_low)));
    columns[1] = P(hn::BitCast(d, hn::InterleaveUpper(pairs, ab_low, ce_low)));
    columns[2] = P(hn::BitCast(d, hn::InterleaveLower(pairs, ab_high, ce_high)));
    columns[3] = P(hn::BitCast(d, hn::InterleaveUpper(pairs, ab_high, ce_high)));
  }
#endif
  /// From the cells to a point, which is given from the target's centre, in units of √(|x|² + ε²), the inverse of that,
  /// and radial derivatives of the law.
  HWY_INLINE Vec3<P> direction(const SourceCells& sources, const Vec3<T>& point, T epsilon2, P& inverse,
                               P (&g)[order + 1]) const {
    const Vec3<P> d{P(point.x) - P::load(sources.x), P(point.y) - P::load(sources.y), P(point.z) - P::load(sources.z)};
    const P square = softened_square(d, larger(P::load(sources.epsilon2), P(epsilon2)));
    inverse = rsqrt(square);
    if constexpr (Space::periodic)
      short_range_radial_derivatives<order>(space_.law, softened_square(d, P(T(0))), square, inverse, g);
    return {d.x * inverse, d.y * inverse, d.z * inverse};
  }

  /// Sources in the lanes; lanes are added at the end.
  void add_far(std::uint32_t cell, Expansion& local) const {
    if (far_.empty()) return;
    const CellShape& t = tree_.shape[cell];
    P g[order + 1], sum[terms];
    plummer_radial_derivatives<order>(g);
    for (auto& value : sum) value = P(T(0));
    const P scale(tree_.scale[cell]);
    SourceCells sources;
    for (std::size_t k = 0; k < far_.size(); k += lanes) {
      load(far_, k, t, sources);
      P inverse;
      const Vec3<P> x = direction(sources, {0, 0, 0}, static_cast<T>(expansion_epsilon2(t.epsilon2)), inverse, g);
      multipole_to_local<order>(x, inverse, P::load(sources.scale), scale, g, sources.multipole, sum);
    }
    for (int term = 0; term < terms; ++term) local[term] += sum_of_lanes(sum[term]);
  }

  /// Children in the lanes: the local expansion about each child's centre, in its scale.
  void shift_to_children(std::uint32_t cell, const Expansion& local, Expansion (&to)[8]) const {
    const CellLink& link = tree_.link[cell];
    const CellShape& s = tree_.shape[cell];
    const T inverse = T(1) / tree_.scale[cell];
    P parent[terms];
    for (int term = 0; term < terms; ++term) parent[term] = P(local[term]);
    for (std::uint32_t c = 0; c < link.children; c += lanes) {
      alignas(64) T x[lanes] = {}, y[lanes] = {}, z[lanes] = {}, ratio[lanes] = {}, column[lanes];
      const std::uint32_t count = std::min<std::uint32_t>(lanes, link.children - c);
      for (std::uint32_t lane = 0; lane < count; ++lane) {
        const CellShape& child = tree_.shape[link.child + c + lane];
        x[lane] = static_cast<T>(child.x - s.x) * inverse;
        y[lane] = static_cast<T>(child.y - s.y) * inverse;
        z[lane] = static_cast<T>(child.z - s.z) * inverse;
        ratio[lane] = tree_.scale[link.child + c + lane] * inverse;
      }
      P shifted[terms];
      shift_local<order>({P::load(x), P::load(y), P::load(z)}, P::load(ratio), parent, shifted);
      for (int term = 0; term < terms; ++term) {
        shifted[term].store(column);
        for (std::uint32_t lane = 0; lane < count; ++lane) to[c + lane][term] = column[lane];
      }
    }
  }

  /// Hands ψ and ∇ψ of each active particle to the sink, and counts the work if that is wanted.
  void serve_leaf(std::uint32_t cell, const Expansion& local) {
    const CellLink& link = tree_.link[cell];
    LeafSums sums{};
    add_local(cell, local, sums);
    add_points(cell, sums);
    const PairCounts pairs = pairs_.add(cell, near_, sums);
    std::uint64_t asking = 0;
    for (std::uint32_t k = 0; k < link.count; ++k)
      if (!active_.particle || active_.particle[link.first + k]) {
        sink_.put(sink_.context, link.first + k, sums.value[k]);
        ++asking;
      }
    const WalkCosts& costs = sink_.costs;
    if (sink_.work)
      sink_.work[cell] += costs.look * pairs.looked + costs.pair * pairs.summed + costs.point * asking * points_.size();
  }

  /// The local expansion at the leaf's particles, these in the lanes.
  void add_local(std::uint32_t cell, const Expansion& local, LeafSums& sums) const {
    const CellLink& link = tree_.link[cell];
    const T inverse = T(1) / tree_.scale[cell];
    P expansion[terms];
    for (int term = 0; term < terms; ++term) expansion[term] = P(local[term]);
    for (std::uint32_t k = 0; k < link.count; k += lanes) {
      alignas(64) T x[lanes] = {}, y[lanes] = {}, z[lanes] = {}, out[4][lanes];
      const std::uint32_t count = std::min<std::uint32_t>(lanes, link.count - k);
      for (std::uint32_t lane = 0; lane < count; ++lane) {
        const std::uint32_t at = link.first + k + lane;
        x[lane] = tree_.x[at] * inverse, y[lane] = tree_.y[at] * inverse, z[lane] = tree_.z[at] * inverse;
      }
      const Field<P> field = local_field<order>(expansion, {P::load(x), P::load(y), P::load(z)});
      const P per_length(inverse);
      field.psi.store(out[0]);
      (field.gradient.x * per_length).store(out[1]);
      (field.gradient.y * per_length).store(out[2]);
      (field.gradient.z * per_length).store(out[3]);
      for (std::uint32_t lane = 0; lane < count; ++lane)
        sums.add(k + lane, out[0][lane], out[1][lane], out[2][lane], out[3][lane]);
    }
  }

  /// Expansions of cells at single particles, the cells in the lanes.
  void add_points(std::uint32_t cell, LeafSums& sums) const {
    const CellLink& link = tree_.link[cell];
    const CellShape& t = tree_.shape[cell];
    P g[order + 1];
    plummer_radial_derivatives<order>(g);
    SourceCells sources;
    for (std::size_t at = 0; at < points_.size(); at += lanes) {
      load(points_, at, t, sources);
      for (std::uint32_t k = 0; k < link.count; ++k) {
        const std::uint32_t i = link.first + k;
        if (active_.particle && !active_.particle[i]) continue;
        P inverse, factor[order + 1], scaled[terms];
        const T epsilon2 = tree_.softening ? tree_.softening[i] : static_cast<T>(tree_.same_epsilon2);
        const Vec3<P> x =
            direction(sources, {tree_.x[i], tree_.y[i], tree_.z[i]}, expansion_epsilon2(epsilon2), inverse, g);
        for (int term = 0; term < terms; ++term) scaled[term] = sources.multipole[term];
        powers<order>(P(T(1)), P::load(sources.scale) * inverse, factor);
        scale_terms<order>(factor, scaled);
        const Field<P> field = multipole_field<order>(x, inverse, g, scaled);
        sums.add(k, sum_of_lanes(field.psi), sum_of_lanes(field.gradient.x), sum_of_lanes(field.gradient.y),
                 sum_of_lanes(field.gradient.z));
      }
    }
  }

  static constexpr T nothing_[multipole_stride(order)] = {};
  const TreeView<T>& tree_;
  const Space& space_;
  const Opening& opening_;
  const ActiveSet& active_;
  const Sink& sink_;
  const Search& search_;
  std::uint32_t grain_ = 0;
  bool divides_ = false;
  CellList queue_, far_, points_, near_, pass_;
  std::vector<WalkTask<T>> tasks_;
  NearSum<T, Space> pairs_;
};

/// Calls use(order) with the order as a type.
template <class T, class Use>
auto with_order(int order, const Use& use) {
  static_assert(lowest_order == 2 && highest_order == 5);
  switch (order) {
    case 2:
      return use(std::integral_constant<int, 2>());
    case 3:
      return use(std::integral_constant<int, 3>());
    case 4:
      return use(std::integral_constant<int, 4>());
    default:
      return use(std::integral_constant<int, 5>());
  }
}

template <class T, class Space>
std::vector<WalkTask<T>> begin_walk_any(const TreeView<T>& tree, const Space& space, const Opening& opening,
                                        const ActiveSet& active, std::uint32_t grain, const Sink& sink,
                                        const Search& search = {}) {
  return with_order<T>(opening.order, [&](auto order) {
    return Walker<T, decltype(order)::value, Space>(tree, space, opening, active, sink, search).begin(grain);
  });
}

template <class T, class Space>
void walk_any(const TreeView<T>& tree, const Space& space, const Opening& opening, const ActiveSet& active,
              const WalkTask<T>& task, const Sink& sink, const Search& search = {}) {
  with_order<T>(opening.order, [&](auto order) {
    Walker<T, decltype(order)::value, Space>(tree, space, opening, active, sink, search).run(task);
  });
}
