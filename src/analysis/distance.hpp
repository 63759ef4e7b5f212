#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "comm/communicator.hpp"

namespace pergola {

/// By what particles are sorted that are seen from a centre: those at one distance by their ids, so that the order of
/// the file does not matter.
struct Distance {
  double radius = 0;
  std::uint64_t id = 0;
  bool operator<(const Distance& other) const { return radius != other.radius ? radius < other.radius : id < other.id; }
};

/// How many of its own particles, `count` that stand in the order of their distances, distance(k), a rank gives to each
/// rank, so that every rank has the next ones by distance, the nearest rank 0, and about as many as any other: cut
/// where samples of all ranks say so. All ranks call it.
std::vector<std::size_t> counts_by_distance(Communicator& ranks, std::size_t count,
                                            const std::function<Distance(std::size_t)>& distance);

}  // namespace pergola
