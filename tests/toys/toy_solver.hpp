#pragma once
#include "gravity/solver_entry.hpp"

namespace pergola {

/// A spring to the origin, a = −k x: a solver that no other file knows. gravity.toy.strength is k.
SolverEntry toy_solver_entry();

}  // namespace pergola
