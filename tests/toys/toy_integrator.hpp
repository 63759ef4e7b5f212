#pragma once
#include "time/integrator_entry.hpp"

namespace pergola {

/// Kick and drift in turn, first order, with the fixed step time.toy_step: an integrator that no other file knows.
IntegratorEntry toy_integrator_entry();

}  // namespace pergola
