#pragma once
#include <string>
#include <vector>

#include "base/host_device.hpp"
#include "base/range.hpp"
#include "base/units.hpp"
#include "physics/external.hpp"

namespace pergola {

/// A static potential about a fixed centre that is added to the forces of any solver: a halo, a bulge, a disc. Which of
/// the numbers its kind has is said by external_kinds(); the others stay zero. In the units of the run.
struct ExternalPotential {
  physics::ExternalKind kind = physics::ExternalKind::point;
  double mass = 0, speed = 0, radius = 0, height = 0, softening = 0;
  Vec3<double> centre{0, 0, 0};
  double density = 0, omega_lambda = 0, hubble = 0;  // of what fills all space
};

struct ExternalParameter {
  using Member = double ExternalPotential::*;
  std::string name;
  Member member;
  Range range;
  bool required;  // else zero when it is not given
  Dimension dimension{};
};

/// A kind by the name that the configuration uses.
struct ExternalKindInfo {
  std::string name;
  physics::ExternalKind kind;
  std::string summary;
  std::vector<ExternalParameter> parameters;
  bool ends = true;  // its potential goes to 0 far away
};
PERGOLA_API const std::vector<ExternalKindInfo>& external_kinds();
PERGOLA_API const ExternalKindInfo& external_kind(physics::ExternalKind kind);

/// The formula's numbers, with the gravitational constant put in.
PERGOLA_API physics::ExternalLaw<double> external_law(const ExternalPotential& potential,
                                                      double gravitational_constant);

/// Acceleration and potential of all of them together at one place. The same order of the sum everywhere.
PERGOLA_API physics::ExternalField<double> external_field_at(const std::vector<ExternalPotential>& potentials,
                                                             double gravitational_constant, const Vec3<double>& x);

}  // namespace pergola
