#include "analysis/found_groups.hpp"

#include <fmt/core.h>

#include <cmath>
#include <span>

#include "analysis/groups_on_gpu.hpp"
#include "base/error.hpp"

namespace pergola {

double linking_length(const AnalysisSnapshot& snapshot, const AnalysisOptions& options, std::int64_t particles) {
  if (options.linking_length > 0) return options.linking_length;
  if (!snapshot.box.periodic())
    throw Error(ErrorKind::input, fmt::format("{}: is not a periodic box, so its particles have no mean spacing; "
                                              "expected --linking-length above 0",
                                              snapshot.name));
  return options.linking * std::cbrt(snapshot.box.volume() / static_cast<double>(particles));
}

FoundGroups::FoundGroups(const AnalysisSnapshot& chosen, const AnalysisOptions& options, const Device& device)
    : chosen_(chosen), device_(device), length_(linking_length(chosen, options, chosen.particles.size())) {
  if constexpr (cuda_built) {
    const FriendFrame frame = friend_frame(*serial_communicator(), chosen.particles, chosen.box, length_);
    if (GroupsOnGpu::can_find(device, chosen.particles.size(), frame)) {
      on_gpu_ = std::make_unique<GroupsOnGpu>(device, chosen, frame, options.least);
      return;
    }
  }
  friends_ = friends_of_friends(chosen.particles, chosen.box, length_, options.least, device);
}

FoundGroups::~FoundGroups() = default;

std::int64_t FoundGroups::count() const {
  if constexpr (cuda_built) {
    if (on_gpu_) return on_gpu_->count();
  }
  return static_cast<std::int64_t>(friends_.groups.size());
}

std::vector<double> FoundGroups::masses() const {
  if constexpr (cuda_built) {
    if (on_gpu_) return on_gpu_->masses();
  }
  std::vector<double> masses;
  for (const auto& group : friends_.groups) masses.push_back(group_mass(chosen_, group));
  return masses;
}

std::vector<GroupProperties> FoundGroups::properties(const AnalysisSnapshot& all, std::int64_t first,
                                                     std::int64_t count) const {
  if constexpr (cuda_built) {
    if (on_gpu_) return on_gpu_->properties(all, first, count);
  }
  const std::span<const std::vector<std::size_t>> groups(friends_.groups);
  return group_properties(chosen_, all,
                          groups.subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(count)), device_);
}

std::vector<Key<AnalysisOptions>> group_keys() {
  return {real_option<AnalysisOptions>(
              "linking", "linking length in mean spacings of a periodic box", Range::between(1e-6, 10),
              [](auto& options) -> auto& { return options.linking; }),
          real_option<AnalysisOptions>(
              "linking-length", "the same in the unit of the file; 0: from --linking", Range::at_least(0),
              [](auto& options) -> auto& { return options.linking_length; }),
          integer_option<AnalysisOptions>(
              "least", "particles of the smallest group", Range::between(1, 1e12),
              [](auto& options) -> auto& { return options.least; })};
}

}  // namespace pergola
