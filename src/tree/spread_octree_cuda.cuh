#pragma once
// CUDA only: the octree of particles distributed over ranks, in open space.
#include <cstdint>
#include <memory>
#include <vector>

#include "comm/communicator.hpp"
#include "device/buffer.hpp"
#include "domain/device_messages.hpp"
#include "tree/ahead_cuda.cuh"
#include "tree/cell_messages_cuda.cuh"
#include "tree/octree_cuda.cuh"
#include "tree/search_cuda.cuh"
#include "tree/top_tree.hpp"
#include "tree/traverse_cuda.cuh"

namespace pergola::tree {

/// As DistributedOctree on the CPU: of the tree that one rank would build over all particles each rank has the top, the
/// cells of its domain, and those of other domains that its particles meet. What it has has the same bits as there, and
/// children stand in the same order, so that walks over it sum the same numbers in the same order. Cells are numbered:
/// top, own ones, fetched ones. All ranks make all calls that are not const.
template <class T>
class DistributedOctreeCuda : public OctreeCuda<T> {
 public:
  DistributedOctreeCuda(const Device& device, std::shared_ptr<Communicator> ranks);

  /// From the particles of this rank's domain, and the top of all.
  template <class Real>
  void build(const Points<Real>& here, const TreeSoftening& softening, int order, const Frame& frame, TopTree top);
  /// A kept tree again, for particles that have its keys; then as refresh().
  template <class Real>
  bool make_again(const Points<Real>& here, const KeptTree& kept, const TreeSoftening& softening, int order,
                  TopTree top);
  /// As OctreeCuda::refresh: the same answer on all ranks. What was fetched is forgotten.
  template <class Real>
  bool refresh(const Points<Real>& here, const TreeSoftening& softening, int order);
  /// As OctreeCuda's; once after each build.
  void estimate_accelerations();
  /// Fetches whatever a walk for these cells meets with this opening, but for the last bits of the test.
  void fetch_for_walk(const Opening& opening, const ServedCells& served);
  /// Fetches what loops over the cells have missed. False: no rank misses any.
  bool fetch_missing();
  MissingCells missing() { return {mark_.data(), wanted_.data(), wanted_count_.data()}; }

  /// The cells of this rank's domain and those above them.
  ServedCells own() const { return {own_list_.data(), own_counts_, nullptr}; }
  /// Those with particles that ask, by their places; good until the next time.
  ServedCells asking(const std::uint32_t* numbers, std::int64_t count);
  std::int64_t total() const { return top_.cells.link.empty() ? 0 : top_.cells.link[0].count; }

  /// What refresh() builds on.
  void keep(KeptTree& to);
  /// Where walks count the work of each cell, from a build on.
  std::uint32_t* work() { return work_.data(); }
  /// By own particle: its part of its leaf's work, and what it took itself so many times. In tree/spread_work_cuda.cu.
  void find_weights(std::int64_t times, std::uint32_t* by_number);
  void begin_to_count();
  /// What this rank has done since the build, particles so many times included. Waits.
  std::int64_t counted_work(std::int64_t times);
  /// Memory that is not needed before the next build or refresh goes back to the device.
  void give_back_memory();

  // Steps of these. Public, for nvcc allows no device lambda in a private function.
  void start_level() override;
  void share_top(int order);
  void list_own();
  TreeSpread measure();
  /// Of cells in the top, but for this rank's leaves: none while those below are made; then without the children that
  /// other ranks' leaves have there, while the cells above these are.
  enum class TopLinks { none, to_make_parents, all };
  void set_links_of_top(TopLinks which);
  void fetch_for_estimate();
  template <class Real>
  void make_cells_below(const Points<Real>& here, const SofteningDigit& digit, const Frame& frame, int digit_level,
                        TopTree top);
  template <class Real>
  void make_moments(const Points<Real>& here, const TreeSoftening& softening, bool moved);
  bool still_serves();
  void share_least_of_top();
  /// A cell that is asked for: its children, or the particles of a leaf.
  struct Request {
    std::uint32_t cell, rank, there;  // its number here, whose it is, and its number there
    std::uint32_t children, particles;
  };
  std::vector<Request> wanted();

 private:
  using Base = OctreeCuda<T>;
  using Base::acceleration_, Base::arena_, Base::by_particle_, Base::count_, Base::device_, Base::device_report_,
      Base::digit_level_, Base::fetched_cells_, Base::has_accelerations_, Base::knows_spread_, Base::level_begin_,
      Base::level_count_, Base::link_, Base::parent_, Base::particle_, Base::place_, Base::record_, Base::report_,
      Base::row_, Base::softening_, Base::sort_scratch_, Base::spread_;

  void take_top(TopTree top);
  template <class V>
  void put(const std::vector<V>& values, Buffer<V>& to) {
    Arena(device_).room(to, std::ssize(values), std::ssize(values) / 4);
    if (!values.empty()) device_.memory().from_host(to.data(), values.data(), values.size() * sizeof(V));
  }
  void begin_fetching();
  void send_prefetched();
  TopLeaves top_leaves() const;
  void search(std::int64_t depth, const Opening& opening, const std::uint32_t* served);
  SearchView<T> search_view(const std::uint32_t* served);
  CellMessages<T> cell_messages();
  void make_room(std::int64_t cells, std::int64_t particles);
  std::uint32_t own_end() const { return level_begin_[level_count_]; }
  std::uint32_t top_cells() const { return top_.cells.size(); }

  std::shared_ptr<Communicator> ranks_;
  DeviceMessages messages_;
  int order_ = 0;
  TopTree top_;
  std::vector<std::uint32_t> top_level_begin_, top_level_;  // of its cells: first by level, and the level of each
  std::size_t first_own_leaf_ = 0, own_leaves_ = 0;         // of this rank among the leaves of the top
  std::vector<std::uint8_t> own_top_, foreign_top_;  // by cell of the top: whether it holds own particles, and others
  std::vector<std::uint32_t> own_counts_;            // of own(), by level
  Buffer<CellLink> seeds_, top_link_;                // of the top: as build() begins with them, and as they are
  Buffer<std::uint32_t> top_parent_, leaf_cell_;     // leaf_cell: of the top, in the order of keys
  Buffer<std::uint32_t> top_rows_;                   // what ranks tell each other of the top's leaves
  std::int64_t top_words_ = 0;                       // for each
  Buffer<std::uint32_t> leaf_begin_;                 // of each rank, among the leaves of the top
  Buffer<std::uint8_t> top_kind_, not_own_, foreign_;
  Buffer<std::uint32_t> own_list_, level_of_, level_counts_;  // level_of: of top and own cells
  std::int64_t here_ = 0;                                     // particles, fetched ones included
  Buffer<Origin> origin_;                                     // of the top cells, then of the fetched ones
  Buffer<std::uint32_t> mark_, wanted_, wanted_count_;
  SharedBuffer<Request> requests_;
  SharedBuffer<CellPiece> replies_, answers_;
  SharedBuffer<std::uint32_t> wanted_here_;  // how many
  PrefetchedList prefetched_;
  Buffer<CellPair> stack_, pairs_[2], pending_;
  Buffer<std::uint32_t> pair_counts_;
  // For a part of the particles: places in the tree by number; slots by place; the cells that hold one.
  bool has_place_of_ = false;
  Buffer<std::uint32_t> place_of_, slot_, served_, served_cells_, served_list_, served_counts_;

  Buffer<std::uint32_t> work_;  // by top and own cell
  Buffer<unsigned long long> work_sum_;
};

}  // namespace pergola::tree
