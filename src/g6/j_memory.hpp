#pragma once
#include <cstdint>
#include <vector>

#include "base/vec.hpp"
#include "device/buffer.hpp"
#include "g6/index_map.hpp"
#include "gravity/solver.hpp"

namespace pergola::g6 {

/// A particle of the j-memory: what it is predicted from, and to which time that belongs.
struct JParticle {
  std::int32_t index = 0;
  double time = 0, mass = 0;
  Vec3<double> x{}, v{}, acceleration{}, jerk{}, snap{};
};

/// The particles that answer, one per address. What is set is collected on the host; apply() sends it to the device in
/// batches, and nothing else. What is not applied does not exist: a calculation that runs, and its neighbours, are
/// those of the last apply().
class JMemory {
 public:
  explicit JMemory(const Device& device) : device_(device) {}

  void set(std::int64_t address, const JParticle& particle);

  /// Sends what was set since the last call. Returns whether anything changed. May wait for the device.
  bool apply();

  /// Addresses in use: one more than the highest that was ever applied. An address below it that was never set holds
  /// a particle without mass and without index, far away.
  std::int64_t size() const { return size_; }

  /// The particles at `first` … `first + count − 1`, to be predicted to `moment`.
  Sources<double> sources(std::int64_t first, std::int64_t count, double moment) const;

  /// The particle at an address, as it was set last, sent or not. For people who look for errors: it asks the device.
  JParticle get(std::int64_t address) const;

  const IndexMap& map() const { return map_; }

 private:
  /// A particle on its way to the device. Kept as words of 8 bytes, in the order of the columns.
  struct Record {
    std::int32_t address, index;
    double value[17];
  };
  static constexpr std::int64_t record_words = sizeof(Record) / sizeof(double);
  static constexpr std::int64_t columns = record_words - 1;
  /// Records that go over at once.
  static constexpr std::int64_t batch = 16384;

  void mark_holes(std::int64_t size);
  void grow(std::int64_t size);
  void send();

  Device device_;
  std::vector<Record> pending_;
  std::vector<std::int32_t> pending_at_;  // by address: its place in pending_, or −1
  IndexMap map_;
  std::int64_t size_ = 0, capacity_ = 0;
  Buffer<double> columns_;  // one run of `capacity_` values per column
  SharedBuffer<double> staging_;
};

/// Puts word 1 + c of each record into column c at the record's address, the lower half of its word 0. `words` is
/// shared memory; does not wait on a GPU.
void scatter_records(const Device& device, const double* words, std::int64_t records, std::int64_t record_words,
                     double* columns, std::int64_t capacity);
void scatter_records_cuda(const Device& device, const double* words, std::int64_t records, std::int64_t record_words,
                          double* columns, std::int64_t capacity);

}  // namespace pergola::g6
