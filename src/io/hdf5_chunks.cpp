#include "io/hdf5_chunks.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <memory>

#include "device/parallel.hpp"

namespace pergola::hdf5 {

namespace {

// Fletcher-32 over 16-bit words. By definition each word waits for the sums of the words before it. In lanes that are
// independent of each other the compiler can use vector instructions; their sums are put together once per block.
// most_rows is the largest number of rows whose sums fit into 32 bits.
constexpr std::size_t lanes = 32;
constexpr std::size_t most_rows = 256;  // 65535 · 256 · 257 / 2 is below 2^32
constexpr std::uint64_t modulus = 65535;

/// Both sums over words: first = Σ w_i, second = Σ (n − i) w_i, modulo 65535.
struct Sums {
  std::uint64_t first = 0, second = 0;
};

/// Adds rows of `lanes` words. Each lane keeps two sums of its own; word k · lanes + l of n has the weight
/// n − i = lanes · (rows − k) − l.
void add_rows(Sums& sums, const unsigned char* data, std::size_t rows) {
  std::array<std::uint32_t, lanes> one{}, two{};
  for (std::size_t k = 0; k < rows; ++k) {
    std::array<std::uint16_t, lanes> words;
    std::memcpy(words.data(), data + 2 * lanes * k, sizeof words);
    for (std::size_t l = 0; l < lanes; ++l) one[l] += words[l];
    for (std::size_t l = 0; l < lanes; ++l) two[l] += one[l];
  }
  std::uint64_t first = 0, second = 0, late = 0;
  for (std::size_t l = 0; l < lanes; ++l) {
    first += one[l];
    second += two[l];
    late += l * one[l];
  }
  sums.second = (sums.second + rows * lanes % modulus * sums.first + lanes * second - late) % modulus;
  sums.first = (sums.first + first) % modulus;
}

/// The definition itself, for the words after the last whole row.
void add_word(Sums& sums, std::uint16_t word) {
  sums.first = (sums.first + word) % modulus;
  sums.second = (sums.second + sums.first) % modulus;
}

}  // namespace

std::uint32_t fletcher32(const void* data, std::size_t bytes) {
  const auto* next = static_cast<const unsigned char*>(data);
  const auto* const end = next + bytes;
  Sums sums;
  while (static_cast<std::size_t>(end - next) >= 2 * lanes) {
    const std::size_t rows = std::min(most_rows, static_cast<std::size_t>(end - next) / (2 * lanes));
    add_rows(sums, next, rows);
    next += rows * 2 * lanes;
  }
  for (; next != end; next += 2) {
    std::uint16_t word;
    std::memcpy(&word, next, sizeof word);
    add_word(sums, word);
  }
  // HDF5 takes the words with their high byte first. Exchanging the bytes of a word is a multiplication by 256 modulo
  // 65535, and so it is for the sums. It writes 65535 for 0, unless all bytes are 0.
  const auto* const begin = static_cast<const unsigned char*>(data);
  const bool nothing = sums.first == 0 && sums.second == 0 && std::all_of(begin, end, [](auto b) { return b == 0; });
  if (nothing) return 0;
  const auto swapped = [](std::uint64_t sum) {
    const auto value = static_cast<std::uint32_t>(sum * 256 % modulus);
    return value == 0 ? 65535u : value;
  };
  return swapped(sums.second) << 16 | swapped(sums.first);
}

namespace {

constexpr std::int64_t batch_bytes = std::int64_t{1} << 26;  // of chunks in memory at a time

/// Rows of numbers in the file's type into columns; the values are converted as C++ does.
template <class From, class T>
void sort_out(const char* rows, std::int64_t count, const std::vector<T*>& to, std::int64_t at) {
  const std::size_t width = to.size();
  for (std::size_t c = 0; c < width; ++c) {
    const char* next = rows + c * sizeof(From);
    T* const column = to[c] + at;
    for (std::int64_t i = 0; i < count; ++i, next += width * sizeof(From)) {
      From value;
      std::memcpy(&value, next, sizeof value);
      column[i] = static_cast<T>(value);
    }
  }
}

/// Whether numbers stored so become these without a check of each.
bool fits(Stored stored, const double*) { return stored == Stored::float32 || stored == Stored::float64; }
bool fits(Stored stored, const std::uint64_t*) { return stored == Stored::uint32 || stored == Stored::uint64; }

void sort_out(Stored stored, const char* rows, std::int64_t count, const std::vector<double*>& to, std::int64_t at) {
  if (stored == Stored::float64)
    sort_out<double>(rows, count, to, at);
  else
    sort_out<float>(rows, count, to, at);
}
void sort_out(Stored stored, const char* rows, std::int64_t count, const std::vector<std::uint64_t*>& to,
              std::int64_t at) {
  if (stored == Stored::uint64)
    sort_out<std::uint64_t>(rows, count, to, at);
  else
    sort_out<std::uint32_t>(rows, count, to, at);
}

/// Chunk by chunk; false if something is not as it should be.
template <class T>
bool read_chunks(const File& file, const Dataset& dataset, std::int64_t first, std::int64_t n,
                 const std::vector<T*>& to, int threads) {
  const std::int64_t rows = dataset.checked_chunk_rows;
  if (rows == 0 || !fits(dataset.stored, to[0]) || static_cast<std::int64_t>(to.size()) != dataset.columns)
    return false;
  const std::int64_t row_bytes = dataset.columns * static_cast<std::int64_t>(dataset.value_bytes);
  if (rows > batch_bytes / row_bytes) return false;
  const auto bytes = static_cast<std::size_t>(rows * row_bytes);
  const std::int64_t begin = first / rows, end = (first + n - 1) / rows + 1;
  const std::int64_t most = std::min(end - begin, std::max<std::int64_t>(1, batch_bytes / (rows * row_bytes)));
  std::vector<std::unique_ptr<char[]>> chunks;
  for (std::int64_t k = 0; k < most; ++k) chunks.push_back(std::make_unique_for_overwrite<char[]>(bytes + 4));
  std::atomic<bool> sound = true;
  for (std::int64_t from = begin; from < end && sound; from += most) {
    const std::int64_t count = std::min(most, end - from);
    for (std::int64_t k = 0; k < count; ++k)
      if (!file.read_chunk(dataset, (from + k) * rows, chunks[k].get(), bytes + 4)) return false;
    parallel_for(threads, count, [&](std::int64_t k) {
      std::uint32_t sum;
      std::memcpy(&sum, chunks[k].get() + bytes, sizeof sum);
      if (fletcher32(chunks[k].get(), bytes) != sum) {
        sound = false;
        return;
      }
      const std::int64_t chunk_row = (from + k) * rows;
      const std::int64_t low = std::max(first, chunk_row), high = std::min(first + n, chunk_row + rows);
      sort_out(dataset.stored, chunks[k].get() + (low - chunk_row) * row_bytes, high - low, to, low - first);
    });
  }
  return sound;
}

template <class T>
void read(const File& file, const Dataset& dataset, std::int64_t first, std::int64_t n, const std::vector<T*>& to,
          int threads) {
  if (n == 0 || read_chunks(file, dataset, first, n, to, threads)) return;
  // The library, which also knows what to say of damage.
  std::vector<T> rows(static_cast<std::size_t>(std::min(dataset.slab_rows, n) * dataset.columns));
  for (std::int64_t at = 0; at < n;) {
    // Slabs end with chunks, so that none is read twice.
    const std::int64_t slab_end = ((first + at) / dataset.slab_rows + 1) * dataset.slab_rows;
    const std::int64_t count = std::min(slab_end - (first + at), n - at);
    file.read_rows(dataset, first + at, count, rows.data());
    sort_out<T>(reinterpret_cast<const char*>(rows.data()), count, to, at);
    at += count;
  }
}

}  // namespace

void read_columns(const File& file, const Dataset& dataset, std::int64_t first, std::int64_t n,
                  const std::vector<double*>& to, int threads) {
  read(file, dataset, first, n, to, threads);
}

void read_columns(const File& file, const Dataset& dataset, std::int64_t first, std::int64_t n,
                  const std::vector<std::uint64_t*>& to, int threads) {
  read(file, dataset, first, n, to, threads);
}

}  // namespace pergola::hdf5
