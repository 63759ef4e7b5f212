#include "io/checkpoint_writer.hpp"

#include <fmt/core.h>
#include <xxhash.h>

#include <algorithm>
#include <cstring>
#include <optional>

#include "device/parallel.hpp"
#include "io/checkpoint.hpp"
#include "io/checkpoint_table.hpp"
#include "io/write_queue.hpp"

// Writing: the blocks' bytes go to their final places as they come, and the head with the table is written last, when
// all checksums are known. The file has a temporary name until then. `for_pieces` cuts a state into pieces of equal
// size across the borders of blocks; `queue_checkpoint` gives them to the thread that writes.
namespace pergola {

namespace fs = std::filesystem;

/// Where the writer stands: in which block and at which of its bytes, with the checksum of the segment it is in.
struct CheckpointWriter::Progress {
  checkpoint::Table table;
  std::size_t block = 0;
  std::uint64_t at = 0;
  std::unique_ptr<XXH3_state_t, XXH_errorcode (*)(XXH3_state_t*)> open{XXH3_createState(), XXH3_freeState};

  checkpoint::Entry& entry() { return table.entries[block]; }
  bool ended() const { return block == table.entries.size(); }
  /// Goes on to the next block with bytes that are missing.
  void skip_full() {
    while (!ended() && at == entry().bytes) {
      ++block;
      at = 0;
    }
  }
};

CheckpointWriter::CheckpointWriter(const fs::path& directory, const std::string& description, std::vector<Block> blocks,
                                   int threads)
    : CheckpointWriter(FileOfSet{next_checkpoint(directory), checkpoint::one_file}, description, std::move(blocks),
                       threads) {}

/// The space of the whole file is reserved first: a full disk is found before any byte is written.
CheckpointWriter::CheckpointWriter(const FileOfSet& file, const std::string& description, std::vector<Block> blocks,
                                   int threads)
    : path_(file.path), threads_(threads), file_(path_), progress_(std::make_unique<Progress>()) {
  progress_->table.version = file.version;
  auto& entries = progress_->table.entries;
  entries.push_back({"description", description.size(), {}, 0});
  for (Block& block : blocks) entries.push_back({std::move(block.name), block.bytes, {}, 0});
  file_.reserve(progress_->table.lay_out());
  append(description.data(), description.size());
}

CheckpointWriter::~CheckpointWriter() = default;

void CheckpointWriter::append(const void* data, std::size_t bytes) {
  const char* next = static_cast<const char*>(data);
  std::uint64_t left = bytes;
  for (progress_->skip_full(); left > 0; progress_->skip_full()) {
    if (progress_->ended())
      throw Error(ErrorKind::input, fmt::format("{}: a checkpoint's blocks are longer than was said", path_.string()));
    const std::uint64_t now = std::min(left, progress_->entry().bytes - progress_->at);
    append_to_block(next, now);
    next += now;
    left -= now;
  }
}

/// One thread writes while others form the checksums of whole segments. The segments at both ends continue in other
/// calls; their checksums grow in `open`.
void CheckpointWriter::append_to_block(const char* data, std::uint64_t bytes) {
  Progress& p = *progress_;
  checkpoint::Entry& entry = p.entry();
  const std::uint64_t segment = p.table.segment_bytes, begin = p.at, end = p.at + bytes;
  const std::uint64_t first_whole = (begin + segment - 1) / segment,
                      last = end == entry.bytes ? entry.checksums.size() : end / segment;
  const auto whole = static_cast<std::int64_t>(last > first_whole ? last - first_whole : 0);
  const auto add_open = [&](std::uint64_t from, std::uint64_t to) {
    if (from % segment == 0) XXH3_64bits_reset(p.open.get());
    XXH3_64bits_update(p.open.get(), data + (from - begin), to - from);
    if (to % segment == 0 || to == entry.bytes) entry.checksums[from / segment] = XXH3_64bits_digest(p.open.get());
  };
  parallel_for(threads_, whole + 2, [&](std::int64_t task) {
    if (task == 0) return file_.write_at(entry.offset + static_cast<std::int64_t>(begin), data, bytes);
    if (task == 1) {
      const std::uint64_t head_end = std::min(end, first_whole * segment);
      if (begin < head_end) add_open(begin, head_end);
      const std::uint64_t tail = std::max(head_end, last * segment);
      if (tail < end && end < entry.bytes) add_open(tail, end);
      return;
    }
    const std::uint64_t s = first_whole + static_cast<std::uint64_t>(task - 2), from = s * segment;
    entry.checksums[s] = checkpoint::checksum(data + (from - begin), std::min(segment, entry.bytes - from));
  });
  p.at = end;
}

fs::path CheckpointWriter::commit(int kept) {
  commit_alone();
  remove_old_checkpoints(path_.parent_path(), path_, kept);
  return path_;
}

/// Without removing older checkpoints. Returns the checksum at the end of the head, by which a set knows its parts.
std::uint64_t CheckpointWriter::commit_alone() {
  progress_->skip_full();
  if (!progress_->ended())
    throw Error(ErrorKind::input,
                fmt::format("{}: block {} of a checkpoint ends after {} bytes, expected {}", path_.string(),
                            progress_->entry().name, progress_->at, progress_->entry().bytes));
  const std::string head = progress_->table.head();
  file_.write_at(0, head.data(), head.size());
  file_.commit();
  std::uint64_t end = 0;
  std::memcpy(&end, head.data() + head.size() - sizeof end, sizeof end);
  return end;
}

std::vector<CheckpointWriter::Block> blocks_of(const StateSource& state) {
  std::vector<CheckpointWriter::Block> blocks;
  for (const StateRange& range : state.ranges()) blocks.push_back({range.name, range.bytes()});
  return blocks;
}

namespace {

/// Bytes on their way to the file. Memory is kept when the piece is used again.
struct Piece {
  std::unique_ptr<char[]> data;
  std::size_t bytes = 0, room = 0;

