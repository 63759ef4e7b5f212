#pragma once
#include <vector>

#include "base/host_device.hpp"

namespace pergola {

/// A piece of what a rank does in a step: it computes, or has messages on their way.
struct PieceOfStep {
  bool on_network = false;
  double seconds = 0;  // where nothing else is done
};

/// Seconds of two rows of pieces, each done one after the other, that one device with one network does beside each
/// other: while both compute the urgent one goes on and the other waits, while both have messages on their way each
/// goes at half its speed.
PERGOLA_API double seconds_side_by_side(const std::vector<PieceOfStep>& urgent, const std::vector<PieceOfStep>& other);

}  // namespace pergola
