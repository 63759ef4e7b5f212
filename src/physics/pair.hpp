#pragma once
#include <type_traits>

#include "base/host_device.hpp"
#include "base/vec.hpp"
#include "physics/number.hpp"
#include "physics/softening.hpp"

namespace pergola::physics {

#include "physics/pair.inl"

/// Calls use(law) with the law of a built-in kernel.
template <class Use>
auto with_pair_law(SofteningKernel kernel, const Use& use) {
  return kernel == SofteningKernel::spline ? use(SplineLaw()) : use(PlummerLaw());
}
/// Members of that law.
inline double support(SofteningKernel kernel) {
  return with_pair_law(kernel, [](auto law) { return law.support; });
}
inline bool has_few_operations(SofteningKernel kernel) {
  return with_pair_law(kernel, [](auto law) { return law.few_operations; });
}

}  // namespace pergola::physics
