#include "run/side_by_side.hpp"

#include <algorithm>

namespace pergola {

double seconds_side_by_side(const std::vector<PieceOfStep>& urgent, const std::vector<PieceOfStep>& other) {
  std::vector<PieceOfStep> first = urgent, second = other;  // with what is left of them
  auto a = first.begin(), b = second.begin();
  double passed = 0;
  while (a != first.end() && b != second.end()) {
    const bool both_compute = !a->on_network && !b->on_network, both_send = a->on_network && b->on_network;
    const double next = both_compute ? a->seconds : std::min(a->seconds, b->seconds);
    passed += both_send ? 2 * next : next;
    a->seconds -= next;
    if (!both_compute) b->seconds -= next;
    if (!(a->seconds > 0)) ++a;
    if (!(b->seconds > 0)) ++b;
  }
  for (; a != first.end(); ++a) passed += a->seconds;
  for (; b != second.end(); ++b) passed += b->seconds;
  return passed;
}

}  // namespace pergola
