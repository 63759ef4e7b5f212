#pragma once
#include <array>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/state_source.hpp"
#include "comm/communicator.hpp"
#include "domain/routing.hpp"
#include "tree/octree_cpu.hpp"
#include "tree/top_tree.hpp"

namespace pergola::tree {

/// The octree of particles distributed over ranks, on the CPU: of the tree that one rank would build over all of
/// them each rank has the top, the cells of its domain, which are whole branches, and those of other domains that its
/// particles meet. What it has has the same bits as there, and children stand in the same order, so that walks over it
/// sum the same numbers in the same order. All ranks make all calls but the const ones.
template <class T>
class DistributedOctree : public OctreeCpu<T> {
 public:
  static constexpr bool on_ranks = true;

  DistributedOctree(const Device& device, std::shared_ptr<Communicator> ranks)
      : OctreeCpu<T>(device), ranks_(std::move(ranks)) {}

  /// Who owns each of these particles, whoever has them now: the rank of its cell, so that each rank has as much of the
  /// work that was counted since the last build, where the same particles were there, and else as many of them.
  /// `again`: by the keys of a tree that is made again. Throws Error(numerics) on all ranks when a position is not
  /// finite.
  template <class Real>
  Routing& divide(const Points<Real>& points, const TreeSoftening& softening, const KeptTree* again);
  /// From the particles that divide() has given to this rank. `accelerations`: as OctreeCpu::build.
  template <class Real>
  void build(const Points<Real>& points, const TreeSoftening& softening, int order, bool accelerations) {
    again_ = nullptr;
    build(points, softening, order, nullptr);
    if (accelerations) estimate_accelerations();
  }
  /// The frame that build() would have, with the total mass, of particles on any ranks. Throws as divide() does.
  template <class Real>
  Frame frame_of(const Points<Real>& points) const;
  /// The accelerations of the cells: in open space, or as OctreeCpu has them in a periodic box.
  void estimate_accelerations();
  template <class Real>
  void estimate_accelerations(const ShortRangeBox<double>& box, const Real* const (&rest)[3], double unit);
  /// As OctreeCpu's: particles stay with the rank of their cell, and what was fetched of other ranks is forgotten. The
  /// same answer on all ranks.
  template <class Real>
  bool refresh(const Points<Real>& points, const TreeSoftening& softening, int order);
  /// Fetches whatever a walk for these particles meets with this opening.
  void fetch_for_walk(const OpenSpace& space, const Opening& opening, const ActiveSet& active);
  void fetch_for_walk(const ShortRangeBox<T>& space, const Opening& opening, const ActiveSet& active);

  /// A sink that takes the same and counts the work of a walk for this domain.
  Sink counting(Sink sink);
  /// Counted since the last build on this rank: walks, and the particles of all builds and refreshes.
  std::int64_t work() const;

  /// The tree goes, with its memory.
  void give_back_memory();

  /// This rank's domain.
  ActiveSet own() const { return {nullptr, own_cell_.data()}; }
  /// The part of it that asks, by the marks of this rank's particles; good until it is called again.
  ActiveSet asking(const std::vector<std::uint8_t>& marks);
  std::int64_t total() const { return total_; }
  /// Room for up to four numbers of each particle, in the memory that a build or refresh works in: free until the next
  /// one.
  template <class V>
  V* room(int k) {
    static_assert(sizeof(V) <= sizeof(double));
    Buffer<double>* const fields[4] = {&this->x_, &this->y_, &this->z_, &this->mass_};
    return reinterpret_cast<V*>(fields[k]->data());
  }

 private:
  using Base = OctreeCpu<T>;
  using Base::again_, Base::by_particle_, Base::cells_, Base::count_, Base::device_, Base::expansion_order_,
      Base::extent_, Base::frame_, Base::has_accelerations_, Base::multipole_, Base::scale_, Base::shape_, Base::sort_;

