#pragma once
#include <cstdint>

#include "device/buffer.hpp"
#include "domain/device_routing.hpp"
#include "tree/kept_tree.hpp"
#include "tree/octree_cpu.hpp"

namespace pergola::tree {

/// Ids that particles bring along to a tree, on GPUs.
struct ReceivedIds {
  bool any = false;               // the same on all ranks, as are_places
  std::uint64_t* room = nullptr;  // for those that arrive, and half as much behind them
  /// Places in the input, in four bytes, stand for ids: by particle that is kept.
  bool are_places = false;
  const std::uint32_t* places = nullptr;

  /// Where these arrive, `count` of them, before they become ids.
  std::uint32_t* places_room(std::int64_t count) const { return reinterpret_cast<std::uint32_t*>(room + count); }
};

/// A kept tree by the particles that arrive: by `way`, and ghosts of those after them.
struct ArrivedTree {
  Buffer<std::uint64_t> upper, lower;
  Buffer<double> acceleration;  // ghosts have none

  /// All ranks make it together. `ghosts`: null: there are none.
  ArrivedTree(const KeptTree& kept, DeviceRouting& way, DeviceRouting* ghosts) {
    const std::int64_t own = way.arriving(), all = own + (ghosts ? ghosts->arriving() : 0);
    const auto bring = [&]<class V>(const Buffer<V>& from, Buffer<V>& to, bool with_ghosts) {
      to = {kept.device, all};
      way.template there<V, 1>({from.data()}, {to.data()});
      if (ghosts && with_ghosts) ghosts->template there<V, 1>({to.data()}, {to.data() + own});
    };
    bring(kept.upper, upper, true);
    if (kept.has_lower) bring(kept.lower, lower, true);
    if (!kept.has_accelerations) return;
    bring(kept.acceleration, acceleration, false);
    if (all > own)
      kept.device.memory().zero(acceleration.data() + own, static_cast<std::size_t>(all - own) * sizeof(double));
  }
};

/// What own particles tell of a tree, by those that are kept. All ranks call it.
inline void bring_home(KeptTree& tree, DeviceRouting& way) {
  const auto bring = [&]<class V>(Buffer<V>& field) {
    Buffer<V> kept(tree.device, way.kept());
    way.template back<V, 1>({field.data()}, {kept.data()});
    field = std::move(kept);
  };
  bring(tree.upper);
  if (tree.has_lower) bring(tree.lower);
  if (tree.has_accelerations) bring(tree.acceleration);
}

/// The kept points with their keys at the build.
template <class Real>
Points<Real> with_keys(Points<Real> points, const KeptTree& kept) {
  points.upper = kept.upper.data(), points.lower = kept.has_lower ? kept.lower.data() : nullptr;
  return points;
}
template <class Real>
Points<Real> with_keys(Points<Real> points, const ArrivedTree& arrived) {
  points.upper = arrived.upper.data(), points.lower = arrived.lower.data();
  return points;
}

}  // namespace pergola::tree
