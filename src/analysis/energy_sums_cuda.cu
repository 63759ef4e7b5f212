#include "analysis/energy_sums.hpp"
#include "device/exact_terms.cuh"

namespace pergola {

void add_terms_cuda(const Device& device, std::int64_t n, const ConservedTerms& terms,
                    ExactTerms<ConservedTerms::count>& total) {
  cuda::add_exactly("sum of conserved quantities", device, n, terms, total);
}
void add_terms_cuda(const Device& device, std::int64_t n, const PotentialTerms<float>& terms, ExactTerms<1>& total) {
  cuda::add_exactly("sum of potentials", device, n, terms, total);
}
void add_terms_cuda(const Device& device, std::int64_t n, const PotentialTerms<double>& terms, ExactTerms<1>& total) {
  cuda::add_exactly("sum of potentials", device, n, terms, total);
}
void add_terms_cuda(const Device& device, std::int64_t n, const WaveTerms& terms, ExactTerms<WaveTerms::count>& total) {
  cuda::add_exactly("sum of waves", device, n, terms, total);
}

}  // namespace pergola
