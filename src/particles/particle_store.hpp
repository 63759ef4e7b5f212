#pragma once
// Particles on the device of a run, as a list of named fields.
//
// `FieldList` knows all fields: it takes their memory, saves and restores them in the order of the input, and says
// which travel with a particle to another rank. `ParticleStore` adds ids, species, masses, positions and velocities,
// and takes them from a source: made on the device if the source can do that, else read in pieces and copied.
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/state_source.hpp"
#include "base/vec.hpp"
#include "device/buffer.hpp"
#include "device/device.hpp"
#include "particles/particle_source.hpp"
#include "particles/shown_particles.hpp"
#include "particles/shown_state.hpp"

namespace pergola {

class FieldList;

/// Whether a checkpoint holds a field, or it can be computed from the others.
enum class FieldUse { saved, derived };

/// A value of a plain type per particle on a device, known by a name. It belongs to the list that it was made with.
class PERGOLA_API AnyField {
 public:
  AnyField(FieldList& list, std::string name, std::size_t value_bytes, FieldUse use);
  AnyField(const AnyField&) = delete;
  AnyField& operator=(const AnyField&) = delete;

  const std::string& name() const { return name_; }
  std::size_t value_bytes() const { return value_bytes_; }
  FieldUse use() const { return use_; }
  /// An unused field takes no memory.
  void set_used(bool used) { used_ = used; }
  bool used() const { return used_; }
  bool is_saved() const { return used_ && use_ == FieldUse::saved; }
  /// The number of values that fit into its memory.
  std::int64_t room() const { return memory_.size() / static_cast<std::int64_t>(value_bytes_); }
  std::byte* bytes() { return memory_.data(); }
  const std::byte* bytes() const { return memory_.data(); }
  void zero() { memory_.zero(); }
  /// Exchanges the values of two fields of one type.
  void swap(AnyField& other) { memory_.swap(other.memory_); }
  /// Continues with a copy; returns the original memory.
  Buffer<std::byte> leave(const Device& device);

 private:
  friend class FieldList;
  std::string name_;
  std::size_t value_bytes_;
  FieldUse use_;
  bool used_ = true;
  Buffer<std::byte> memory_;
};

/// The fields of a store: made, saved and restored together.
class PERGOLA_API FieldList {
 public:
  explicit FieldList(const Device& device) : device_(device) {}
  FieldList(const FieldList&) = delete;
  FieldList& operator=(const FieldList&) = delete;

  const Device& device() const { return device_; }
  std::int64_t count() const { return count_; }
  /// Memory for `count` particles, all values zero, in the order of the input.
  void resize(std::int64_t count);
  std::int64_t bytes_per_particle() const;
  /// A field that comes or goes while there are particles: with new memory, which is not cleared, or without any.
  void use(AnyField& field, bool used);

  /// The saved fields as ranges by their names, in the order of the input, and "count". Good until the store changes.
  void save(StateSource& to) const;
  /// Takes up what save() gave, piece by piece; of several ranks each its share (comm/shares.hpp). Throws Error(input)
  /// where a field is missing or of another length.
  void restore(StateInput& from, int rank = 0, int ranks = 1);

  /// Where the particle at each place in memory stood in the input; empty: all in that order.
  const Buffer<std::uint32_t>& given_places() const { return given_place_; }
  /// The inverse: where each particle of the input stands in memory.
  Buffer<std::uint32_t> memory_places() const;
  /// From now on memory has an order of its own, which is still that of the input.
  void keep_order();

  /// The fields that go along where a particle changes ranks: all that are used, but ids, which stay in the order of
  /// the input.
  std::vector<AnyField*> travelling() const;
  /// From the next resize() on these fields have memory for one particle in `travelling_spare` more.
  void keep_spare() { keeps_spare_ = true; }
  static constexpr std::int64_t travelling_spare = 32;
  /// From now on the store has `count` other particles. `rooms` is the new memory of the travelling fields, in their
  /// order. A field whose entry is empty keeps its memory.
  void change(std::int64_t count, std::vector<Buffer<std::byte>> rooms);

 protected:
  Buffer<std::uint32_t> given_place_;

 private:
  friend class AnyField;
  std::int64_t room_for(const AnyField& field, std::int64_t count) const;

