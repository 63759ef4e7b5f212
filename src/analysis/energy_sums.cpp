#include "analysis/energy_sums.hpp"

namespace pergola {

namespace {

template <class Body>
std::vector<Terms<Body::count>> sums(const Device& device, std::int64_t n, const Body& terms) {
  if (device.is_cuda()) {
    if constexpr (cuda_built) return chunk_terms_cuda(device, n, terms);
  }
  return chunk_sums(device.threads(), n, terms);
}

}  // namespace

std::vector<Terms<8>> chunk_terms(const Device& device, std::int64_t n, const ConservedTerms& terms) {
  return sums(device, n, terms);
}
std::vector<Terms<1>> chunk_terms(const Device& device, std::int64_t n, const PotentialTerms<float>& terms) {
  return sums(device, n, terms);
}
std::vector<Terms<1>> chunk_terms(const Device& device, std::int64_t n, const PotentialTerms<double>& terms) {
  return sums(device, n, terms);
}
std::vector<Terms<WaveTerms::count>> chunk_terms(const Device& device, std::int64_t n, const WaveTerms& terms) {
  return sums(device, n, terms);
}

}  // namespace pergola
