#include "analysis/energy_sums.hpp"
#include "device/chunk_sums.cuh"

namespace pergola {

void add_terms_cuda(const Device& device, std::int64_t n, const ConservedTerms& terms, Terms<8>& total) {
  cuda::add_chunks("sum of conserved quantities", device, n, terms, total);
}
void add_terms_cuda(const Device& device, std::int64_t n, const PotentialTerms<float>& terms, Terms<1>& total) {
  cuda::add_chunks("sum of potentials", device, n, terms, total);
}
void add_terms_cuda(const Device& device, std::int64_t n, const PotentialTerms<double>& terms, Terms<1>& total) {
  cuda::add_chunks("sum of potentials", device, n, terms, total);
}

}  // namespace pergola
