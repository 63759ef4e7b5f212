#pragma once
#include <cstdint>

namespace pergola {

/// Forces in the cells of some rows of a plane, as a solver hands them out and the exchange with particles takes them:
/// value x of row k along an axis at along[axis][k * pitch + x].
template <class Real>
struct ForceRows {
  int plane = 0, first = 0, count = 0;
  const Real* along[3] = {};
  std::int64_t pitch = 0;
};

}  // namespace pergola
