#include "analysis/energy_sums.hpp"
#include "device/chunk_sums.cuh"

namespace pergola {

std::vector<Terms<ConservedTerms::count>> chunk_terms_cuda(const Device& device, std::int64_t n,
                                                           const ConservedTerms& terms) {
  return cuda::chunk_sums("sum of conserved quantities", device, n, terms);
}
std::vector<Terms<1>> chunk_terms_cuda(const Device& device, std::int64_t n, const PotentialTerms<float>& terms) {
  return cuda::chunk_sums("sum of potentials", device, n, terms);
}
std::vector<Terms<1>> chunk_terms_cuda(const Device& device, std::int64_t n, const PotentialTerms<double>& terms) {
  return cuda::chunk_sums("sum of potentials", device, n, terms);
}
std::vector<Terms<WaveTerms::count>> chunk_terms_cuda(const Device& device, std::int64_t n, const WaveTerms& terms) {
  return cuda::chunk_sums("sum of waves", device, n, terms);
}

}  // namespace pergola
