#pragma once
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <vector>

#include "plasma/particles.hpp"

namespace pergola {

/// The particles with the smallest mixed ids of those that it is shown.
class OpenPmdSample {
 public:
  explicit OpenPmdSample(std::int64_t most) : most_(static_cast<std::size_t>(most)) {}

  void show(const PlasmaParticles& piece) {
    for (std::size_t i = 0; i < piece.id.size(); ++i, ++shown_) {
      const std::uint64_t key = mixed(piece.id[i]);
      if (kept_.size() == most_ && key > kept_.front().key) continue;
      if (kept_.size() == most_) {
        std::pop_heap(kept_.begin(), kept_.end(), has_smaller_key);
        kept_.pop_back();
      }
      Kept one{key, shown_, piece.id[i], {}};
      for (std::size_t k = 0; k < std::size(plasma_coordinates); ++k)
        if (const auto& values = piece.*plasma_coordinates[k]; !values.empty()) one.values[k] = values[i];
      kept_.push_back(one);
      std::push_heap(kept_.begin(), kept_.end(), has_smaller_key);
    }
  }

  /// In the order in which they were shown; `like` has the coordinates that they have.
  PlasmaParticles take(const PlasmaParticles& like) {
    std::sort(kept_.begin(), kept_.end(), [](const Kept& a, const Kept& b) { return a.place < b.place; });
    PlasmaParticles chosen;
    for (const Kept& one : kept_) {
      chosen.id.push_back(one.id);
      for (std::size_t k = 0; k < std::size(plasma_coordinates); ++k)
        if (!(like.*plasma_coordinates[k]).empty()) (chosen.*plasma_coordinates[k]).push_back(one.values[k]);
    }
    return chosen;
  }

 private:
  struct Kept {
    std::uint64_t key = 0;
    std::int64_t place = 0;
    std::uint64_t id = 0;
    std::array<double, std::size(plasma_coordinates)> values{};
  };
  /// Mixes the bits of an id (Steele, Lea & Flood 2014, splitmix64): particles that are neighbours by id are not so
  /// here.
  static std::uint64_t mixed(std::uint64_t id) {
    id += 0x9e3779b97f4a7c15u;
    id = (id ^ (id >> 30)) * 0xbf58476d1ce4e5b9u;
    id = (id ^ (id >> 27)) * 0x94d049bb133111ebu;
    return id ^ (id >> 31);
  }
  static bool has_smaller_key(const Kept& a, const Kept& b) { return a.key < b.key; }

  std::size_t most_;
  std::int64_t shown_ = 0;
  std::vector<Kept> kept_;  // a heap, the largest key first
};

}  // namespace pergola
