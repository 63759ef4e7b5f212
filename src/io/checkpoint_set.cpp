#include "io/checkpoint_set.hpp"

#include <fmt/core.h>

#include <algorithm>

#include "io/checkpoint_folder.hpp"
#include "io/checkpoint_table.hpp"

namespace pergola {

namespace {

StateSource ranges_of(const StateSource& state, bool per_particle) {
  StateSource some;
  for (const StateRange& range : state.ranges())
    if (range.per_particle == per_particle)
      some.put_range(range.name, range.value_bytes, range.count, range.copy, per_particle);
  return some;
}

std::uint64_t write(const std::filesystem::path& path, std::uint32_t version, const std::string& description,
                    const StateSource& state, const CheckpointOptions& options) {
  CheckpointWriter writer(CheckpointWriter::FileOfSet{path, version}, description, blocks_of(state), options.threads);
  append_state(writer, state, options.piece_bytes);
  return writer.commit_alone();
}

}  // namespace

CheckpointPart write_checkpoint_part(const std::filesystem::path& first, std::int64_t part, const StateSource& own,
                                     const CheckpointOptions& options) {
  const StateSource fields = ranges_of(own, true);
  CheckpointPart written;
  for (const StateRange& range : fields.ranges()) written.count = range.count;
  written.end_checksum =
      write(checkpoint_part(first, part), checkpoint::one_file, fmt::format("part {}", part), fields, options);
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
  write(first, checkpoint::first_of_set, description, rest, options);
  remove_old_checkpoints(first.parent_path(), first, options.kept);
}

}  // namespace pergola
