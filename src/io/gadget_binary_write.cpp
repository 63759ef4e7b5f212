#include <fmt/core.h>

#include "base/atomic_file.hpp"
#include "base/error.hpp"
#include "device/parallel.hpp"
#include "io/gadget_binary.hpp"
#include "io/piece_rows.hpp"
#include "io/snapshot_formats.hpp"

namespace pergola {

using namespace gadget;

namespace {

constexpr std::int64_t slab_rows = 65536;

/// A block of the file: one row per particle.
struct Block {
  std::string name;
  bool ids = false;
  std::vector<const std::vector<double> Particles::*> columns;
  std::int64_t row_bytes = 0, offset = 0;  // of its first row in the file
};

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
    for (Block& block : blocks_) {
      const auto bytes = static_cast<std::uint32_t>(contents_.total() * block.row_bytes);
      text += name_record(block.name, bytes) + length(bytes);
      file_.write_at(at, text.data(), text.size());
      block.offset = at + static_cast<std::int64_t>(text.size());
      at = block.offset + bytes;
      text = length(bytes);
    }
    file_.write_at(at, text.data(), text.size());
  }

  void take(const Particles& from, std::int64_t first, std::int64_t n, std::int64_t) override {
    const auto begin = next_row_;
    const PieceRows rows = find_rows(from, first, n, next_row_);
    struct Slab {
      const Block* block;
      const std::vector<RowRun>* runs;
      std::int64_t begin, end;
    };
    std::vector<Slab> slabs;
    for (std::size_t t = 0; t < species_count; ++t) {
      if (next_row_[t] > first_row_[t] + contents_.counts[t])
        throw Error(ErrorKind::input,
                    fmt::format("{}: more particles of species {} than the {} that were to be written", path_.string(),
                                species_names[t], contents_.counts[t]));
      for (const Block& block : blocks_)
        for (std::int64_t row = begin[t]; row < next_row_[t]; row += slab_rows)
          slabs.push_back({&block, &rows.runs[t], row, std::min(row + slab_rows, next_row_[t])});
    }
    parallel_for(options_.threads, static_cast<std::int64_t>(slabs.size()), [&](std::int64_t k) {
      const auto& [block, runs, row, end] = slabs[k];
      const auto bytes = static_cast<std::size_t>((end - row) * block->row_bytes);
      const auto buffer = std::make_unique_for_overwrite<char[]>(bytes);
      fill(*block, from, *runs, row, end, buffer.get());
      file_.write_at(block->offset + row * block->row_bytes, buffer.get(), bytes);
    });
  }

  void fill(const Block& block, const Particles& from, const std::vector<RowRun>& runs, std::int64_t begin,
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
  std::vector<Block> blocks_;
  std::array<std::int64_t, species_count> first_row_{}, next_row_{};
};

}  // namespace

std::unique_ptr<SnapshotWriter> make_gadget_writer(const std::filesystem::path& path, const SnapshotHeader& header,
                                                   const SnapshotContents& contents, WriteOptions options) {
  return std::make_unique<GadgetWriter>(path, header, contents, std::move(options));
}

}  // namespace pergola
