#pragma once
#include <cstdint>
#include <type_traits>
#include <utility>
#include <vector>

#include "domain/routing.hpp"
#include "particles/particles.hpp"

namespace pergola {

/// Of particles by their places: lists[r] go to rank r. All ranks call it.
inline Routing route_lists(Communicator& ranks, int threads, const std::vector<std::vector<std::uint32_t>>& lists) {
  std::vector<std::uint32_t> order;
  std::vector<std::int64_t> sent;
  for (const auto& list : lists) {
    order.insert(order.end(), list.begin(), list.end());
    sent.push_back(static_cast<std::int64_t>(list.size()));
  }
  return Routing(ranks, threads, std::move(order), std::move(sent));
}

/// The arriving particles, without their potentials; those that are moved here lose each array when it has gone. All
/// ranks call it.
template <class Kept>
Particles route_particles(const Routing& routing, Kept&& kept) {
  const auto there = [&](auto& values) {
    auto arrived = routing.there(values.data());
    if constexpr (!std::is_lvalue_reference_v<Kept>) std::remove_reference_t<decltype(values)>().swap(values);
    return arrived;
  };
  return {there(kept.id), there(kept.species), there(kept.mass), there(kept.x),  there(kept.y),
          there(kept.z),  there(kept.vx),      there(kept.vy),   there(kept.vz), {}};
}

}  // namespace pergola