  /// Where the children or particles of a cell that are elsewhere can be had.
  struct Origin {
    int rank = 0;
    std::uint32_t cell = 0;   // its number there
    std::uint32_t bytes = 0;  // of the answer
  };
  struct TopLeafData {
    CellShape shape;
    CellExtent extent;
    std::uint32_t children, reply_bytes;
  };
  using MissingCells = std::vector<Search::Missing>;
  /// Ranks that this one has asked for branches, and those that have asked it, by rank: others need not be exported
  /// that they are asked for nothing.
  struct Partners {
    std::vector<std::uint8_t> asked, asking;
    /// Whether all that are asked for bytes are among them.
    bool know(const std::vector<std::size_t>& bytes) const;
    /// Tells every rank how many bytes it is asked for, or those that have been asked before.
    void meet(Communicator& ranks, const std::vector<std::size_t>& out, std::vector<std::size_t>& in);
    void tell(Communicator& ranks, const std::vector<std::size_t>& out, std::vector<std::size_t>& in) const;
  };

  /// `again`: the tree that is made again; null: a new one.
  template <class Real>
  void build(const Points<Real>& points, const TreeSoftening& softening, int order, const KeptTree* again);
  template <class Real>
  std::optional<double> find_common_frame(const Points<Real>& points, std::int64_t total, Frame& frame) const;
  void keep_weights();
  std::vector<std::int64_t> weights_before(const SortBuffers& sort, std::int64_t n) const;
  std::vector<std::uint32_t> take_top(TopTree top);
  void begin_domain();
  void forget_fetched();
  void give_back_fetched();
  void give_back_sorting();
  typename OctreeCpu<T>::LeafSurvey survey_all(const Vec3<double>& period) const;
  void take_accelerations(const double* of_particles);
  bool still_serves(const Vec3<double>& period) const;
  void upward_to_top();
  void share_top_leaves();
  void mark_own_cells();

  bool is_highest(std::uint32_t cell, std::uint32_t capacity) const;
  bool is_group(std::uint32_t cell) const;
  template <class Real>
  std::vector<Vec3<double>> sums_in_top(const Real* const (&rest)[3]) const;
  template <class OfGroup>
  void set_accelerations(const OfGroup& of_group);
  template <class Space>
  void look_for_estimate(const Space& space, std::uint32_t of, std::uint32_t from, MissingCells& missing) const;
  template <class Space>
  void fetch_for_estimate(const Space& space);
  template <class Space>
  void fetch_in(const Space& space, const Opening& opening, const ActiveSet& active);
  bool fetch(const MissingCells& missing);
  std::size_t particle_bytes() const { return (3 + (masses_differ_ ? 1 : 0) + (by_particle_ ? 1 : 0)) * sizeof(T); }
  bool brings_particles(const CellLink& link) const;
  std::size_t reply_bytes(const CellLink& link) const;
  void append_particles(const CellLink& link, std::vector<std::byte>& reply) const;
  const std::byte* take_particles(std::uint32_t count, const std::byte* from);
  void append_reply(std::uint32_t cell, std::vector<std::byte>& reply) const;
  const std::byte* take_reply(std::uint32_t cell, const std::byte* from);
  Origin& origin(std::uint32_t cell) { return origin_[cell < top_cells_ ? cell : cell - own_end_ + top_cells_]; }

  std::shared_ptr<Communicator> ranks_;
  Routing routing_;             // to the owners
  std::optional<TopTree> top_;  // as particles are divided now, until the tree is built
  SofteningDigit digit_;
  std::int64_t total_ = 0;
  bool masses_differ_ = true;
  std::vector<TopTree::Leaf> leaves_;
  std::uint32_t top_cells_ = 0, own_end_ = 0;  // top cells, then own ones, then foreign ones
  std::int64_t here_ = 0;                      // particles, foreign ones included
  std::vector<Origin> origin_;                 // of the top cells, then of the foreign ones
  Partners partners_;                          // since the last build
  std::vector<std::uint8_t> own_cell_;         // whether it holds particles of this domain; of top and own cells
  std::vector<std::uint8_t> foreign_;          // whether it holds any others
  std::vector<std::uint8_t> asking_particle_, asking_cell_;
  std::vector<std::uint64_t> work_;     // of walks since the last build; of top and own cells
  std::int64_t walks_ = 0, times_ = 0;  // since then; and how often particles were taken in or moved
  std::vector<std::uint32_t> weight_;   // of this rank's particles when they were last counted; empty: equal
};

}  // namespace pergola::tree
