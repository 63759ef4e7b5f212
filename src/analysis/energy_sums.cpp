#include "analysis/energy_sums.hpp"

namespace pergola {

namespace {

template <class Body>
void add(const Device& device, std::int64_t n, const Body& terms, Terms<Body::count>& total) {
  if (device.is_cuda()) {
    if constexpr (cuda_built) return add_terms_cuda(device, n, terms, total);
  }
  add_chunks(device.threads(), n, terms, total);
}

}  // namespace

void add_terms(const Device& device, std::int64_t n, const ConservedTerms& terms, Terms<8>& total) {
  add(device, n, terms, total);
}
void add_terms(const Device& device, std::int64_t n, const PotentialTerms<float>& terms, Terms<1>& total) {
  add(device, n, terms, total);
}
void add_terms(const Device& device, std::int64_t n, const PotentialTerms<double>& terms, Terms<1>& total) {
  add(device, n, terms, total);
}

}  // namespace pergola
