#pragma once
#include <array>
#include <string>
#include <vector>

#include "app/paper/session.hpp"

namespace pergola::app {

/// Bertinelli section 4. The paper does not give its softening; with this one the closest encounters of our six bodies
/// are resolved by its step of 1e-5.
struct SixBodySetup {
  double softening = 0.1;
  double step = 1e-5;
  double end_time = 50;
  int samples = 10000;
};

/// Relative energy error against time.
struct EnergyCurve {
  std::string name;
  std::vector<double> time, error;
  double seconds = 0;
  double largest() const;
};

/// Positions against time, [body][axis][sample].
using Tracks = std::vector<std::array<std::vector<double>, 3>>;

/// Through the integrator named ("leapfrog" with the set-up's step, or "hermite"), in double precision. `tracks` may be
/// null.
EnergyCurve run_integrator(const Particles& bodies, const SixBodySetup& setup, const std::string& integrator,
                           Tracks* tracks);

/// What might be wrong with an energy curve of a leapfrog program.
struct Suspect {
  std::string name;
  bool float_state = false;        // positions and velocities in float
  bool float_forces = false;       // separations and forces in float
  bool half_step_kinetic = false;  // kinetic energy from the velocities of the half step
  double energy_softening = 0;     // softening of the potential energy; the forces keep theirs
};

/// A plain serial kick-drift-kick loop with the suspect's fault.
EnergyCurve run_suspect(const Particles& bodies, const SixBodySetup& setup, const Suspect& suspect);

/// Writes energy and track CSV files and the plots into the session's folder.
void write_six_body(const PaperSession& session, const std::vector<EnergyCurve>& runs,
                    const std::vector<EnergyCurve>& suspects, const Tracks& tracks);
/// Largest error against the step, for float and double: where rounding takes over from truncation.
void write_step_scan(const PaperSession& session, const std::vector<double>& steps,
                     const std::vector<double>& in_double, const std::vector<double>& in_float);

}  // namespace pergola::app
