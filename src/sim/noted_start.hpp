#pragma once
#include <string>

#include "base/profile.hpp"
#include "base/state_source.hpp"
#include "particles/particle_source.hpp"
#include "time/integrator.hpp"

namespace pergola {

/// Starts the integrator with these particles, at its own time; whether they were made on its device
/// (DeviceSource), else they have been read. The making is the stage "initial conditions" of `profile`.
bool start_noted(Integrator& integrator, ParticleSource& particles, double at, Profile* profile);

/// The name of the device that they were made on, in a state; empty: none.
void put_made_on(StateSource& to, const std::string& device);
std::string get_made_on(StateInput& state);

}  // namespace pergola
