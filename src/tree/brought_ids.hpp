#pragma once
#include <cstdint>

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

}  // namespace pergola::tree
