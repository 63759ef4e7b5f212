#pragma once
// CUDA only: which rank works on which branches of an octree in open space, and the traffic between the ranks that keep
// particles and those that work on them.
#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "base/exact_sum.hpp"
#include "comm/communicator.hpp"
#include "device/arena.hpp"
#include "device/buffer.hpp"
#include "domain/device_routing.hpp"
#include "domain/device_workers.hpp"
#include "tree/brought_fields.hpp"
#include "tree/keys.hpp"
#include "tree/octree_cpu.hpp"
#include "tree/spread_bounds_cuda.cuh"
#include "tree/top_tree.hpp"

namespace pergola::tree {

/// Small things that the host asks the device for, and its answers, in memory that both reach.
struct KeyQuestions {
  SharedBuffer<KeyRanges::Range> range;
  SharedBuffer<KeyRanges::Ends> ends;
  SharedBuffer<int> shift;
  SharedBuffer<KeyRanges::Bounds> bounds;
  SharedBuffer<std::int64_t> weights;  // before each of the bounds
};

/// The sum of n equal masses with the bits that OctreeCuda finds.
double sum_of_equal_cuda(double mass, std::int64_t n);

/// Of weights by which domains are cut: 2^32 of them are at most greatest_weight.
inline constexpr std::int64_t heaviest_particle = greatest_weight >> 32;

/// A particle goes to the rank that has its leaf of the top (tree/top_tree.hpp). All ranks make all calls that are not
/// const together.
template <class Real>
class TreeDomains {
 public:
  /// `messages`: of others too.
  TreeDomains(const std::shared_ptr<DeviceMessages>& messages, std::shared_ptr<Communicator> ranks);

  /// For particles that ranks keep, `total` of them on all, at least one: finds the frame of all, and the top. Throws
  /// Error(numerics) on all ranks when a position is not finite. `work` is free again afterwards. `again`: the tree is
  /// made again, in its frame, of the keys that particles have.
  TopTree cut(const Points<Real>& kept, const TreeSoftening& softening, std::int64_t total, const LentMemory& work,
              const KeptTree* again = nullptr);
  /// Weights of own particles for the next cut, which then shares out their sum; else ranks get as many of them. They
  /// lie where particles are received: the cut comes before these.
  std::uint32_t* own_weights();
  void give_back_weights();

  const Frame& frame() const { return frame_; }
  std::int64_t kept() const { return kept_; }
  /// Particles that this rank works on.
  std::int64_t own() const { return own_.arriving(); }
  /// Brings particles but for their masses. They lie here until the next time.
  Points<Real> bring(const Points<Real>& kept, bool with_species, const ReceivedIds& ids);
  /// Their masses: those that they had when domains were cut, if these were equal.
  void bring_masses(const Real* kept, Real* own);
  /// Room for so many arrays of `count` numbers, where particles were received.
  template <std::size_t fields>
  std::array<Real*, fields> answer_room(std::size_t wanted, std::int64_t count) {
    const std::int64_t apart = aligned(count);
    Arena(device_).room(arrived_, static_cast<std::int64_t>(wanted) * apart);
    std::array<Real*, fields> room{};
    for (std::size_t f = 0; f < wanted; ++f) room[f] = arrived_.data() + static_cast<std::int64_t>(f) * apart;
    return room;
  }
  /// Numbers that kept particles have among all, by own particle, on the host.
  std::vector<std::uint32_t> bring_places(std::int64_t first);
  /// Answers of own particles to their keepers.
  template <std::size_t fields>
  void give_back(const std::array<const Real*, fields>& own, const std::array<Real*, fields>& kept) {
    own_.template back<Real, fields>(own, kept);
  }
  /// By kept particle: the rank that works on it, and its number there. The tree has its own copies of what was
  /// received.
  WorkersOf workers();

  /// The way to own particles. They may be kept where they are worked on, and elsewhere again
  /// (gravity/source_moves.hpp): own particles are then numbered as they stand here.
  DeviceRouting& way() { return own_; }
  const DeviceRouting& way() const { return own_; }
  void keep_here();
  void keep_elsewhere(const DeviceRouting& home, const std::uint32_t* places);
  /// Memory that is not needed before particles are received again goes back to the device.
  void give_back_memory() { arrived_ = Buffer<Real>(), has_weights_ = false; }

  /// Of the device's memory, where n particles are kept on each rank, messages apart; besides, where workers() are
  /// asked for.
  std::int64_t device_bytes(std::int64_t n, bool with_species) const;
  std::int64_t workers_bytes(std::int64_t n) const { return workers_.kept_bytes(n); }

  // Steps of cut(). Public, for nvcc allows no device lambda in a private function.
  std::vector<std::uint64_t> find_cuts(const Points<Real>& kept, const SofteningDigit& digit, std::int64_t total,
                                       const LentMemory& work, TopTree& top);
  void plan(const Points<Real>& kept, const SofteningDigit& digit, const std::vector<std::uint64_t>& cuts,
            const LentMemory& work);

 private:
  /// Numbers from one array to the next: each begins at a multiple of 256 bytes.
  static std::int64_t aligned(std::int64_t count) { return (count + 63) / 64 * 64; }
  template <class Self>
  static void room_for_arrived(Self& self, Arena& arena, std::int64_t n, bool with_species);

  Device device_;
  std::shared_ptr<Communicator> ranks_;
  DeviceRouting own_;
  Frame frame_;
  std::int64_t kept_ = 0;
  Workers workers_;
  std::optional<double> equal_mass_;  // of all particles
  int finest_shift_ = 0;              // of the last top
  bool has_weights_ = false;
  std::uint32_t *own_weight_ = nullptr, *weight_[2] = {};  // by own and by kept particle, and room to sort these
  KeyQuestions questions_;
  DistributedBounds<Real> bounds_;
  Buffer<std::uint64_t> cuts_;
  Buffer<Real> arrived_;  // x, y, z; weights before that, answers after it
  Buffer<std::uint8_t> species_;
};

}  // namespace pergola::tree
