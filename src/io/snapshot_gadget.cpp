// GADGET binary snapshots, formats 1 and 2, either byte order (Springel 2005, users' guide of GADGET-2, section 6).
// A file is a row of records, each with its length before and after it. The header (256 bytes) is the first; POS, VEL,
// ID and, for types without an entry in the mass table, MASS follow. In format 2 a record of 8 bytes with the block's
// name goes before each block.
#include <fmt/core.h>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <string_view>

#include "base/atomic_file.hpp"
#include "base/error.hpp"
#include "device/parallel.hpp"
#include "io/input_file.hpp"
#include "io/snapshot_formats.hpp"

namespace pergola {

namespace {

static_assert(std::endian::native == std::endian::little);

constexpr std::uint32_t header_bytes = 256;

// Places in the header.
constexpr std::size_t at_counts = 0, at_masses = 24, at_time = 72, at_redshift = 80, at_totals = 96, at_files = 124,
                      at_box = 128, at_omega0 = 136, at_lambda = 144, at_hubble = 152, at_totals_high = 168;

template <class T>
T swapped(T value) {
  char bytes[sizeof(T)];
  std::memcpy(bytes, &value, sizeof(T));
  std::reverse(bytes, bytes + sizeof(T));
  std::memcpy(&value, bytes, sizeof(T));
  return value;
}

constexpr std::int64_t slab_rows = 65536;  // converted at a time by one thread

template <class T>
/// A number at any address, with its bytes exchanged if the file has the other order.
T load(const char* bytes, bool swap) {
  T value;
  std::memcpy(&value, bytes, sizeof value);
  return swap ? swapped(value) : value;
}

struct Framing {
  bool named = false, swap = false;  // format 2; the other byte order
};

/// The first four bytes are the length of the first record: 256 (format 1) or 8 (format 2), in either byte order.
std::optional<Framing> framing_of(std::string_view start) {
  if (start.size() < 4) return std::nullopt;
  for (const bool swap : {false, true}) {
    const auto length = load<std::uint32_t>(start.data(), swap);
    if (length == header_bytes) return Framing{false, swap};
    if (length == 8 && start.size() >= 8 && start.substr(4, 4) == "HEAD") return Framing{true, swap};
  }
  return std::nullopt;
}

std::optional<Framing> framing_of_file(const InputFile& file) {
  std::string start(static_cast<std::size_t>(std::min<std::int64_t>(file.size(), 8)), '\0');
  file.read(0, start.data(), start.size());
  return framing_of(start);
}

struct FoundBlock {
  std::string name;
  std::int64_t offset = 0, bytes = 0;  // of the data between the two lengths
};

/// Reads one file. The constructor reads the header and the lengths around the blocks, and read() then seeks.
class GadgetFile final : public SnapshotFile {
 public:
  explicit GadgetFile(const std::filesystem::path& path) : file_(path) {
    framing_ = framing_of_file(file_).value_or(Framing{});
    read_header();
    find_blocks();
    look_at_blocks();
  }

