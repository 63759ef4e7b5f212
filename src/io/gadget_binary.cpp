#include "io/gadget_binary.hpp"

#include <fmt/core.h>

#include <numeric>

#include "base/error.hpp"
#include "io/input_file.hpp"
#include "io/snapshot_formats.hpp"

namespace pergola {

using namespace gadget;

namespace {

constexpr std::int64_t slab_values = 3 * 65536;

template <class T>
T load(const char* bytes, bool swap) {
  T value;
  std::memcpy(&value, bytes, sizeof value);
  return swap ? swapped(value) : value;
}

struct Framing {
  bool named = false, swap = false;  // format 2; the other byte order
};

std::optional<Framing> framing_of(std::string_view start) {
  if (start.size() < 4) return std::nullopt;
  for (const bool swap : {false, true}) {
    const auto length = load<std::uint32_t>(start.data(), swap);
    if (length == header_bytes) return Framing{false, swap};
    if (length == 8 && start.size() >= 8 && start.substr(4, 4) == "HEAD") return Framing{true, swap};
  }
  return std::nullopt;
}

struct Block {
  std::string name;
  std::int64_t offset = 0, bytes = 0;  // of the data between the two lengths
};

class GadgetReader {
 public:
  explicit GadgetReader(const std::filesystem::path& path) : file_(path) {
    std::string start(static_cast<std::size_t>(std::min<std::int64_t>(file_.size(), 16)), '\0');
    file_.read(0, start.data(), start.size());
    framing_ = framing_of(start).value_or(Framing{});
    read_header();
    find_blocks();
  }

  SnapshotPiece& piece() { return piece_; }

  void read_particles() {
    auto& p = piece_.particles;
    const auto count = static_cast<std::size_t>(count_);
    if (count == 0) return;
    const Block& positions = need("POS");
    piece_.header.single_precision = positions.bytes < 24 * count_;
    read_vectors(positions, p.x, p.y, p.z);
    read_vectors(need("VEL"), p.vx, p.vy, p.vz);
    if (const Block* ids = find("ID")) {
      if (value_bytes(*ids, count_) == 4)
        read_values<std::uint32_t>(*ids, count_, [&](std::int64_t, std::uint32_t id) { p.id.push_back(id); });
      else
        read_values<std::uint64_t>(*ids, count_, [&](std::int64_t, std::uint64_t id) { p.id.push_back(id); });
    }
    read_masses(p);
    if (const Block* potentials = find("POT"); potentials && potentials->bytes == count_ * 4)
      read_reals(*potentials, count_, [&](std::int64_t, double value) { p.potential.push_back(value); });
    else if (potentials && potentials->bytes == count_ * 8)
      read_reals(*potentials, count_, [&](std::int64_t, double value) { p.potential.push_back(value); });
    p.species.reserve(count);
    for (int type = 0; type < species_count; ++type)
      p.species.insert(p.species.end(), static_cast<std::size_t>(piece_.counts[type]), static_cast<std::uint8_t>(type));
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    throw Error(ErrorKind::input, fmt::format("{}: {}", file_.path().string(), what));
  }

  std::uint32_t length_at(std::int64_t offset, const std::string& what) const {
    if (offset + 4 > file_.size())
      fail(fmt::format("is truncated: {} bytes, expected {} to stand at byte {}", file_.size(), what, offset));
    char bytes[4];
    file_.read(offset, bytes, sizeof bytes);
    return load<std::uint32_t>(bytes, framing_.swap);
  }

  /// Checks the two lengths around a record of `bytes` bytes at `offset` and returns the place after it. Records of 4
  /// GiB and more carry their length modulo 2^32.
  std::int64_t check_record(std::int64_t offset, std::int64_t bytes, const std::string& name) const {
    const auto expected = static_cast<std::uint32_t>(bytes);
    const std::uint32_t before = length_at(offset, "block " + name);
    if (before != expected) fail(fmt::format("block {} has {} bytes, expected {}", name, before, bytes));
    if (offset + 8 + bytes > file_.size())
      fail(fmt::format("is truncated: block {} needs {} bytes from byte {} on, but the file has {}", name, bytes + 8,
                       offset, file_.size()));
    const std::uint32_t after = length_at(offset + 4 + bytes, "the end of block " + name);
    if (after != before)
      fail(fmt::format("block {} ends with length {}, expected {} as at its start", name, after, before));
    return offset + 8 + bytes;
  }

