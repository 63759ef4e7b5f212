#pragma once
/// The seam of a plasma's field: a solver makes what particles gather from what they deposit; its entry describes it.
///
/// Use: particles deposit into deposited(), then start(). A step from t to t + dt: particles at x(t) get velocities at
/// t + dt/2 by gathered(), whose fields are all at t, then positions x(t + dt); they deposit their charge there, or the
/// charge that they have moved; advance() makes the fields at t + dt. A solver whose fields follow from the deposits
/// alone has no state. Any other lists its fields in state(): they are saved by name and restored, for any number of
/// ranks, and resume() replaces start(). With ranks each has the layers of its slab (plasma/tiles.hpp), in gathered()
/// also layers around it, or all of the box. start(), resume(), advance(), values(), energy(), save() and restore() are
/// then collective. Always: the same bits from run to run and for any number of threads and ranks; the memory of
/// deposited() and gathered() stays where it is, so that steps can be recorded (device/step_graph.hpp).
#include <memory>
#include <string>
#include <vector>

#include "base/host_device.hpp"
#include "base/state_source.hpp"
#include "comm/communicator.hpp"
#include "device/device.hpp"
#include "plasma/options.hpp"
#include "plasma/tiled_particles.hpp"
#include "plasma/tiles.hpp"

namespace pergola {

/// A field on the grid, as files and pages show it.
enum class PlasmaFieldPart {
  density,
  potential,
  electric_x,
  electric_y,
  electric_z,
  magnetic_x,
  magnetic_y,
  magnetic_z,
  current_x,  // of charge, over the last step
  current_y,
  current_z
};
inline PlasmaFieldPart component_of(PlasmaFieldPart first, int axis) {
  return static_cast<PlasmaFieldPart>(static_cast<int>(first) + axis);
}
inline PlasmaFieldPart electric_part(int axis) { return component_of(PlasmaFieldPart::electric_x, axis); }
inline PlasmaFieldPart magnetic_part(int axis) { return component_of(PlasmaFieldPart::magnetic_x, axis); }
inline PlasmaFieldPart current_part(int axis) { return component_of(PlasmaFieldPart::current_x, axis); }
/// The axis of a component; density and potential have none, −1.
inline int axis_of(PlasmaFieldPart part) {
  const int component = static_cast<int>(part) - static_cast<int>(PlasmaFieldPart::electric_x);
  return component < 0 ? -1 : component % 3;
}

/// A field that a checkpoint keeps, in this rank's layers on the device.
template <class Real>
struct PlasmaStateField {
  std::string name;
  Field<Real> own;
};

template <class Real>
class PERGOLA_API PlasmaField {
 public:
  virtual ~PlasmaField() = default;
  PlasmaField(const PlasmaField&) = delete;
  PlasmaField& operator=(const PlasmaField&) = delete;

  /// The memory that particles deposit into, in this rank's layers: the charge density, and a current if the entry says
  /// so. The solver leaves it as it is.
  virtual DepositedFields<Real> deposited() = 0;
  virtual GatheredFields<Real> gathered() = 0;
  /// The fields at time 0, of particles that have been deposited and have not moved.
  virtual void start() = 0;
  /// The same after restore(): finds what is not in the state.
  virtual void resume() { start(); }
  /// The time before the next advance(): from_time + steps · step, with the step of the calls that follow. Called
  /// before these, as a recording does not know the time.
  virtual void set_time(double /*from_time*/, std::int64_t /*steps*/) {}
  /// The fields a time `step` later, of particles that have moved there. Launches, and does not wait.
  virtual void advance(double step) = 0;

  virtual std::vector<PlasmaStateField<Real>> state() { return {}; }
  /// A field in this rank's layers on the host, x fastest, without padding. Throws Error(input) for one that the solver
  /// does not have. Waits.
  virtual std::vector<double> values(PlasmaFieldPart part);
  /// Energy of the field, in m_e n₀ cell⁵ ω_p² (3D), the unit of PlasmaSums: it loses what the particles gain. Waits.
  virtual double energy() = 0;
  virtual std::int64_t device_bytes() const = 0;

  /// The fields of state(), by the names plasma.field.NAME.
  void save(StateSource& to);
  void restore(StateInput& from);

 protected:
  /// `ranks` null: one process has the whole box.
  PlasmaField(const Device& device, const PlasmaOptions& options, std::shared_ptr<Communicator> ranks);
  /// Some layers of the box, from `data` on, with rows of `pitch` values. No layers if `data` is null.
  template <class T>
  Field<T> layers(T* data, int count, std::int64_t pitch) const {
    if (!data) count = 0;
    const bool planes = options_.dimensions == 3;
    return {data, options_.cells[0], planes ? options_.cells[1] : count, planes ? count : 1, pitch, true};
  }

  Device device_;
  PlasmaOptions options_;
  std::shared_ptr<Communicator> ranks_;
  plasma::TileSlab slab_;
};

/// What a field solver needs of the particles in every step.
enum class PlasmaDeposit { charge, charge_and_current };
/// What particles gather of its fields.
enum class PlasmaGather { electric, electric_and_magnetic };

/// The description of a field solver. To add one: derive from PlasmaField<Real>, write an entry in
/// plasma/NAME_entry.cpp, and add a line to the registry in plasma/field.cpp. A program that links the library calls
/// register_plasma_field().
struct PlasmaFieldEntry {
  std::string name;
  PlasmaDeposit deposits = PlasmaDeposit::charge;
  PlasmaGather gathers = PlasmaGather::electric;
  /// How openPMD files name the solver, and its equation.
  std::string openpmd_name = "other", openpmd_parameters{};
  /// The fields that values() has, in the order of files.
  std::vector<PlasmaFieldPart> (*parts)(const PlasmaOptions& options) = nullptr;
  /// Expected bytes on the device, with numbers of `real_bytes`: of several ranks for the largest slab.
  std::int64_t (*device_bytes)(const Device& device, const PlasmaOptions& options, int real_bytes, int ranks) = nullptr;
  std::unique_ptr<PlasmaField<float>> (*make_single)(const Device& device, const PlasmaOptions& options,
                                                     std::shared_ptr<Communicator> ranks) = nullptr;
  std::unique_ptr<PlasmaField<double>> (*make_double)(const Device& device, const PlasmaOptions& options,
                                                      std::shared_ptr<Communicator> ranks) = nullptr;
};

// Each in plasma/NAME_entry.cpp.
PlasmaFieldEntry electrostatic_entry();
PlasmaFieldEntry electromagnetic_entry();

PERGOLA_API std::vector<std::string> plasma_field_names();
/// The entry of options.field. Throws Error(input) with the nearest valid name.
PERGOLA_API const PlasmaFieldEntry& plasma_field_entry(const PlasmaOptions& options);
/// Adds a field solver. Call it before the first plasma is made, from one thread.
PERGOLA_API void register_plasma_field(PlasmaFieldEntry entry);
/// Whether the values of a field are ½ cell above the grid points along an axis, as GatheredFields says.
PERGOLA_API bool is_displaced(const PlasmaOptions& options, PlasmaFieldPart part, int axis);
/// The fields of options.field, in the order of files.
PERGOLA_API std::vector<PlasmaFieldPart> plasma_field_parts(const PlasmaOptions& options);

/// The solver of options.field. `ranks` null: one process has the whole box.
template <class Real>
std::unique_ptr<PlasmaField<Real>> make_plasma_field(const Device& device, const PlasmaOptions& options,
                                                     std::shared_ptr<Communicator> ranks = nullptr);

}  // namespace pergola
