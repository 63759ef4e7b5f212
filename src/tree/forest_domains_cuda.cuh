#pragma once
// CUDA only: which rank owns which roots of a forest, the way of particles there, and the ghosts around them.
#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "comm/communicator.hpp"
#include "device/arena.hpp"
#include "domain/common_value.hpp"
#include "domain/device_routing.hpp"
#include "tree/kept_tree.hpp"
#include "tree/octree_cpu.hpp"
#include "tree/roots_cuda.cuh"

namespace pergola::tree {

/// Ranks have stretches of a forest's plots, in the order of keys, each about as much work, or as many particles where
/// that is not known. The rank of its root owns a particle, and sends it as a ghost to those that have a root around
/// it. All ranks make all calls that are not const together.
template <class Real>
class ForestDomains {
 public:
  /// `messages`: of others too; `scratch`: for cut() and find_ghosts(), which may be others' before and after.
  ForestDomains(const std::shared_ptr<DeviceMessages>& messages, std::shared_ptr<Communicator> ranks,
                LentMemory scratch);

  /// For particles on any ranks, in a periodic box. `work`: what was counted on this rank, by the plots of roots, and
  /// how often a particle took part; of other plots than those of the forest: it is not known.
  struct CountedWork {
    std::vector<std::int64_t> by_root_block;
    std::int64_t times = 1;
  };
  void cut(const Points<Real>& points, const Frame& frame, const Forest& forest, const CountedWork& work = {});
  /// The way to the owners.
  DeviceRouting& way() { return way_; }
  const DeviceRouting& way() const { return way_; }

  /// Of the particles that cut() has given to this rank: which go where as ghosts, by their keys.
  void find_ghosts(const Points<Real>& own, const Frame& frame, const Forest& forest);
  /// Particles of this rank; with ghosts.
  std::int64_t own() const { return own_; }
  std::int64_t count() const { return own_ + ghosts_.arriving(); }
  /// These particles where they are now, and after them their ghosts, with the masses that all had when domains were
  /// cut, if these were equal. They lie here until the next time, or until their memory is taken. `ids`: room for those
  /// of all, if they have any.
  Points<Real> with_ghosts(const Points<Real>& own, bool with_species, std::uint64_t* ids);
  /// Values by own particle, and those of the ghosts after them.
  template <class V>
  void add_ghosts(const V* own, V* all) {
    copy_own(own, all);
    ghosts_.template there<V, 1>({all}, {all + own_});
  }
  template <class V>
  void copy_own(const V* own, V* all) const {
    if (own_ > 0) device_.memory().copy(all, own, static_cast<std::size_t>(own_) * sizeof(V));
  }
  /// That memory, where nobody needs them any more.
  std::byte* memory(std::int64_t bytes) {
    Arena(device_).room(memory_, bytes);
    return memory_.data();
  }
  void give_back_memory() { memory_ = Buffer<std::byte>(); }

  /// Guests of a rank, where each has n particles that are spread evenly.
  std::int64_t ghosts_of(std::int64_t n, const Forest& forest) const;
  /// Of the device's memory, where each rank has n particles, messages apart, and of scratch().
  std::int64_t device_bytes(std::int64_t n, const Forest& forest, bool with_species) const;
  std::int64_t scratch_bytes(std::int64_t n) const;

  // Steps of cut(). Public, for nvcc allows no device lambda in a private function.
  std::vector<std::uint32_t> owners(std::vector<std::int64_t> counts) const;
  struct Cut;
  /// Before they arrive, in the same memory: by own particle.
  struct Own {
    std::uint32_t *place, *ghost_begin;
    std::int64_t bytes;
    Own(std::byte* memory, std::int64_t n) {
      MemoryParts parts(memory);
      place = parts.take<std::uint32_t>(n), ghost_begin = parts.take<std::uint32_t>(n + 1);
      bytes = parts.used();
    }
  };
  void find_visits(const Forest& forest);

 private:
  std::uint32_t sum_before(std::uint32_t* numbers, std::int64_t count);
  /// In memory that serves the next time too.
  template <class V>
  void set(Buffer<V>& to, const std::vector<V>& values) {
    Arena(device_).room(to, std::ssize(values));
    device_.memory().from_host(to.data(), values.data(), values.size() * sizeof(V));
  }
  /// The arrays of arrived particles.
  struct Arrived {
    std::array<Real*, 4> real;  // x, y, z, mass
    std::uint8_t* species;
    std::int64_t bytes;
    Arrived(std::byte* memory, std::int64_t n, bool with_species) {
      MemoryParts parts(memory);
      for (Real*& values : real) values = parts.take<Real>(n);
      species = parts.take<std::uint8_t>(with_species ? n : 0);
      bytes = parts.used();
    }
  };
  Device device_;
  std::shared_ptr<Communicator> ranks_;
  LentMemory scratch_;
  DeviceRouting way_, ghosts_;
  std::int64_t own_ = 0;
  CommonValue<Real> masses_;
  std::optional<Real> equal_mass_;              // of all particles
  Buffer<std::uint32_t> counts_, owner_;        // by plot
  Buffer<std::uint32_t> visit_begin_, visits_;  // by place: where its ranks begin, and these
  Buffer<RootsAlong> along_;
  Buffer<std::byte> scan_work_;
  Buffer<std::byte> memory_;
};

}  // namespace pergola::tree
