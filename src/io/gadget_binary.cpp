#include "io/gadget_binary.hpp"

#include <fmt/core.h>

#include <numeric>

#include "base/error.hpp"
#include "device/parallel.hpp"
#include "io/input_file.hpp"
#include "io/snapshot_formats.hpp"

namespace pergola {

using namespace gadget;

namespace {

constexpr std::int64_t slab_rows = 65536;

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

class GadgetFile final : public SnapshotFile {
 public:
  explicit GadgetFile(const std::filesystem::path& path) : file_(path) {
    std::string start(static_cast<std::size_t>(std::min<std::int64_t>(file_.size(), 16)), '\0');
    file_.read(0, start.data(), start.size());
    framing_ = framing_of(start).value_or(Framing{});
    read_header();
    find_blocks();
    look_at_blocks();
  }

  void read(std::int64_t first, std::int64_t n, Particles& to, std::int64_t at, int threads) override {
    read_reals(need("POS"), first, n, {&to.x, &to.y, &to.z}, at, threads);
    read_reals(need("VEL"), first, n, {&to.vx, &to.vy, &to.vz}, at, threads);
    if (const Block* ids = find("ID"); ids && !to.id.empty()) {
      if (ids->bytes / count_ == 4)
        read_rows<std::uint32_t>(*ids, first, n, std::vector{&to.id}, at, threads);
      else
        read_rows<std::uint64_t>(*ids, first, n, std::vector{&to.id}, at, threads);
    }
    if (!to.potential.empty()) read_reals(need("POT"), first, n, {&to.potential}, at, threads);
    std::int64_t listed = 0;  // masses in the block before those of a type
    SpeciesCounts listed_before{};
    for (int type = 0; type < species_count; ++type) {
      listed_before[type] = listed;
      if (piece_.mass_table[type] == 0) listed += piece_.counts[type];
    }
    for_types(piece_.counts, first, n, [&](int type, std::int64_t row, std::int64_t count, std::int64_t offset) {
      std::fill_n(to.species.begin() + at + offset, count, static_cast<std::uint8_t>(type));
      if (piece_.mass_table[type] == 0)
        read_reals(need("MASS"), listed_before[type] + row, count, {&to.mass}, at + offset, threads);
      else
        std::fill_n(to.mass.begin() + at + offset, count, piece_.mass_table[type]);
    });
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
      piece_.not_carried.push_back("block " + name);
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

  /// What can be seen without reading the blocks.
  void look_at_blocks() {
    for (const Block& block : blocks_)
      if (block.name != "POS" && block.name != "VEL" && block.name != "ID" && block.name != "MASS" &&
          block.name != "POT")
        piece_.not_carried.push_back("block " + block.name);
    piece_.potential = count_ == 0;
    if (count_ == 0) return;
    piece_.header.single_precision = need("POS").bytes < 24 * count_;
    need("VEL");
    if (massive_count() > 0) need("MASS");
    if (find("ID")) piece_.with_id = count_;
    const Block* potentials = find("POT");
    piece_.potential = potentials && (potentials->bytes == count_ * 4 || potentials->bytes == count_ * 8);
  }

  /// How many rows of `width` numbers a block has: what its name says, not its bytes.
  std::int64_t rows_of(const Block& block) const { return block.name == "MASS" ? massive_count() : count_; }

  void read_reals(const Block& block, std::int64_t first, std::int64_t n, const std::vector<std::vector<double>*>& to,
                  std::int64_t at, int threads) const {
    const std::int64_t value_bytes = block.bytes / (rows_of(block) * static_cast<std::int64_t>(to.size()));
    if (value_bytes == 4)
      read_rows<float>(block, first, n, to, at, threads);
    else
      read_rows<double>(block, first, n, to, at, threads);
  }

  /// Rows first … first + n − 1 of a block, each column into an array of its own.
  template <class T, class To>
  void read_rows(const Block& block, std::int64_t first, std::int64_t n, const std::vector<std::vector<To>*>& to,
                 std::int64_t at, int threads) const {
    const std::size_t width = to.size();
    const auto row_bytes = static_cast<std::int64_t>(width * sizeof(T));
    parallel_chunks(threads, n, slab_rows, [&](std::int64_t begin, std::int64_t end) {
      const auto bytes = static_cast<std::size_t>((end - begin) * row_bytes);
      const auto slab = std::make_unique_for_overwrite<char[]>(bytes);
      file_.read(block.offset + (first + begin) * row_bytes, slab.get(), bytes);
      for (std::size_t c = 0; c < width; ++c) {
        const char* next = slab.get() + c * sizeof(T);
        To* const column = to[c]->data() + at;
        for (std::int64_t i = begin; i < end; ++i, next += row_bytes)
          column[i] = static_cast<To>(load<T>(next, framing_.swap));
      }
    });
  }

  InputFile file_;
  Framing framing_;
  std::int64_t count_ = 0;  // all types
  std::int64_t next_ = 0;   // the place after what has been looked at
  std::vector<Block> blocks_;
};

}  // namespace

bool starts_like_gadget(std::string_view start) { return framing_of(start).has_value(); }

std::unique_ptr<SnapshotFile> open_gadget_file(const std::filesystem::path& path) {
  return std::make_unique<GadgetFile>(path);
}

}  // namespace pergola
