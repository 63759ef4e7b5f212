#include "particles/particle_check.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <mutex>

#include "base/text.hpp"
#include "device/parallel.hpp"

namespace pergola {

namespace {

constexpr std::int64_t check_chunk = 65536;
constexpr auto none = std::numeric_limits<std::uint64_t>::max();

struct NamedArray {
  const char* name;
  const std::vector<double>* values;
};

std::array<NamedArray, 7> arrays_of(const Particles& p) {
  return {{{"mass", &p.mass}, {"x", &p.x}, {"y", &p.y}, {"z", &p.z}, {"vx", &p.vx}, {"vy", &p.vy}, {"vz", &p.vz}}};
}

/// The lowest of what threads report.
class Lowest {
 public:
  void take(std::uint64_t value) {
    std::uint64_t seen = value_.load(std::memory_order_relaxed);
    while (value < seen && !value_.compare_exchange_weak(seen, value, std::memory_order_relaxed)) {
    }
  }
  std::uint64_t value() const { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<std::uint64_t> value_{none};
};

bool is_bad(const Particles& p, std::int64_t i) {
  bool finite = true;
  for (const auto* values : {&p.mass, &p.x, &p.y, &p.z, &p.vx, &p.vy, &p.vz})
    finite = finite && std::isfinite((*values)[i]);
  return !finite || p.mass[i] < 0 || p.species[i] >= species_count;
}

}  // namespace

ParticleCheck::ParticleCheck(std::string where, std::int64_t count, int threads)
    : where_(std::move(where)), threads_(threads) {
  marked_ = 4 * static_cast<std::uint64_t>(count) + 64;
  marks_.resize(marked_ / 64 + 1);
}

void ParticleCheck::add(const Particles& piece) {
  check_lengths(piece);
  check_numbers(piece);
  remember_ids(piece);
}

void ParticleCheck::check_lengths(const Particles& p) const {
  const std::size_t n = p.id.size();
  const auto check = [&](const char* name, std::size_t length) {
    if (length != n)
      throw Error(ErrorKind::input,
                  fmt::format("{}: {} has {} entries, expected {} (one per id)", where_, name, length, n));
  };
  for (const auto& [name, values] : arrays_of(p)) check(name, values->size());
  check("species", p.species.size());
}

void ParticleCheck::check_numbers(const Particles& p) const {
  Lowest bad;
  parallel_chunks(threads_, p.size(), check_chunk, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i)
      if (is_bad(p, i)) return bad.take(static_cast<std::uint64_t>(i));
  });
  if (bad.value() == none) return;
  const auto i = static_cast<std::size_t>(bad.value());
  const std::string particle = fmt::format("{}: particle id {}", where_, p.id[i]);
  for (const auto& [name, values] : arrays_of(p))
    if (!std::isfinite((*values)[i]))
      throw Error(ErrorKind::input,
                  fmt::format("{}: {} is {}, expected a finite number", particle, name, to_text((*values)[i])));
  if (p.mass[i] < 0)
    throw Error(ErrorKind::input, fmt::format("{}: mass is {}, expected 0 or more", particle, to_text(p.mass[i])));
  throw Error(ErrorKind::input,
              fmt::format("{}: species is {}, expected 0 to {}", particle, p.species[i], species_count - 1));
}

void ParticleCheck::remember_ids(const Particles& p) {
  Lowest twice;
  std::mutex others_mutex;
  parallel_chunks(threads_, p.size(), check_chunk, [&](std::int64_t begin, std::int64_t end) {
    std::vector<std::uint64_t> others;
    for (std::int64_t i = begin; i < end; ++i) {
      const std::uint64_t id = p.id[i];
      if (id >= marked_) {
        others.push_back(id);
        continue;
      }
      const std::uint64_t bit = std::uint64_t{1} << id % 64;
      const std::uint64_t before = std::atomic_ref(marks_[id / 64]).fetch_or(bit, std::memory_order_relaxed);
      if (before & bit) twice.take(id);
    }
    if (others.empty()) return;
    const std::lock_guard lock(others_mutex);
    others_.insert(others_.end(), others.begin(), others.end());
  });
  if (twice.value() != none) throw found_twice(where_, twice.value());
}

void ParticleCheck::finish() {
  std::sort(others_.begin(), others_.end());
  const auto twice = std::adjacent_find(others_.begin(), others_.end());
  if (twice != others_.end()) throw found_twice(where_, *twice);
}

Error ParticleCheck::found_twice(const std::string& where, std::uint64_t id) {
  return Error(ErrorKind::input, fmt::format("{}: particle id {} occurs twice, expected every id once", where, id));
}

}  // namespace pergola
