#pragma once
#include <cstddef>
#include <string>

#include "base/host_device.hpp"

namespace pergola {

/// Bytes on GPUs that this process has been given through its devices and has not given back: what a GPU has free
/// depends on other processes too.
std::size_t cuda_held_bytes();
inline std::size_t gpu_held_bytes() {
  if constexpr (cuda_built) return cuda_held_bytes();
  return 0;
}
/// The most of them that it has had at a time.
std::size_t cuda_most_held_bytes();
inline std::size_t gpu_most_held_bytes() {
  if constexpr (cuda_built) return cuda_most_held_bytes();
  return 0;
}
/// The stage of a step in which it had them first (device/stage_clock.hpp); empty: in none.
std::string cuda_most_held_in();
inline std::string gpu_most_held_in() {
  if constexpr (cuda_built) return cuda_most_held_in();
  return {};
}
/// Stages of steps on GPUs tell when they begin; null: none runs. The name is kept.
void note_cuda_stage(const char* name);

}  // namespace pergola