  void read_header() {
    next_ = 0;
    if (framing_.named) next_ = check_record(0, 8, "name");
    const std::int64_t begin = next_;
    next_ = check_record(begin, header_bytes, "HEAD");
    char bytes[header_bytes];
    file_.read(begin + 4, bytes, sizeof bytes);
    const bool swap = framing_.swap;
    SpeciesCounts totals{};
    for (std::size_t t = 0; t < species_count; ++t) {
      piece_.counts[t] = load<std::uint32_t>(bytes + at_counts + 4 * t, swap);
      piece_.mass_table[t] = load<double>(bytes + at_masses + 8 * t, swap);
      const auto high = load<std::uint32_t>(bytes + at_totals_high + 4 * t, swap);
      totals[t] =
          load<std::uint32_t>(bytes + at_totals + 4 * t, swap) + (static_cast<std::int64_t>(high & 0x7fffffff) << 32);
      if (!(piece_.mass_table[t] >= 0))
        fail(fmt::format("the header's mass of type {} is {}, expected 0 or more", t, piece_.mass_table[t]));
    }
    piece_.totals = totals;
    count_ = std::accumulate(piece_.counts.begin(), piece_.counts.end(), std::int64_t{0});
    if (count_ > file_.size() / 24)  // float32 coordinates and velocities at the least
      fail(fmt::format("claims {} particles, but has {} bytes", count_, file_.size()));
    auto& header = piece_.header;
    header.format = framing_.named ? "gadget2" : "gadget1";
    header.byte_swapped = swap;
    header.time = load<double>(bytes + at_time, swap);
    header.redshift = load<double>(bytes + at_redshift, swap);
    header.box_size = load<double>(bytes + at_box, swap);
    const auto files = load<std::int32_t>(bytes + at_files, swap);
    if (files < 0 || files > 1'000'000) fail(fmt::format("the header's num_files is {}, expected 0 or more", files));
    header.files = std::max(files, 1);
    const auto omega0 = load<double>(bytes + at_omega0, swap), lambda = load<double>(bytes + at_lambda, swap);
    const auto hubble = load<double>(bytes + at_hubble, swap);
    if (omega0 == 0 && lambda == 0 && hubble == 0) return;
    header.omega0 = omega0;
    header.omega_lambda = lambda;
    header.hubble_param = hubble;
  }

  /// The particles whose masses stand in the MASS block.
  std::int64_t massive_count() const {
    std::int64_t count = 0;
    for (int type = 0; type < species_count; ++type)
      if (piece_.mass_table[type] == 0) count += piece_.counts[type];
    return count;
  }

  void find_blocks() {
    if (framing_.named)
      find_named_blocks();
    else
      find_ordered_blocks();
    for (const auto& block : blocks_) piece_.fields.push_back(block.name);
  }

  /// Takes a block of `values` numbers of 4 or 8 bytes at next_.
  void take_block(const std::string& name, std::int64_t values) {
    const std::uint32_t length = length_at(next_, "block " + name);
    std::int64_t bytes = 0;
    for (const std::int64_t size : {4 * values, 8 * values})
      if (length == static_cast<std::uint32_t>(size)) bytes = size;
    if (bytes == 0)
      fail(fmt::format("block {} has {} bytes, expected {} or {} for {} values", name, length, 4 * values, 8 * values,
                       values));
    const std::int64_t after = check_record(next_, bytes, name);
    blocks_.push_back({name, next_ + 4, bytes});
    next_ = after;
  }

  void find_ordered_blocks() {
    if (count_ == 0) return;
    take_block("POS", 3 * count_);
    take_block("VEL", 3 * count_);
    if (next_ < file_.size()) take_block("ID", count_);
    if (massive_count() > 0) take_block("MASS", massive_count());
    // What follows has no name and is not read, but must be whole.
    for (int extra = 1; next_ < file_.size() && 24 * count_ <= 0xffffffff; ++extra) {
      const std::string name = fmt::format("{} after the masses", extra);
      next_ = check_record(next_, length_at(next_, "block " + name), name);
    }
  }

