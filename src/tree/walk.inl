// The walk on the CPU. No include guard: part of tree/walk_instance.inl and, for periodic boxes, of
// tree/short_walk_instance.inl, inside the namespace of an instruction set.

using physics::expansion_terms, physics::factor_of, physics::Factor, physics::index_of, physics::is_valid,
    physics::term_of;

#include "device/simd_pack.inl"
#include "device/simd_rough.inl"
#include "physics/expansion.inl"
#include "physics/opening.inl"
#include "physics/pair.inl"
#include "physics/pair_laws.inl"
#include "physics/separation.inl"
#include "physics/split.inl"
#include "tree/nearest_image.inl"
#include "tree/walk_pairs.inl"

/// Field `at` of the shapes of some cells, one per lane.
struct ShapeGather {
  using D = Pack<double>;
  using Index = hn::RebindToSigned<D::Tag>;
  const double* base;
  hn::Vec<Index> place;

  HWY_INLINE ShapeGather(const CellShape* shapes, const std::uint32_t* cells) : base(&shapes->x) {
    alignas(64) std::int64_t places[D::size];
    for (int lane = 0; lane < D::size; ++lane) places[lane] = static_cast<std::int64_t>(cells[lane]) * 8;
    place = hn::Load(Index(), places);
  }
  HWY_INLINE D operator()(int field) const { return D(hn::GatherIndex(D::Tag(), base + field, place)); }
};

HWY_INLINE unsigned at_most(Pack<double> left, Pack<double> right) {
  std::uint8_t bits[8] = {};
  hn::StoreMaskBits(Pack<double>::Tag(), hn::Le(left.raw, right.raw), bits);
  return bits[0];
}

template <class T, int order, class Space>
class Walker {
  using P = Pack<T>;
  using D = Pack<double>;
  static constexpr int terms = expansion_terms(order);
  static constexpr int lanes = P::size, wide = D::size;
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

  std::vector<WalkTask<T>> begin(std::uint32_t grain) {
    const Expansion none = {};
    grain_ = grain, divides_ = true;
    pass_.assign(1, 0);
    descend(0, 0, 1, none);
    return std::move(tasks_);
  }
  void run(const WalkTask<T>& task) {
    Expansion local;
    for (int t = 0; t < terms; ++t) local[t] = task.local[static_cast<std::size_t>(t)];
    pass_ = task.candidates;
    visit(task.cell, 0, pass_.size(), local);
  }

 private:
  bool asks(std::uint32_t cell) const { return !active_.cell || active_.cell[cell]; }

  void descend(std::uint32_t cell, std::size_t begin, std::size_t end, const Expansion& local) {
    if (!asks(cell)) return;
    if (!divides_ || tree_.link[cell].count > grain_) return visit(cell, begin, end, local);
    tasks_.push_back(
        {cell,
         {pass_.begin() + static_cast<std::ptrdiff_t>(begin), pass_.begin() + static_cast<std::ptrdiff_t>(end)},
         {local, local + terms}});
  }

