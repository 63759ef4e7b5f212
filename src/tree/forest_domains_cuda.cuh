#pragma once
// CUDA only: which rank works on which roots of a forest, and the traffic between the ranks that keep particles and
// those that work on them.
#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "comm/communicator.hpp"
#include "device/arena.hpp"
#include "domain/common_value.hpp"
#include "domain/device_routing.hpp"
#include "domain/device_workers.hpp"
#include "tree/brought_fields.hpp"
#include "tree/octree_cpu.hpp"
#include "tree/roots_cuda.cuh"

namespace pergola::tree {

/// Ranks have stretches of a forest's plots, in the order of keys, each about as much work, or as many particles where
/// that is not known. A particle goes to the
/// rank that has its root, and from there as a ghost to those that have a root around it. All ranks make all calls that
/// are not const together.
template <class Real>
class ForestDomains {
 public:
  /// `messages`: of others too; `scratch`: for cut() and workers(), which may be others' before and after.
  ForestDomains(const std::shared_ptr<DeviceMessages>& messages, std::shared_ptr<Communicator> ranks,
                LentMemory scratch);

  /// For particles that ranks keep, in a periodic box. `work`: what was counted on this rank, by the plots of roots,
  /// and how often a particle took part; of other plots than those of the forest: it is not known.
  struct CountedWork {
    std::vector<std::int64_t> by_root_block;
    std::int64_t times = 1;
  };
  void cut(const Points<Real>& kept, const Frame& frame, const Forest& forest, const CountedWork& work = {});

  std::int64_t kept() const { return kept_; }
  /// Particles that this rank works on; with ghosts.
  std::int64_t own() const { return own_.arriving(); }
  std::int64_t count() const { return own_.arriving() + ghosts_.arriving(); }
  /// Brings particles, own ones first, with the masses that they had when domains were cut, if these were equal. They
  /// lie here until the next time, or until their memory is taken.
  Points<Real> bring(const Points<Real>& kept, bool with_species, const ReceivedIds& ids);
  /// A kept tree by the same particles.
  ArrivedTree bring(const KeptTree& kept) { return {kept, own_, &ghosts_}; }
  /// That memory, where nobody needs them any more: of at least so many bytes, or as arrays for a value of each.
  std::byte* memory(std::int64_t bytes) {
    Arena(device_).room(memory_, bytes);
    return memory_.data();
  }
  void give_back_memory() { memory_ = Buffer<std::byte>(); }
  std::array<Real*, 4> arrays() { return Arrived(memory(Arrived(nullptr, count(), false).bytes), count(), false).real; }
  /// Numbers that kept particles have among all, by own particle, on the host.
  std::vector<std::uint32_t> bring_places(std::int64_t first);
  /// By kept particle: the rank that works on it, and its number there.
  WorkersOf workers() {
    const std::int64_t bytes = own() * std::int64_t{2 * sizeof(std::uint32_t)};
    return workers_.of(own_, reinterpret_cast<std::uint32_t*>(scratch_(bytes)));
  }

  /// The way to own particles, on which ghosts take no part. They may be kept where they are worked on, number k at
  /// places[k], which is its number from then on, and elsewhere again (gravity/source_moves.hpp).
  DeviceRouting& way() { return own_; }
  const DeviceRouting& way() const { return own_; }
  void keep_here(const std::uint32_t* places);
  void keep_elsewhere(const DeviceRouting& home, const std::uint32_t* places);

  /// Guests of a rank, where each keeps n particles that are spread evenly.
  std::int64_t ghosts_of(std::int64_t n, const Forest& forest) const;
  /// Of the device's memory, where n particles are kept on each rank, messages apart, and of scratch(); besides, where
  /// workers() are asked for.
  std::int64_t workers_bytes(std::int64_t n) const { return workers_.kept_bytes(n); }
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
  void plan_own(const Cut& cut, std::int64_t kept, const Forest& forest);
  void plan_ghosts(const std::uint32_t* place_of, const Forest& forest);
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
  DeviceRouting own_, ghosts_;
  std::int64_t kept_ = 0;
  CommonValue<Real> masses_;
  std::optional<Real> equal_mass_;  // of all particles
  Workers workers_;
  Buffer<std::uint32_t> counts_, owner_;        // by plot
  Buffer<std::uint32_t> visit_begin_, visits_;  // by place: where its ranks begin, and these
  Buffer<RootsAlong> along_;
  Buffer<std::byte> scan_work_;
  Buffer<std::byte> memory_;
};

}  // namespace pergola::tree
