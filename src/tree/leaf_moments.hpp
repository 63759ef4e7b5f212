#pragma once
#include <cstdint>

namespace pergola::tree {

/// Particles of a leaf as they are stored: from its centre, in the number type of interactions.
template <class T>
struct LeafParticles {
  const T *x = nullptr, *y = nullptr, *z = nullptr, *mass = nullptr;
  std::uint32_t count = 0;
};

/// The multipoles of a leaf with that scale, in the bits of the upward pass.
template <class T>
void leaf_multipoles(int order, const LeafParticles<T>& particles, T scale, T* to);

}  // namespace pergola::tree