  void visit(std::uint32_t cell, std::size_t begin, std::size_t end, const Expansion& incoming) {
    const CellLink& link = tree_.link[cell];
    queue_.assign(pass_.begin() + static_cast<std::ptrdiff_t>(begin), pass_.begin() + static_cast<std::ptrdiff_t>(end));
    far_.clear(), points_.clear(), near_.clear();
    const std::size_t base = pass_.size();
    sort_candidates(cell);
    if (search_.missing) {
      const std::size_t passed = pass_.size();
      for (std::uint32_t c = 0; c < link.children; ++c) descend(link.child + c, base, passed, incoming);
      return pass_.resize(base);
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
    pass_.resize(base);
  }

  /// Every candidate goes to one of the lists: cells that act through their expansion on the target's (far_) or on its
  /// particles (points_), leaves to be summed by pairs (near_), cells that the target's children decide about (pass_).
  void sort_candidates(std::uint32_t target) {
    for (std::size_t k = 0, count = 0; k < queue_.size(); k += count) {
      count = std::min<std::size_t>(wide, queue_.size() - k);
      std::uint32_t cells[wide];
      for (std::size_t lane = 0; lane < wide; ++lane) cells[lane] = queue_[lane < count ? k + lane : k];
      unsigned as_cell = 0, as_points = 0, beyond = 0;
      test(target, cells, as_cell, as_points, beyond);
      for (std::size_t lane = 0; lane < count; ++lane)
        if (!(beyond >> lane & 1)) place(target, cells[lane], as_cell >> lane & 1, as_points >> lane & 1);
    }
  }

  void place(std::uint32_t target, std::uint32_t source, bool as_cell, bool as_points) {
    const CellLink &s = tree_.link[source], &t = tree_.link[target];
    if (tree_.shape[source].mass == 0) return;
    if (source == target) {
      if (s.children == 0) near_.push_back(source);
      open(s, pass_);
    } else if (as_cell) {
      far_.push_back(source);
    } else if (t.children == 0) {
      if (as_points && s.count >= point_capacity)
        points_.push_back(source);
      else if (s.is_elsewhere())
        miss(target, source);
      else if (s.children == 0)
        near_.push_back(source);
      else
        open(s, queue_);
    } else if (s.children == 0 || opens_target(tree_.shape[source].r, tree_.shape[target].r)) {
      pass_.push_back(source);
    } else if (s.is_elsewhere()) {
      miss(target, source);
    } else {
      open(s, queue_);
    }
  }
  void open(const CellLink& s, std::vector<std::uint32_t>& to) const {
    for (std::uint32_t c = s.child; c < s.child + s.children; ++c)
      if (!search_.missing || search_.foreign[c]) to.push_back(c);
  }
  void miss(std::uint32_t target, std::uint32_t source) const {
    if (!search_.missing) fail_elsewhere(source);
    search_.missing->push_back({target, source});
  }

  /// Bit by bit: may the source act on the target cell, may it act on the target's particles, does none of it act.
  HWY_INLINE void test(std::uint32_t target, const std::uint32_t* cells, unsigned& as_cell, unsigned& as_points,
                       unsigned& beyond) const {
    const CellShape& t = tree_.shape[target];
    const ShapeGather source(tree_.shape, cells);
    Vec3<D> d = separation<D>({D(t.x), D(t.y), D(t.z)}, {source(0), source(1), source(2)});
    if constexpr (Space::periodic) d = nearest_image(d, space_.period);
    const D epsilon2 = tree_.softening ? larger(source(6), D(t.epsilon2)) : D(t.epsilon2);
    const D square = softened_square(d, expansion_epsilon2(epsilon2));
    const D u = rsqrt(square);
    const D r = source(3), rho = source(4), mass = source(5), target_r = D(t.r);
    as_cell =
        at_most(opening_ratio(r, target_r, u), D(opening_.angle)) & at_most(target_r * u, D(opening_.target_angle));
    const D rest = square * u - target_r;  // no particle of the target is nearer
    as_points = at_most(r, D(opening_.angle) * rest);
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
  }

  /// Expansions hold somewhat beyond the cut-off radius, and for one image of the source: no other is to reach into it.
  HWY_INLINE void test_reach(const Vec3<D>& d, D r, D target_r, unsigned& as_cell, unsigned& as_points,
                             unsigned& beyond) const {
    const D distance(hn::Sqrt(softened_square(d, D(0.0)).raw)), cut_off(space_.cut_off);
    const D reach = r + target_r + cut_off;
    beyond = at_most(reach, distance);
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
    alignas(64) T scale[lanes];
    alignas(64) double x[lanes], y[lanes], z[lanes], epsilon2[lanes];
    P multipole[terms];
  };
  HWY_INLINE void load(const std::vector<std::uint32_t>& list, std::size_t at, const CellShape& target,
                       SourceCells& to) const {
    const T* from[lanes];
    for (std::size_t lane = 0; lane < lanes; ++lane) {
      const std::uint32_t cell = list[at + lane < list.size() ? at + lane : at];
      const CellShape& s = tree_.shape[cell];
      const Vec3<double> centre = image_of(s, target, space_);
      to.x[lane] = centre.x, to.y[lane] = centre.y, to.z[lane] = centre.z;
      to.epsilon2[lane] = expansion_epsilon2(s.epsilon2);
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
  /// From the cells to a point, in units of √(|x|² + ε²), the inverse of that, and radial derivatives of the law.
  HWY_INLINE Vec3<P> direction(const SourceCells& sources, const Vec3<double>& point, double epsilon2, P& inverse,
                               P (&g)[order + 1]) const {
    alignas(64) T dx[lanes], dy[lanes], dz[lanes], e[lanes];
    for (int lane = 0; lane < lanes; ++lane) {
      dx[lane] = static_cast<T>(point.x - sources.x[lane]);
      dy[lane] = static_cast<T>(point.y - sources.y[lane]);
      dz[lane] = static_cast<T>(point.z - sources.z[lane]);
      e[lane] = static_cast<T>(std::max(sources.epsilon2[lane], epsilon2));
    }
    const Vec3<P> d{P::load(dx), P::load(dy), P::load(dz)};
    const P square = softened_square(d, P::load(e));
    inverse = rsqrt(square);
    if constexpr (Space::periodic)
      short_range_radial_derivatives<order>(space_.law, softened_square(d, P(T(0))), square, inverse, g);
    return {d.x * inverse, d.y * inverse, d.z * inverse};
  }

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
      const Vec3<P> x = direction(sources, {t.x, t.y, t.z}, expansion_epsilon2(t.epsilon2), inverse, g);
      multipole_to_local<order>(x, inverse, P::load(sources.scale), scale, g, sources.multipole, sum);
    }
    for (int term = 0; term < terms; ++term) local[term] += sum_of_lanes(sum[term]);
  }

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
        const Vec3<double> point{t.x + static_cast<double>(tree_.x[i]), t.y + static_cast<double>(tree_.y[i]),
                                 t.z + static_cast<double>(tree_.z[i])};
        P inverse, factor[order + 1], scaled[terms];
        const double epsilon2 = tree_.softening ? static_cast<double>(tree_.softening[i]) : tree_.same_epsilon2;
        const Vec3<P> x = direction(sources, point, expansion_epsilon2(epsilon2), inverse, g);
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
  std::vector<std::uint32_t> queue_, far_, points_, near_, pass_;
  std::vector<WalkTask<T>> tasks_;
  NearSum<T, Space> pairs_;
};

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
