#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "analysis/analysis.hpp"
#include "analysis/friends.hpp"
#include "analysis/groups.hpp"
#include "device/buffer.hpp"

// Groups found and measured on a GPU. Particles and members stay on the device; the host gets a few numbers per group.
// All results have the bits of the CPU: sums are formed in the order of the loop, and a centre that rounding could
// change is decided on the host. Present if cuda_built is true.
// A group's centre needs the lowest of its members' potentials. Depths are summed by pairs in single precision, then
// the candidates in double precision. Groups that are too large for pairs use the tree.
namespace pergola {

/// Particles on a GPU, in the order of the host.
struct GpuParticles {
  /// Copies the positions. bring_motion() copies masses and velocities.
  GpuParticles(const Device& on, const Particles& particles);
  void bring_motion(const Particles& particles);

  Device device;
  std::int64_t count = 0;
  Buffer<double> x, y, z, mass, vx, vy, vz;
  // Particles by rising id, and the rank of each in that order. Both are empty if ids rise with the places.
  Buffer<std::uint32_t> by_id, rank;
};

/// Members of all groups, one group after the other, as places in the particle arrays; by rising id within a group.
struct GpuGroups {
  Buffer<std::uint32_t> members;
  std::vector<std::int64_t> begin{0};  // of each group, and the end
};

/// Friends of friends in the order of FriendGroups. The frame must have narrow keys (has_narrow_keys).
GpuGroups find_groups_cuda(const GpuParticles& particles, const FriendFrame& frame, std::int64_t least);

/// A range of consecutive groups.
struct GroupRange {
  const std::uint32_t* members = nullptr;  // of all groups
  std::vector<std::int64_t> begin;         // of these, and the end
  std::int64_t count() const { return static_cast<std::int64_t>(begin.size()) - 1; }
  std::int64_t size(std::size_t group) const { return begin[group + 1] - begin[group]; }
};

std::vector<MemberSums> member_sums_cuda(const GpuParticles& particles, const GroupRange& groups);

/// For each group: the place of the first member, and of the member with the lowest potential. `is_sure`: the others
/// are higher by more than rounding, and the group was small enough to be summed.
struct DeepestMember {
  std::uint32_t first = 0, deepest = 0;
  bool is_sure = false;
};
std::vector<DeepestMember> deepest_members_cuda(const GpuParticles& particles, const Box& box,
                                                const GroupRange& groups);

/// The largest distance of a member from the centre of its group.
std::vector<double> reaches_cuda(const GpuParticles& particles, const Box& box, const GroupRange& groups,
                                 const std::vector<Vec3<double>>& centers);

/// A position and a radius around it.
struct GpuSphere {
  Vec3<double> center;
  double radius = 0;
};

/// All particles in coarse cells, to sum the particles in spheres.
class SpheresOnGpu {
 public:
  /// Both must outlive this object. `particles` must have masses and velocities.
  SpheresOnGpu(const GpuParticles& particles, const AnalysisSnapshot& frame, const HaloDensities& limits);
  ~SpheresOnGpu();
  std::vector<SphereSums> sums(const std::vector<GpuSphere>& spheres) const;

 private:
  struct Cells;
  /// Sphere k holds begin[k + 1] − begin[k] particles.
  std::vector<SphereSums> sums_of(const GpuSphere* spheres, const std::vector<std::int64_t>& begin) const;

  const GpuParticles& particles_;
  const AnalysisSnapshot& frame_;
  HaloDensities limits_;
  std::unique_ptr<Cells> cells_;
};

/// Groups of the chosen particles of a snapshot.
class GroupsOnGpu {
 public:
  static bool can_measure(const Device& device, const AnalysisSnapshot& snapshot);
  static bool can_find(const Device& device, std::int64_t particles, const FriendFrame& frame);

  /// Finds the groups. `chosen` must outlive this object.
  GroupsOnGpu(const Device& device, const AnalysisSnapshot& chosen, const FriendFrame& frame, std::int64_t least);
  /// Takes known groups.
  GroupsOnGpu(const Device& device, const AnalysisSnapshot& chosen, std::span<const std::vector<std::size_t>> groups);

  std::int64_t count() const { return static_cast<std::int64_t>(groups_.begin.size()) - 1; }
  std::vector<double> masses() const;
  /// Of the groups first … first + count − 1, as member_properties() and group_properties() return them.
  std::vector<GroupProperties> member_properties(std::int64_t first, std::int64_t count) const;
  std::vector<GroupProperties> properties(const AnalysisSnapshot& all, std::int64_t first, std::int64_t count) const;

 private:
  GroupRange range(std::int64_t first, std::int64_t count) const;
  static void measure_spheres_in(const GpuParticles& particles, const AnalysisSnapshot& all,
                                 const HaloDensities& limits, std::vector<GroupProperties>& groups);

  const AnalysisSnapshot& chosen_;
  GpuParticles particles_;
  GpuGroups groups_;
};

/// The members on the host.
FriendGroups lists_of(const Device& device, const GpuGroups& groups);

}  // namespace pergola
