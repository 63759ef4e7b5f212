#pragma once
#include <string>

#include "particles/particles.hpp"

namespace pergola::g6 {

/// GRAPE-6 had this many pipelines. It is the default: kira takes a device with more for one whose neighbour lists hold
/// the particle itself, FDPS-style clients have arrays of 128, phiGRAPE takes any number.
inline constexpr int grape6_pipes = 48;

/// What the environment asks for.
struct Settings {
  std::string device = "auto";             // PERGOLA_DEVICE: auto | cpu | cuda | cuda:K
  int threads = 0;                         // PERGOLA_THREADS; 0: all cores
  int pipes = grape6_pipes;                // PERGOLA_G6_PIPES
  Precision precision = Precision::mixed;  // PERGOLA_G6_PRECISION: mixed | double
  bool self_neighbour = false;             // PERGOLA_G6_SELF_NEIGHBOUR: 0 | 1; unset: 1 with more than 48 pipes
};

/// What happens where a cluster cannot be opened. PERGOLA_G6_FAILURE: exit | nan.
enum class OnFailure {
  exit,  // one sentence, and the program ends, as with the hardware's driver: many clients do not look at what
         // g6_open returns, and go on without forces
  nan    // calls return not 0, and forces are NaN
};

/// A word that is neither counts as exit; settings_from_environment() refuses it.
OnFailure on_failure();

/// Throws Error(input) that names the variable, what was expected and what was found.
Settings settings_from_environment();

}  // namespace pergola::g6
