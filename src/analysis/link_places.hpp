#pragma once
#include "analysis/friend_cells.hpp"

namespace pergola {

/// As link_friends(), of places that nobody needs any more: those along an axis go once they are sorted. Particles need
/// have nothing but their places.
LinkedCells link_places(const Device& cpu, Particles&& places, const FriendFrame& frame);

}  // namespace pergola