  void read(std::int64_t first, std::int64_t n, Particles& to, std::int64_t at, int threads) override {
    read_reals(need("POS"), first, n, {&to.x, &to.y, &to.z}, at, threads);
    read_reals(need("VEL"), first, n, {&to.vx, &to.vy, &to.vz}, at, threads);
    if (const FoundBlock* ids = find("ID"); ids && !to.id.empty()) {
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

  /// Counts, masses and times from the first record. The counts are compared with the size of the file.
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

  /// Format 1: blocks have no names, only an order. ID and what follows the masses may be missing.
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

  /// Format 2: names of four letters, filled up with spaces. Unknown blocks are passed over by their length.
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

  const FoundBlock* find(std::string_view name) const {
    const auto found =
        std::find_if(blocks_.begin(), blocks_.end(), [&](const FoundBlock& b) { return b.name == name; });
    return found == blocks_.end() ? nullptr : &*found;
  }

  /// Throws Error(input) if a block that is needed is missing.
  const FoundBlock& need(const std::string& name) const {
    const FoundBlock* block = find(name);
    if (!block) fail(fmt::format("has no block {}, expected {} particles in it", name, count_));
    return *block;
  }

  /// What can be seen without reading the blocks.
  void look_at_blocks() {
    for (const FoundBlock& block : blocks_)
      if (block.name != "POS" && block.name != "VEL" && block.name != "ID" && block.name != "MASS" &&
          block.name != "POT")
        piece_.not_carried.push_back("block " + block.name);
    piece_.potential = count_ == 0;
    if (count_ == 0) return;
    piece_.header.single_precision = need("POS").bytes < 24 * count_;
    need("VEL");
    if (massive_count() > 0) need("MASS");
    if (find("ID")) piece_.with_id = count_;
    const FoundBlock* potentials = find("POT");
    piece_.potential = potentials && (potentials->bytes == count_ * 4 || potentials->bytes == count_ * 8);
  }

  /// How many rows of `width` numbers a block has: what its name says, not its bytes.
  std::int64_t rows_of(const FoundBlock& block) const { return block.name == "MASS" ? massive_count() : count_; }

  /// 4 or 8 bytes per number: the length of the block says which.
  void read_reals(const FoundBlock& block, std::int64_t first, std::int64_t n,
                  const std::vector<std::vector<double>*>& to, std::int64_t at, int threads) const {
    const std::int64_t value_bytes = block.bytes / (rows_of(block) * static_cast<std::int64_t>(to.size()));
    if (value_bytes == 4)
      read_rows<float>(block, first, n, to, at, threads);
    else
      read_rows<double>(block, first, n, to, at, threads);
  }

  /// Rows first … first + n − 1 of a block, each column into an array of its own.
  template <class T, class To>
  void read_rows(const FoundBlock& block, std::int64_t first, std::int64_t n, const std::vector<std::vector<To>*>& to,
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
  std::vector<FoundBlock> blocks_;
};

/// A block of the file: one row per particle.
struct WrittenBlock {
  std::string name;
  bool ids = false;
  std::vector<const std::vector<double> Particles::*> columns;
  std::int64_t row_bytes = 0, offset = 0;  // of its first row in the file
};

/// Writes one file. The frame of lengths and names goes out first; rows then go to their places, species by species, on
/// all threads. A record's length is a 32-bit number, which bounds the particles of a file.
class GadgetWriter final : public SnapshotWriter {
 public:
  GadgetWriter(const std::filesystem::path& path, const SnapshotHeader& header, const SnapshotContents& contents,
               WriteOptions options)
      : SnapshotWriter(path, contents), options_(std::move(options)), file_(path) {
    if (24 * contents.total() > 0xffffffff)
      throw Error(ErrorKind::input, fmt::format("{}: {} particles are too many for one GADGET binary file, expected at "
                                                "most {}; write HDF5, or several files",
                                                path.string(), contents.total(), 0xffffffff / 24));
    for (std::size_t t = 1; t < species_count; ++t) first_row_[t] = first_row_[t - 1] + contents.counts[t - 1];
    next_row_ = first_row_;
    write_frame(header);
  }

 private:
  template <class T>
  void put(std::string& bytes, T value) const {
    if (options_.big_endian) value = swapped(value);
    bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
  }

  template <class T>
  void place(std::string& bytes, std::size_t at, T value) const {
    std::string one;
    put(one, value);
    bytes.replace(at, one.size(), one);
  }

  /// The name record of format 2; nothing in format 1.
  std::string name_record(const std::string& name, std::uint32_t block_bytes) const {
    std::string record;
    if (options_.format != SnapshotFormat::gadget2) return record;
    put(record, std::uint32_t{8});
    record += name;
    put(record, block_bytes + 8);  // to the next name
    put(record, std::uint32_t{8});
    return record;
  }

  std::string length(std::uint32_t bytes) const {
    std::string text;
    put(text, bytes);
    return text;
  }

  /// 256 bytes; those that no place names stay zero.
  std::string header_bytes_of(const SnapshotHeader& header) const {
    std::string bytes(header_bytes, '\0');
    for (std::size_t t = 0; t < species_count; ++t) {
      place(bytes, at_counts + 4 * t, static_cast<std::uint32_t>(contents_.counts[t]));
      place(bytes, at_totals + 4 * t, static_cast<std::uint32_t>(contents_.all()[t]));
      place(bytes, at_totals_high + 4 * t, static_cast<std::uint32_t>(contents_.all()[t] >> 32));
    }
    place(bytes, at_time, header.time);
    place(bytes, at_redshift, header.redshift);
    place(bytes, at_files, static_cast<std::int32_t>(contents_.files));
    place(bytes, at_box, header.box_size);
    place(bytes, at_omega0, header.omega0.value_or(0));
    place(bytes, at_lambda, header.omega_lambda.value_or(0));
    place(bytes, at_hubble, header.hubble_param.value_or(0));
    return bytes;
  }

  /// Names have four letters. Ids take 4 bytes if all fit. Masses always stand in a block, not in the header's table.
  void choose_blocks() {
    using P = Particles;
    const std::int64_t real = options_.single_precision ? 4 : 8;
    blocks_ = {{"POS ", false, {&P::x, &P::y, &P::z}, 3 * real},
               {"VEL ", false, {&P::vx, &P::vy, &P::vz}, 3 * real},
               {"ID  ", true, {}, contents_.largest_id <= 0xffffffff ? 4 : 8},
               {"MASS", false, {&P::mass}, real}};
    if (options_.format == SnapshotFormat::gadget2 && contents_.potential)
      blocks_.push_back({"POT ", false, {&P::potential}, real});
  }

  /// The header and everything around the blocks, whose rows come later.
  void write_frame(const SnapshotHeader& header) {
    choose_blocks();
    std::string text =
        name_record("HEAD", header_bytes) + length(header_bytes) + header_bytes_of(header) + length(header_bytes);
    std::int64_t at = 0;
    for (WrittenBlock& block : blocks_) {
      const auto bytes = static_cast<std::uint32_t>(contents_.total() * block.row_bytes);
      text += name_record(block.name, bytes) + length(bytes);
      file_.write_at(at, text.data(), text.size());
      block.offset = at + static_cast<std::int64_t>(text.size());
      at = block.offset + bytes;
      text = length(bytes);
    }
    file_.write_at(at, text.data(), text.size());
  }

  /// Finds the rows of the particles in each block, and writes slabs of rows on all threads.
  void take(const Particles& from, std::int64_t first, std::int64_t n, std::int64_t) override {
    const auto begin = next_row_;
    const PieceRows rows = find_rows(from, first, n, next_row_);
    struct Slab {
      const WrittenBlock* block;
      const std::vector<RowRun>* runs;
      std::int64_t begin, end;
    };
    std::vector<Slab> slabs;
    for (std::size_t t = 0; t < species_count; ++t) {
      if (next_row_[t] > first_row_[t] + contents_.counts[t])
        throw Error(ErrorKind::input,
                    fmt::format("{}: more particles of species {} than the {} that were to be written", path_.string(),
                                species_names[t], contents_.counts[t]));
      for (const WrittenBlock& block : blocks_)
        for (std::int64_t row = begin[t]; row < next_row_[t]; row += slab_rows)
          slabs.push_back({&block, &rows[t], row, std::min(row + slab_rows, next_row_[t])});
    }
    parallel_for(options_.threads, static_cast<std::int64_t>(slabs.size()), [&](std::int64_t k) {
      const auto& [block, runs, row, end] = slabs[k];
      const auto bytes = static_cast<std::size_t>((end - row) * block->row_bytes);
      const auto buffer = std::make_unique_for_overwrite<char[]>(bytes);
      fill(*block, from, *runs, row, end, buffer.get());
      file_.write_at(block->offset + row * block->row_bytes, buffer.get(), bytes);
    });
  }

  void fill(const WrittenBlock& block, const Particles& from, const std::vector<RowRun>& runs, std::int64_t begin,
            std::int64_t end, char* to) const {
    if (block.ids && block.row_bytes == 4)
      return fill_column<std::uint32_t>(runs, begin, end, 0, 1, to,
                                        [&](std::int64_t i) { return static_cast<std::uint32_t>(from.id[i]); });
    if (block.ids)
      return fill_column<std::uint64_t>(runs, begin, end, 0, 1, to, [&](std::int64_t i) { return from.id[i]; });
    const std::size_t width = block.columns.size();
    for (std::size_t c = 0; c < width; ++c) {
      const double* const values = (from.*block.columns[c]).data();
      if (options_.single_precision)
        fill_column<float>(runs, begin, end, c, width, to, [&](std::int64_t i) { return to_single(values[i], path_); });
      else
        fill_column<double>(runs, begin, end, c, width, to, [&](std::int64_t i) { return values[i]; });
    }
  }

  /// One column of a block's rows [begin, end), from the runs in which the particles lie.
  template <class T, class Value>
  void fill_column(const std::vector<RowRun>& runs, std::int64_t begin, std::int64_t end, std::size_t column,
                   std::size_t width, char* to, const Value& value) const {
    for_rows(runs, begin, end, [&](std::int64_t row, std::int64_t place, std::int64_t count) {
      char* next = to + (static_cast<std::size_t>(row - begin) * width + column) * sizeof(T);
      for (std::int64_t i = place; i < place + count; ++i, next += width * sizeof(T)) {
        const T one = options_.big_endian ? swapped(value(i)) : value(i);
        std::memcpy(next, &one, sizeof one);
      }
    });
  }

  void give_name() override { file_.commit(); }

  WriteOptions options_;
  AtomicFile file_;
  std::vector<WrittenBlock> blocks_;
  std::array<std::int64_t, species_count> first_row_{}, next_row_{};
};

template <bool named>
bool is_gadget_file(const InputFile& file) {
  const auto framing = framing_of_file(file);
  return framing && framing->named == named;
}

std::unique_ptr<SnapshotFile> open_gadget_file(const std::filesystem::path& path) {
  return std::make_unique<GadgetFile>(path);
}

std::unique_ptr<SnapshotWriter> make_gadget_writer(const std::filesystem::path& path, const SnapshotHeader& header,
                                                   const SnapshotContents& contents, WriteOptions options) {
  return std::make_unique<GadgetWriter>(path, header, contents, std::move(options));
}

/// What both formats have in common.
SnapshotFormatEntry gadget_entry(SnapshotFormat format, const char* name) {
  SnapshotFormatEntry entry{.format = format,
                            .name = name,
                            .title = "GADGET binary 1 or 2",
                            .suffixes = {},
                            .can = {.accelerations = false, .units = false, .byte_order = true},
                            .single_precision = true,  // the files do not state it, and other programs expect it
                            .recognizes = nullptr,
                            .open = open_gadget_file,
                            .make_writer = make_gadget_writer};
  return entry;
}

}  // namespace

SnapshotFormatEntry gadget1_snapshot_format() {
  SnapshotFormatEntry entry = gadget_entry(SnapshotFormat::gadget1, "gadget1");
  entry.suffixes = {".g1", ".gadget1", ".gadget", ".dat", ""};
  entry.can.potentials = false;
  entry.recognizes = is_gadget_file<false>;
  return entry;
}

SnapshotFormatEntry gadget2_snapshot_format() {
  SnapshotFormatEntry entry = gadget_entry(SnapshotFormat::gadget2, "gadget2");
  entry.suffixes = {".g2", ".gadget2"};
  entry.recognizes = is_gadget_file<true>;
  return entry;
}

}  // namespace pergola