  void make_room(std::size_t wanted) {
    if (room < wanted) data = std::make_unique_for_overwrite<char[]>(wanted);
    room = std::max(room, wanted);
    bytes = 0;
  }
};

/// Calls take(piece) for the bytes of all ranges one after the other, in pieces of about `most` bytes. Who has taken
/// one gives it back to the spares.
template <class Take>
void for_pieces(const StateSource& state, std::int64_t most, Spares<Piece>& spares, const Take& take) {
  std::uint64_t left = 0;
  for (const StateRange& range : state.ranges()) left += range.bytes();
  std::unique_ptr<Piece> piece;
  std::size_t room = 0;  // of this piece, as far as it is used
  for (const StateRange& range : state.ranges())
    for (std::int64_t first = 0; first < range.count;) {
      if (!piece || room - piece->bytes < range.value_bytes) {
        if (piece) take(std::move(piece));
        room = std::max<std::size_t>(std::min(static_cast<std::uint64_t>(most), left), range.value_bytes);
        piece = spares.take();
        piece->make_room(room);
      }
      const auto n =
          std::min(range.count - first, static_cast<std::int64_t>((room - piece->bytes) / range.value_bytes));
      range.copy(first, n, piece->data.get() + piece->bytes);
      const std::size_t copied = static_cast<std::size_t>(n) * range.value_bytes;
      piece->bytes += copied;
      left -= copied;
      first += n;
    }
  if (piece) take(std::move(piece));
}

}  // namespace

void append_state(CheckpointWriter& writer, const StateSource& state, std::int64_t piece_bytes) {
  Spares<Piece> spares;
  for_pieces(state, piece_bytes, spares, [&](std::unique_ptr<Piece> piece) {
    writer.append(piece->data.get(), piece->bytes);
    spares.give(std::move(piece));
  });
}

fs::path write_checkpoint(const fs::path& directory, const std::string& description, const StateSource& state,
                          const CheckpointOptions& options) {
  CheckpointWriter writer(directory, description, blocks_of(state), options.threads);
  append_state(writer, state, options.piece_bytes);
  return writer.commit(options.kept);
}

void queue_checkpoint(WriteQueue& queue, const fs::path& directory, const std::string& description,
                      const StateSource& state, const CheckpointOptions& options,
                      std::function<void(const fs::path&)> done) {
  // Made on the queue's thread: its number is known when the checkpoints before it have theirs.
  const auto writer = std::make_shared<std::optional<CheckpointWriter>>();
  queue.push(0, [writer, directory, description, blocks = blocks_of(state), threads = options.threads] {
    writer->emplace(directory, description, blocks, threads);
  });
  const auto spares = std::make_shared<Spares<Piece>>();
  for_pieces(state, options.piece_bytes, *spares, [&](std::unique_ptr<Piece> piece) {
    const auto bytes = static_cast<std::int64_t>(piece->bytes);
    queue.push(bytes, [writer, spares, held = std::move(piece)]() mutable {
      (*writer)->append(held->data.get(), held->bytes);
      spares->give(std::move(held));
    });
  });
  queue.push(0, [writer, kept = options.kept, done = std::move(done)] {
    const fs::path path = (*writer)->commit(kept);
    writer->reset();
    if (done) done(path);
  });
}

namespace {

/// The ranges with a value per particle, or all the others.
StateSource ranges_of(const StateSource& state, bool per_particle) {
  StateSource some;
  for (const StateRange& range : state.ranges())
    if (range.per_particle == per_particle)
      some.put_range(range.name, range.value_bytes, range.count, range.copy, per_particle);
  return some;
}

std::uint64_t write_file_of_set(const std::filesystem::path& path, std::uint32_t version,
                                const std::string& description, const StateSource& state,
                                const CheckpointOptions& options) {
  CheckpointWriter writer(CheckpointWriter::FileOfSet{path, version}, description, blocks_of(state), options.threads);
  append_state(writer, state, options.piece_bytes);
  return writer.commit_alone();
}

}  // namespace

/// All ranges per particle have the same count on this rank.
CheckpointPart write_checkpoint_part(const std::filesystem::path& first, std::int64_t part, const StateSource& own,
                                     const CheckpointOptions& options) {
  const StateSource fields = ranges_of(own, true);
  CheckpointPart written;
  for (const StateRange& range : fields.ranges()) written.count = range.count;
  written.end_checksum = write_file_of_set(checkpoint_part(first, part), checkpoint::one_file,
                                           fmt::format("part {}", part), fields, options);
  return written;
}

void write_checkpoint_set(const std::filesystem::path& first, const std::string& description, const StateSource& state,
                          const std::vector<CheckpointPart>& parts, const CheckpointOptions& options) {
  StateSource rest = ranges_of(state, false);
  std::string fields;
  for (const StateRange& range : state.ranges())
    if (range.per_particle) fields += fmt::format("{} {}\n", range.name, range.value_bytes);
  rest.put(std::string(checkpoint::parts_block), parts);
  rest.put(std::string(checkpoint::fields_block), std::vector<char>(fields.begin(), fields.end()));
  write_file_of_set(first, checkpoint::first_of_set, description, rest, options);
  remove_old_checkpoints(first.parent_path(), first, options.kept);
}

}  // namespace pergola
