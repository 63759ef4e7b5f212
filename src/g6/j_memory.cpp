// The j-memory: see j_memory.hpp. On the host there is one record per address that was set since the last apply().
//
// An address that is set twice before apply() is sent once, with its last values. Columns on the device have
// `capacity_` values each, so that a direct sum reads them as arrays.
#include "g6/j_memory.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cstring>

#include "device/parallel.hpp"

namespace pergola::g6 {

namespace {

/// The place of a hole: far from everything, but the square of a distance is finite in fp32.
constexpr double far_away = 1e18;
/// Addresses fit into 32 bits, with room for growth.
constexpr std::int64_t most_addresses = std::int64_t{1} << 30;

/// The order of values in a record, and so of the columns.
enum Column : int { time, mass, x, v = x + 3, acceleration = v + 3, jerk = acceleration + 3, snap = jerk + 3 };

/// As scatter_records_cuda(), on the device at hand.
void scatter_records(const Device& device, const double* words, std::int64_t records, std::int64_t record_words,
                     double* columns, std::int64_t capacity) {
  if constexpr (cuda_built)
    if (device.is_cuda()) return scatter_records_cuda(device, words, records, record_words, columns, capacity);
  for (std::int64_t r = 0; r < records; ++r) {
    const double* const record = words + r * record_words;
    std::int32_t address;
    std::memcpy(&address, record, sizeof address);
    for (std::int64_t c = 0; c < record_words - 1; ++c) columns[c * capacity + address] = record[1 + c];
  }
}

}  // namespace

void JMemory::set(std::int64_t address, const JParticle& p) {
  if (address < 0 || address >= most_addresses)
    throw Error(ErrorKind::input,
                fmt::format("j-particle: expected an address from 0 to {}, found {}", most_addresses - 1, address));
  const auto at = static_cast<std::size_t>(address);
  if (at >= pending_at_.size()) pending_at_.resize(std::max(at + 1, 2 * pending_at_.size()), -1);
  if (pending_at_[at] < 0) {
    pending_.emplace_back();
    pending_at_[at] = static_cast<std::int32_t>(pending_.size() - 1);
  }
  Record& record = pending_[static_cast<std::size_t>(pending_at_[at])];
  record.address = static_cast<std::int32_t>(address);
  record.index = p.index;
  record.value[time] = p.time;
  record.value[mass] = p.mass;
  const auto put = [&record](int column, const Vec3<double>& value) {
    record.value[column] = value.x, record.value[column + 1] = value.y, record.value[column + 2] = value.z;
  };
  put(x, p.x), put(v, p.v), put(acceleration, p.acceleration), put(jerk, p.jerk), put(snap, p.snap);
}

bool JMemory::apply() {
  if (pending_.empty()) return false;
  std::int64_t size = size_;
  for (const Record& record : pending_) size = std::max<std::int64_t>(size, record.address + 1);
  grow(size);  // may fail: nothing has changed yet
  for (const Record& record : pending_) {
    map_.set(record.address, record.index);
    pending_at_[static_cast<std::size_t>(record.address)] = -1;
  }
  mark_holes(size);
  send();
  pending_.clear();
  return true;
}

/// Sends a particle without mass to every new address that was not set.
void JMemory::mark_holes(std::int64_t size) {
  for (std::int64_t address = size_; address < size; ++address) {
    if (map_.holds(static_cast<std::int32_t>(address))) continue;
    Record hole{static_cast<std::int32_t>(address), 0, {}};
    std::fill_n(hole.value + x, 3, far_away);
    pending_.push_back(hole);
  }
  size_ = size;
}

void JMemory::grow(std::int64_t size) {
  if (size <= capacity_) return;
  const std::int64_t capacity = std::max(size, capacity_ + capacity_ / 2);
  Buffer<double> wider(device_, columns * capacity);
  for (std::int64_t c = 0; capacity_ > 0 && c < columns; ++c)
    device_.memory().copy(wider.data() + c * capacity, columns_.data() + c * capacity_,
                          static_cast<std::size_t>(capacity_) * sizeof(double));
  device_.synchronize();
  columns_ = std::move(wider);
  capacity_ = capacity;
}

void JMemory::send() {
  const auto records = std::ssize(pending_);
  const std::int64_t room = std::min<std::int64_t>(std::max<std::int64_t>(records, 256), batch);
  if (staging_.size() < room * record_words) staging_ = SharedBuffer<double>(device_, room * record_words);
  for (std::int64_t begin = 0; begin < records; begin += batch) {
    if (begin > 0) device_.synchronize();  // the batch before is read from the same memory
    const std::int64_t count = std::min(batch, records - begin);
    parallel_chunks(count < batch ? 1 : std::min(device_.threads(), 4), count, batch / 16,
                    [&](std::int64_t first, std::int64_t last) {
                      std::memcpy(staging_.data() + first * record_words, pending_.data() + begin + first,
                                  static_cast<std::size_t>(last - first) * sizeof(Record));
                    });
    scatter_records(device_, staging_.data(), count, record_words, columns_.data(), capacity_);
  }
}

/// Pending values win over those on the device: they were set later.
JParticle JMemory::get(std::int64_t address) const {
  const auto at = static_cast<std::size_t>(address);
  Record record{};
  if (address >= 0 && at < pending_at_.size() && pending_at_[at] >= 0) {
    record = pending_[static_cast<std::size_t>(pending_at_[at])];
  } else if (address >= 0 && address < size_) {
    record.index = map_.index(static_cast<std::int32_t>(address));
    for (std::int64_t c = 0; c < columns; ++c)
      device_.memory().to_host(record.value + c, columns_.data() + c * capacity_ + address, sizeof(double));
  } else {
    throw Error(ErrorKind::input, fmt::format("j-particle: nothing was set at address {}", address));
  }
  const auto vector = [&record](int column) {
    return Vec3<double>{record.value[column], record.value[column + 1], record.value[column + 2]};
  };
  return {record.index, record.value[time],   record.value[mass], vector(x),
          vector(v),    vector(acceleration), vector(jerk),       vector(snap)};
}

Sources<double> JMemory::sources(std::int64_t first, std::int64_t count, double moment) const {
  const auto column = [&](int c) { return columns_.data() + c * capacity_ + first; };
  Sources<double> s;
  s.count = count;
  s.mass = column(mass);
  s.x = column(x), s.y = column(x + 1), s.z = column(x + 2);
  s.vx = column(v), s.vy = column(v + 1), s.vz = column(v + 2);
  s.ax = column(acceleration), s.ay = column(acceleration + 1), s.az = column(acceleration + 2);
  s.jx = column(jerk), s.jy = column(jerk + 1), s.jz = column(jerk + 2);
  s.sx = column(snap), s.sy = column(snap + 1), s.sz = column(snap + 2);
  s.time = column(time);
  s.moment = moment;
  return s;
}

}  // namespace pergola::g6
