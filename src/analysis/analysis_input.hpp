#pragma once
#include <array>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/host_device.hpp"
#include "comm/communicator.hpp"
#include "particles/box.hpp"
#include "particles/particles.hpp"
#include "particles/shown_particles.hpp"
#include "physics/cosmology.hpp"

namespace pergola {

/// The units of a file in words, "kpc", "1e10 Msun", "km/s"; empty where it states none. Comoving lengths are "cMpc/h".
struct AnalysisUnits {
  std::string length, mass, velocity, time;

  /// "1e10 Msun/kpc^3"; empty where a part of it is.
  std::string density() const { return per_length("^3"); }
  std::string surface_density() const { return per_length("^2"); }

 private:
  std::string per_length(const char* power) const {
    if (mass.empty()) return "";
    return length.find('/') == std::string::npos ? mass + "/" + length + power : mass + "/(" + length + ")" + power;
  }
};

/// The universe that a box is a part of.
struct AnalysisUniverse {
  physics::Cosmology cosmology;
  bool knows_waves = false;  // sigma8, n_s and omega_baryon are those of the box
  double scale_factor = 1;
  double length_mpc_h = 1;  // the unit of length in comoving Mpc/h
  double hubble = 1;        // today's H₀ in the file's velocity over its length
};

/// Particles at a moment. In an expanding universe places are comoving and velocities peculiar, a dx/dt.
struct AnalysisSnapshot {
  std::string name;  // of the file, for messages
  double time = 0;
  std::string moment;  // the same with its unit, for legends: "t = 1.24 Gyr", "z = 0.5"
  Box box;
  double gravitational_constant = 1;
  std::optional<double> matter_part;  // density of matter over the critical one, where the file knows a cosmology
  std::optional<AnalysisUniverse> universe;  // where the file knows it, and its unit of length
  AnalysisUnits units;
  Particles particles;
};

/// A species of a plasma: the velocities of its macro-particles along x, y and z.
struct AnalysisSpecies {
  std::string name;
  double mass = 0;  // of a particle, in the unit in which mass times velocity squared is a temperature
  std::array<std::vector<double>, 3> velocity;
  std::vector<double> weight;  // how many particles each stands for
};

/// A plasma at a moment. Units in words, empty where the file states none.
struct AnalysisPlasma {
  std::string name;  // of the file, for messages
  double time = 0;
  std::string moment;  // the same for legends
  std::string time_unit, velocity_unit, temperature_unit;
  std::vector<AnalysisSpecies> species;
};

/// The potential of a plasma in its periodic box at a moment, at the points of a grid, x fastest.
struct AnalysisField {
  std::string name;  // of the file, for messages
  double time = 0;
  std::string moment;  // the same for legends
  std::string time_unit, length_unit, unit;
  int dimensions = 2;
  std::array<int, 3> cells{1, 1, 1};
  std::array<double, 3> spacing{1, 1, 1};
  std::vector<double> values;
};

/// Files that are analysed, each read when it is asked for.
struct AnalysisFiles {
  std::vector<std::string> names;
  std::function<AnalysisSnapshot(std::size_t number)> snapshot;
  std::function<AnalysisPlasma(std::size_t number)> plasma;
  std::function<AnalysisField(std::size_t number)> potential;  // of a plasma
  /// Of a run that goes on: the snapshot without its particles, and these where they live. Null: there is none.
  std::function<AnalysisSnapshot(std::size_t number)> frame{};
  std::function<std::unique_ptr<ShownParticles>(std::size_t number)> shown{};
  /// Several, for an entry that says `by_ranks`: each is given a part of the particles, and all calls are made by all.
  std::shared_ptr<Communicator> ranks = serial_communicator();
};

}  // namespace pergola