  Device device_;
  std::int64_t count_ = 0;
  bool keeps_spare_ = false;
  std::vector<AnyField*> fields_;
};

template <class T>
class ParticleField final : public AnyField {
 public:
  ParticleField(FieldList& list, std::string name, FieldUse use = FieldUse::saved)
      : AnyField(list, std::move(name), sizeof(T), use), device_(list.device()) {}
  T* data() { return reinterpret_cast<T*>(bytes()); }
  const T* data() const { return reinterpret_cast<const T*>(bytes()); }

  /// One value, wherever it lives; waits.
  T fetch(std::int64_t place) const {
    T value;
    device_.memory().to_host(&value, data() + place, sizeof(T));
    return value;
  }
  /// n values to or from the host; wait.
  void to_host(std::int64_t first, std::int64_t n, T* to) const {
    if (n > 0) device_.memory().to_host(to, data() + first, static_cast<std::size_t>(n) * sizeof(T));
  }
  void from_host(std::int64_t first, std::int64_t n, const T* from) {
    if (n > 0) device_.memory().from_host(data() + first, from, static_cast<std::size_t>(n) * sizeof(T));
  }

 private:
  Device device_;
};

/// One three-vector per particle, as three fields: NAME.x, NAME.y, NAME.z.
template <class Real>
struct VectorField {
  ParticleField<Real> x, y, z;

  VectorField(FieldList& list, const std::string& name, FieldUse use = FieldUse::saved)
      : x(list, name + ".x", use), y(list, name + ".y", use), z(list, name + ".z", use) {}
  void set_used(bool used) { x.set_used(used), y.set_used(used), z.set_used(used); }
  void use(FieldList& list, bool used) { list.use(x, used), list.use(y, used), list.use(z, used); }

  /// Element access, for fields that live on the CPU.
  Vec3<double> at(std::int64_t i) const {
    return {static_cast<double>(x.data()[i]), static_cast<double>(y.data()[i]), static_cast<double>(z.data()[i])};
  }
  void set(std::int64_t i, const Vec3<double>& v) {
    x.data()[i] = static_cast<Real>(v.x), y.data()[i] = static_cast<Real>(v.y), z.data()[i] = static_cast<Real>(v.z);
  }
  /// One vector, wherever it lives; waits.
  Vec3<double> fetch(std::int64_t i) const {
    return {static_cast<double>(x.fetch(i)), static_cast<double>(y.fetch(i)), static_cast<double>(z.fetch(i))};
  }
};

/// The particles of a run on their device, in the precision of the run.
///
/// An integrator derives its state from this and adds fields. Save, restore, reorder, travel between ranks and views
/// are written once, here, for all fields of the list. Memory may have an order of its own (`given_places`); ids, saved
/// states and views always have the order of the input.
template <class Real>
class PERGOLA_API ParticleStore : public FieldList {
 public:
  ParticleField<std::uint64_t> id{*this, "id"};  // in the order of the input, wherever the particles lie
  ParticleField<std::uint8_t> species{*this, "species"};
  ParticleField<Real> mass{*this, "mass"};
  VectorField<Real> x{*this, "position"}, v{*this, "velocity"};

  using FieldList::FieldList;

  /// Takes ids, species, masses, positions and velocities, piece by piece; all other fields are zero.
  void take(ParticleSource& particles);
  /// The particles as `rule` brings them to a time; particles/shown_state.hpp. Good until the store changes.
  template <class Rule>
  std::unique_ptr<ShownParticles> show(const Rule& rule) const {
    const StateArrays<Real> arrays{x.x.data(), x.y.data(),  x.z.data(),     v.x.data(), v.y.data(),
                                   v.z.data(), mass.data(), species.data(), id.data(),  nullptr};
    return std::make_unique<ShownState<Real, Rule>>(device(), count(), arrays, rule, memory_places());
  }
  /// The particle at order[k] comes to place k. Of the fields that an integrator added nothing is left: it is done
  /// before they are found anew. `spare` is one of them and lends its memory, `work` has a byte per particle.
  void reorder(const std::uint32_t* order, ParticleField<Real>& spare, std::byte* work);
  /// The arrays as they are; good until the store changes.
  BorrowedParticles lend(double time);
  /// Continues with copies of the borrowed arrays. Returns the originals, which a reader still uses.
  std::shared_ptr<void> leave_borrowed();
  /// The id of the particle at a place in memory.
  std::uint64_t id_at(std::int64_t place) const;
};

}  // namespace pergola
