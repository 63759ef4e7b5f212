#pragma once
/// The j-memory: the particles that act, one per address, and the addresses of each index.
///
/// set() collects particles on the host; apply() sends them to the device in batches. A calculation uses the particles
/// of the last apply(). An address that was never set holds a particle without mass, far away.
#include <cstdint>
#include <vector>

#include "base/vec.hpp"
#include "device/buffer.hpp"
#include "gravity/solver.hpp"

namespace pergola::g6 {

/// The addresses of the particles with a given index. An index is any int; several addresses may have the same.
class IndexMap {
 public:
  static constexpr std::int32_t none = -1;

  /// `address` holds the particle `index` from now on.
  void set(std::int32_t address, std::int32_t index) {
    if (address >= size()) links_.resize(static_cast<std::size_t>(address) + 1);
    Link& link = at(address);
    if (link.used && link.index == index) return;
    if (link.used) take_out(address);
    Entry& entry = entry_for(index);
    link = {true, index, none, entry.first};
    if (entry.first != none) at(entry.first).previous = address;
    entry.first = address;
  }

  /// The first address of an index, in no particular order, and the address after another; `none` at the end.
  std::int32_t first(std::int32_t index) const {
    if (table_.empty()) return none;
    const Entry& entry = table_[find(index)];
    return entry.used ? entry.first : none;
  }
  std::int32_t next(std::int32_t address) const { return links_[static_cast<std::size_t>(address)].next; }

  /// Whether no other address has the same index.
  bool alone(std::int32_t address) const {
    const Link& link = links_[static_cast<std::size_t>(address)];
    return link.previous == none && link.next == none;
  }

  bool holds(std::int32_t address) const {
    return address >= 0 && address < size() && links_[static_cast<std::size_t>(address)].used;
  }
  std::int32_t index(std::int32_t address) const { return links_[static_cast<std::size_t>(address)].index; }

 private:
  /// Addresses with the same index form a list.
  struct Link {
    bool used = false;
    std::int32_t index = 0;
    std::int32_t previous = none, next = none;
  };
  struct Entry {
    bool used = false;
    std::int32_t index = 0;
    std::int32_t first = none;
  };

  std::int32_t size() const { return static_cast<std::int32_t>(links_.size()); }
  Link& at(std::int32_t address) { return links_[static_cast<std::size_t>(address)]; }

  void take_out(std::int32_t address) {
    const Link& link = at(address);
    if (link.next != none) at(link.next).previous = link.previous;
    if (link.previous != none)
      at(link.previous).next = link.next;
    else
      table_[find(link.index)].first = link.next;
  }

  /// The entry of the index in the table, or the free entry for it. Linear probing.
  std::size_t find(std::int32_t index) const {
    const std::size_t mask = table_.size() - 1;
    const std::uint64_t mixed = static_cast<std::uint32_t>(index) * std::uint64_t{0x9e3779b97f4a7c15};
    std::size_t k = static_cast<std::size_t>(mixed >> 32) & mask;
    while (table_[k].used && table_[k].index != index) k = (k + 1) & mask;
    return k;
  }

  Entry& entry_for(std::int32_t index) {
    if (2 * (entries_ + 1) > table_.size()) rebuild();
    Entry& entry = table_[find(index)];
    if (!entry.used) {
      entry = {true, index, none};
      ++entries_;
    }
    return entry;
  }

  /// Makes a larger table, without the indices that no address has any more.
  void rebuild() {
    std::vector<Entry> old(1024);
    old.swap(table_);
    std::size_t living = 0;
    for (const Entry& entry : old) living += entry.used && entry.first != none;
    while (table_.size() < 4 * (living + 1)) table_.resize(2 * table_.size());
    entries_ = living;
    for (const Entry& entry : old)
      if (entry.used && entry.first != none) table_[find(entry.index)] = entry;
  }

  std::vector<Link> links_;   // by address
  std::vector<Entry> table_;  // by hash of the index; a power of two long
  std::size_t entries_ = 0;
};

/// A particle of the j-memory: the values for its prediction, and their time.
struct JParticle {
  std::int32_t index = 0;
  double time = 0, mass = 0;
  Vec3<double> x{}, v{}, acceleration{}, jerk{}, snap{};
};

/// The particles on one device. Not for several threads at once. If memory for more addresses is refused in apply(),
/// nothing has changed and the call may be repeated. `columns_` has one column per value: time, mass, place and
/// derivatives.
class JMemory {
 public:
  explicit JMemory(const Device& device) : device_(device) {}

  void set(std::int64_t address, const JParticle& particle);

  /// Sends what was set since the last call. Returns whether anything changed. May wait for the device.
  bool apply();

  /// Addresses in use: one more than the highest that was ever applied.
  std::int64_t size() const { return size_; }

  /// The particles at `first` … `first + count − 1`, for prediction to `moment`.
  Sources<double> sources(std::int64_t first, std::int64_t count, double moment) const;

  /// The particle that was last set at an address, sent or not. Slow, for debugging: it reads from the device.
  JParticle get(std::int64_t address) const;

  const IndexMap& map() const { return map_; }

 private:
  /// A particle for the device: words of 8 bytes, in the order of the columns.
  struct Record {
    std::int32_t address, index;
    double value[17];
  };
  static constexpr std::int64_t record_words = sizeof(Record) / sizeof(double);
  static constexpr std::int64_t columns = record_words - 1;
  /// Records that are sent at once.
  /// At most this number, so that the shared memory stays small.
  static constexpr std::int64_t batch = 16384;

  void mark_holes(std::int64_t size);
  /// Makes room for addresses below `size`, half as much again as before. The particles are kept.
  void grow(std::int64_t size);
  /// Copies the pending records through shared memory into the columns, batch by batch.
  void send();

  Device device_;
  std::vector<Record> pending_;
  std::vector<std::int32_t> pending_at_;  // by address: its place in pending_, or −1
  IndexMap map_;
  std::int64_t size_ = 0, capacity_ = 0;
  Buffer<double> columns_;  // `capacity_` values per column
  SharedBuffer<double> staging_;
};

/// Puts word 1 + c of each record into column c at the record's address, the lower half of its word 0. `words` is
/// shared memory; does not wait.
void scatter_records_cuda(const Device& device, const double* words, std::int64_t records, std::int64_t record_words,
                          double* columns, std::int64_t capacity);

}  // namespace pergola::g6
