#include "io/state_hash.hpp"

#include <fmt/core.h>
#include <xxhash.h>

#include <algorithm>
#include <array>
#include <bit>
#include <memory>
#include <new>
#include <vector>

#include "device/parallel.hpp"
#include "io/input_file.hpp"

namespace pergola {

namespace {

constexpr std::size_t words = 9;  // of one particle
using Words = std::array<std::uint64_t, words>;

/// The form in run.json: the name of the hash and 32 hexadecimal digits.
std::string in_digits(std::uint64_t high, std::uint64_t low) { return fmt::format("xxh3:{:016x}{:016x}", high, low); }

/// +0 and −0 differ, and so do NaNs with different bits. An array that is missing counts as zero bits.
std::uint64_t bits(const std::vector<double>& values, std::int64_t i) {
  return values.empty() ? 0 : std::bit_cast<std::uint64_t>(values[static_cast<std::size_t>(i)]);
}

}  // namespace

/// Addition of 128 bits with the carry; a sum does not depend on its order, unlike a hash of all bytes.
void StateHash::Sum::add(const Sum& other) {
  low += other.low;
  high += other.high + (low < other.low ? 1 : 0);
}

/// `record(i)` gives the words of a particle.
template <class Record>
void StateHash::add_records(std::int64_t count, int threads, const Record& record) {
  constexpr std::int64_t chunk = 1024;
  std::vector<Sum> sums(static_cast<std::size_t>((count + chunk - 1) / chunk));
  parallel_for(threads, static_cast<std::int64_t>(sums.size()), [&](std::int64_t c) {
    Sum sum;
    for (std::int64_t i = c * chunk; i < std::min(count, (c + 1) * chunk); ++i) {
      const Words one = record(i);
      const XXH128_hash_t hash = XXH3_128bits(one.data(), sizeof one);
      sum.add({hash.high64, hash.low64});
    }
    sums[static_cast<std::size_t>(c)] = sum;
  });
  for (const Sum& sum : sums) sum_.add(sum);
}

void StateHash::add(const Particles& p, int threads) {
  add_records(p.size(), threads, [&p](std::int64_t i) {
    const auto k = static_cast<std::size_t>(i);
    return Words{p.id[k],      p.species[k],  bits(p.mass, i), bits(p.x, i), bits(p.y, i),
                 bits(p.z, i), bits(p.vx, i), bits(p.vy, i),   bits(p.vz, i)};
  });
}

void StateHash::add(const PlasmaParticles& p, int species, int threads) {
  add_records(p.size(), threads, [&p, species](std::int64_t i) {
    return Words{p.id[static_cast<std::size_t>(i)],
                 static_cast<std::uint64_t>(species),
                 0,
                 bits(p.x, i),
                 bits(p.y, i),
                 bits(p.z, i),
                 bits(p.vx, i),
                 bits(p.vy, i),
                 bits(p.vz, i)};
  });
}

/// The sums of all ranks are exchanged and added by each rank.
void StateHash::add_over(Communicator& ranks) {
  std::vector<Sum> sums(static_cast<std::size_t>(ranks.size()));
  sums[static_cast<std::size_t>(ranks.rank())] = sum_;
  ranks.all_gather_in_place(sums.data(), std::vector<std::size_t>(sums.size(), sizeof(Sum)));
  sum_ = {};
  for (const Sum& sum : sums) sum_.add(sum);
}

std::string StateHash::text() const { return in_digits(sum_.high, sum_.low); }

std::string hash_of_text(std::string_view text) {
  const XXH128_hash_t hash = XXH3_128bits(text.data(), text.size());
  return in_digits(hash.high64, hash.low64);
}

std::string hash_of_file(const std::filesystem::path& path) {
  const InputFile file(path);
  const std::unique_ptr<XXH3_state_t, XXH_errorcode (*)(XXH3_state_t*)> state(XXH3_createState(), XXH3_freeState);
  if (!state) throw std::bad_alloc();
  XXH3_128bits_reset(state.get());
  std::vector<char> piece(std::size_t{1} << 20);
  for (std::int64_t done = 0; done < file.size();) {
    const auto bytes = std::min(file.size() - done, static_cast<std::int64_t>(piece.size()));
    file.read(done, piece.data(), static_cast<std::size_t>(bytes));
    XXH3_128bits_update(state.get(), piece.data(), static_cast<std::size_t>(bytes));
    done += bytes;
  }
  const XXH128_hash_t hash = XXH3_128bits_digest(state.get());
  return in_digits(hash.high64, hash.low64);
}

}  // namespace pergola