  void find_named_blocks() {
    while (next_ < file_.size()) {
      const std::int64_t name_at = next_ + 4;
      next_ = check_record(next_, 8, "name");
      char label[4];
      file_.read(name_at, label, sizeof label);
      std::string name(label, sizeof label);
      name.erase(name.find_last_not_of(' ') + 1);
      if (name.empty() || !std::all_of(name.begin(), name.end(), [](char c) { return c > ' ' && c <= '~'; }))
        fail(fmt::format("has no readable block name at byte {}", name_at));
      if (count_ > 0 && (name == "POS" || name == "VEL")) {
        take_block(name, 3 * count_);
      } else if (count_ > 0 && name == "ID") {
        take_block(name, count_);
      } else if (name == "MASS" && massive_count() > 0) {
        take_block(name, massive_count());
      } else {
        const std::uint32_t length = length_at(next_, "block " + name);
        blocks_.push_back({name, next_ + 4, length});
        next_ = check_record(next_, length, name);
      }
    }
  }

  const Block* find(std::string_view name) const {
    const auto found = std::find_if(blocks_.begin(), blocks_.end(), [&](const Block& b) { return b.name == name; });
    return found == blocks_.end() ? nullptr : &*found;
  }

  const Block& need(const std::string& name) const {
    const Block* block = find(name);
    if (!block) fail(fmt::format("has no block {}, expected {} particles in it", name, count_));
    return *block;
  }

  static std::int64_t value_bytes(const Block& block, std::int64_t values) { return block.bytes / values; }

  /// Calls take(index, value) for every value of a block.
  template <class T, class Take>
  void read_values(const Block& block, std::int64_t values, const Take& take) const {
    std::vector<char> slab(static_cast<std::size_t>(std::min(values, slab_values)) * sizeof(T));
    for (std::int64_t first = 0; first < values; first += slab_values) {
      const std::int64_t count = std::min(slab_values, values - first);
      file_.read(block.offset + first * static_cast<std::int64_t>(sizeof(T)), slab.data(),
                 static_cast<std::size_t>(count) * sizeof(T));
      for (std::int64_t i = 0; i < count; ++i) take(first + i, load<T>(slab.data() + i * sizeof(T), framing_.swap));
    }
  }

  template <class Take>
  void read_reals(const Block& block, std::int64_t values, const Take& take) const {
    if (value_bytes(block, values) == 4)
      read_values<float>(block, values, [&](std::int64_t i, float value) { take(i, static_cast<double>(value)); });
    else
      read_values<double>(block, values, take);
  }

  void read_vectors(const Block& block, std::vector<double>& x, std::vector<double>& y, std::vector<double>& z) const {
    std::vector<double>* const components[] = {&x, &y, &z};
    for (auto* values : components) values->resize(static_cast<std::size_t>(count_));
    read_reals(block, 3 * count_, [&](std::int64_t i, double value) { (*components[i % 3])[i / 3] = value; });
  }

  void read_masses(Particles& p) const {
    std::vector<double> listed;
    if (massive_count() > 0)
      read_reals(need("MASS"), massive_count(), [&](std::int64_t, double value) { listed.push_back(value); });
    auto next = listed.begin();
    for (int type = 0; type < species_count; ++type) {
      const auto count = piece_.counts[type];
      if (piece_.mass_table[type] == 0) {
        p.mass.insert(p.mass.end(), next, next + count);
        next += count;
      } else {
        p.mass.insert(p.mass.end(), static_cast<std::size_t>(count), piece_.mass_table[type]);
      }
    }
  }

  InputFile file_;
  Framing framing_;
  SnapshotPiece piece_;
  std::int64_t count_ = 0;  // all types
  std::int64_t next_ = 0;   // the place after what has been looked at
  std::vector<Block> blocks_;
};

}  // namespace

bool starts_like_gadget(std::string_view start) { return framing_of(start).has_value(); }

SnapshotPiece read_gadget_piece(const std::filesystem::path& path, ReadPart part) {
  GadgetReader reader(path);
  if (part == ReadPart::all) reader.read_particles();
  return std::move(reader.piece());
}

}  // namespace pergola
