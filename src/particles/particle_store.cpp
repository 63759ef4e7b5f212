#include "particles/particle_store.hpp"
#include "comm/shares.hpp"
#include "device/parallel.hpp"
#include "device/sort.hpp"
#include "particles/particle_source.hpp"

#include <algorithm>
#include <numeric>

namespace pergola {

namespace {

/// Bytes and particles that are on the host at a time.
constexpr std::int64_t piece_bytes = std::int64_t{1} << 26;
constexpr std::int64_t piece_particles = std::int64_t{1} << 22;
constexpr std::int64_t convert_chunk = 65536;
constexpr const char* id_name = "id";

/// A field's values first … first + n − 1 in the order of the input.
void copy_out(const Device& device, const AnyField& field, const std::uint32_t* places, std::int64_t first,
              std::int64_t n, void* to) {
  const std::size_t bytes = static_cast<std::size_t>(n) * field.value_bytes();
  if (n == 0) return;
  if (!places)
    return device.memory().to_host(to, field.bytes() + static_cast<std::size_t>(first) * field.value_bytes(), bytes);
  Buffer<std::byte> gathered(device, static_cast<std::int64_t>(bytes));
  permute_bytes(device, n, places + first, field.bytes(), gathered.data(), static_cast<int>(field.value_bytes()));
  gathered.to_host(static_cast<std::byte*>(to));
}

/// Throws Error(input) when the block of a field is missing or of another length.
void expect(const StateInput& from, const AnyField& field, std::int64_t count) {
  const std::uint64_t expected = static_cast<std::uint64_t>(count) * field.value_bytes(),
                      found = from.has(field.name()) ? from.bytes(field.name()) : 0;
  if (!from.has(field.name())) throw Error(ErrorKind::input, "checkpoint: block " + field.name() + " is missing");
  if (found != expected)
    throw Error(ErrorKind::input, "checkpoint: block " + field.name() + " has " + std::to_string(found) +
                                      " bytes, expected " + std::to_string(expected));
}

}  // namespace

AnyField::AnyField(FieldList& list, std::string name, std::size_t value_bytes, FieldUse use)
    : name_(std::move(name)), value_bytes_(value_bytes), use_(use) {
  list.fields_.push_back(this);
}

Buffer<std::byte> AnyField::leave(const Device& device) {
  Buffer<std::byte> copy(device, memory_.size());
  if (copy.size() > 0) device.memory().copy(copy.data(), memory_.data(), copy.bytes());
  device.synchronize();
  memory_.swap(copy);
  return copy;
}

/// In bytes.
std::int64_t FieldList::room_for(const AnyField& field, std::int64_t count) const {
  const std::int64_t spare = keeps_spare_ && field.name() != id_name ? count / travelling_spare : 0;
  return (count + spare) * static_cast<std::int64_t>(field.value_bytes());
}

void FieldList::resize(std::int64_t count) {
  count_ = count;
  given_place_ = Buffer<std::uint32_t>();
  for (AnyField* field : fields_) {
    field->memory_ = Buffer<std::byte>();  // before the new memory is taken
    if (!field->used()) continue;
    field->memory_ = Buffer<std::byte>(device_, room_for(*field, count));
    field->memory_.zero();
  }
}

void FieldList::use(AnyField& field, bool used) {
  field.used_ = used;
  field.memory_ = Buffer<std::byte>();
  if (used) field.memory_ = Buffer<std::byte>(device_, room_for(field, count_));
}

std::int64_t FieldList::bytes_per_particle() const {
  std::size_t bytes = 0;
  for (const AnyField* field : fields_)
    if (field->used()) bytes += field->value_bytes();
  return static_cast<std::int64_t>(bytes);
}

void FieldList::save(StateSource& to) const {
  to.put_value("count", count_);
  const auto places = std::make_shared<const Buffer<std::uint32_t>>(memory_places());
  for (const AnyField* field : fields_) {
    if (!field->is_saved()) continue;
    const bool as_given = field->name() == id_name;  // never moved
    to.put_range(
        field->name(), field->value_bytes(), count_,
        [this, field, places, as_given](std::int64_t first, std::int64_t n, void* into) {
          copy_out(device_, *field, as_given ? nullptr : places->data(), first, n, into);
        },
        true);
  }
}

void FieldList::restore(StateInput& from, int rank, int ranks) {
  const Shares shares{from.get_value<std::int64_t>("count"), ranks};
  for (const AnyField* field : fields_)
    if (field->is_saved()) expect(from, *field, shares.total);
  const std::int64_t count = shares.count(rank);
  resize(count);
  std::vector<std::byte> piece;
  for (AnyField* field : fields_) {
    if (!field->is_saved()) continue;
    const auto value = static_cast<std::int64_t>(field->value_bytes());
    const std::int64_t all = value * count, before = value * shares.first(rank);
    for (std::int64_t first = 0; first < all; first += piece_bytes) {
      const std::int64_t bytes = std::min(piece_bytes, all - first);
      piece.resize(static_cast<std::size_t>(bytes));
      from.read(field->name(), static_cast<std::uint64_t>(before + first), piece.data(), piece.size());
      device_.memory().from_host(field->bytes() + first, piece.data(), piece.size());
    }
  }
}

Buffer<std::uint32_t> FieldList::memory_places() const {
  Buffer<std::uint32_t> places(device_, given_place_.size());
  if (places.size() > 0) invert(device_, count_, given_place_.data(), places.data());
  return places;
}

void FieldList::keep_order() {
  std::vector<std::uint32_t> as_given(static_cast<std::size_t>(count_));
  std::iota(as_given.begin(), as_given.end(), 0u);
  given_place_ = Buffer<std::uint32_t>(device_, as_given);
}

std::vector<AnyField*> FieldList::travelling() const {
  std::vector<AnyField*> fields;
  for (AnyField* field : fields_)
    if (field->used() && field->name() != id_name) fields.push_back(field);
  return fields;
}

void FieldList::change(std::int64_t count, std::vector<Buffer<std::byte>> rooms) {
  count_ = count;
  const std::vector<AnyField*> fields = travelling();
  for (std::size_t f = 0; f < fields.size(); ++f)
    if (rooms[f].size() > 0) fields[f]->memory_.swap(rooms[f]);
}

template <class Real>
void ParticleStore<Real>::take(ParticleSource& particles) {
  resize(particles.count());
  if (DeviceSource* const made = particles.device_source()) {
    const DeviceArrays<Real> to{id.data(),
                                species.data(),
                                mass.data(),
                                {x.x.data(), x.y.data(), x.z.data()},
                                {v.x.data(), v.y.data(), v.z.data()}};
    if (made->put(device(), 1, to, Portion::all)) return;
  }
  Particles piece;
  std::vector<Real> numbers;
  for (std::int64_t first = 0; first < count(); first += piece_particles) {
    const std::int64_t n = std::min(piece_particles, count() - first);
    const bool all = particles.whole() && n == count();
    if (!all) particles.read(first, n, piece);
    const Particles& p = all ? *particles.whole() : piece;
    numbers.resize(static_cast<std::size_t>(n));
    const auto put = [&](ParticleField<Real>& field, const std::vector<double>& values) {
      parallel_chunks(device().threads(), n, convert_chunk, [&](std::int64_t begin, std::int64_t end) {
        for (auto k = static_cast<std::size_t>(begin); k < static_cast<std::size_t>(end); ++k)
          numbers[k] = static_cast<Real>(values[k]);
      });
      field.from_host(first, n, numbers.data());
    };
    id.from_host(first, n, p.id.data());
    species.from_host(first, n, p.species.data());
    put(mass, p.mass);
    put(x.x, p.x), put(x.y, p.y), put(x.z, p.z);
    put(v.x, p.vx), put(v.y, p.vy), put(v.z, p.vz);
  }
}

template <class Real>
void ParticleStore<Real>::reorder(const std::uint32_t* order, ParticleField<Real>& spare, std::byte* work) {
  const Device& on = device();
  for (auto* field : {&x.x, &x.y, &x.z, &v.x, &v.y, &v.z, &mass}) {
    permute(on, count(), order, std::as_const(*field).data(), spare.data());
    field->swap(spare);
  }
  auto* kinds = reinterpret_cast<std::uint8_t*>(work);
  permute(on, count(), order, std::as_const(species).data(), kinds);
  on.memory().copy(species.data(), kinds, static_cast<std::size_t>(count()));
  auto* places = reinterpret_cast<std::uint32_t*>(spare.data());
  permute(on, count(), order, std::as_const(given_place_).data(), places);
  on.memory().copy(given_place_.data(), places, given_place_.bytes());
}

template <class Real>
std::uint64_t ParticleStore<Real>::id_at(std::int64_t place) const {
  if (given_place_.size() == 0) return id.fetch(place);
  std::uint32_t given = 0;
  device().memory().to_host(&given, given_place_.data() + place, sizeof given);
  return id.fetch(given);
}

template <class Real>
BorrowedParticles ParticleStore<Real>::lend(double time) {
  BorrowedParticles borrowed;
  borrowed.device = device();
  borrowed.time = time;
  borrowed.count = count();
  borrowed.single = sizeof(Real) == sizeof(float);
  borrowed.x = x.x.data(), borrowed.y = x.y.data(), borrowed.z = x.z.data();
  borrowed.vx = v.x.data(), borrowed.vy = v.y.data(), borrowed.vz = v.z.data();
  borrowed.mass = mass.data();
  borrowed.species = species.data();
  borrowed.id = id.data();
  if (given_place_.size() > 0) {
    const auto sorted = std::make_shared<Buffer<std::uint64_t>>(device(), count());
    permute(device(), count(), std::as_const(given_place_).data(), std::as_const(id).data(), sorted->data());
    device().synchronize();
    borrowed.sorted_id = sorted;
    borrowed.id = sorted->data();
  }
  return borrowed;
}

template <class Real>
std::shared_ptr<void> ParticleStore<Real>::leave_borrowed() {
  const auto kept = std::make_shared<std::vector<Buffer<std::byte>>>();
  for (auto* field : {&x.x, &x.y, &x.z, &v.x, &v.y, &v.z, &mass}) kept->push_back(field->leave(device()));
  kept->push_back(species.leave(device()));
  kept->push_back(id.leave(device()));
  return kept;
}

template class ParticleStore<float>;
template class ParticleStore<double>;

}  // namespace pergola
