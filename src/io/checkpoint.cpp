#include "io/checkpoint.hpp"

#include "io/checkpoint_folder.hpp"
#include "io/checkpoint_reader.hpp"
#include "io/checkpoint_writer.hpp"

namespace pergola {

namespace fs = std::filesystem;

fs::path write_checkpoint(const fs::path& directory, const Checkpoint& checkpoint, int threads, int kept) {
  std::vector<CheckpointWriter::Block> blocks;
  for (const auto& [name, bytes] : checkpoint.blocks.blocks()) blocks.push_back({name, bytes.size()});
  CheckpointWriter writer(directory, checkpoint.description, std::move(blocks), threads);
  for (const auto& [name, bytes] : checkpoint.blocks.blocks()) writer.append(bytes.data(), bytes.size());
  return writer.commit(kept);
}

Checkpoint read_checkpoint(const fs::path& path, int threads) {
  CheckpointReader reader(path, threads);
  Checkpoint checkpoint;
  checkpoint.description = reader.description();
  for (const auto& name : reader.names()) {
    auto& bytes = checkpoint.blocks.blocks()[name];
    bytes.resize(reader.bytes(name));
    reader.read(name, 0, bytes.data(), bytes.size());
  }
  return checkpoint;
}

CheckpointSearch search_checkpoints(const fs::path& directory, int threads) {
  CheckpointSearch search;
  for (const auto& [number, path] : list_checkpoints(directory)) {
    CheckpointSearch::Found found{path, CheckpointSearch::Fault::none, ""};
    try {
      CheckpointReader(path, threads).verify();
    } catch (const OtherVersion& error) {
      found.fault = CheckpointSearch::Fault::other_version;
      found.reason = error.what();
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::input) throw;
      found.fault = CheckpointSearch::Fault::damaged;
      found.reason = error.what();
    }
    const bool usable = found.fault == CheckpointSearch::Fault::none;
    search.found.push_back(std::move(found));
    search.state = usable ? CheckpointSearch::State::usable : CheckpointSearch::State::none_usable;
    if (usable) break;
  }
  return search;
}

std::optional<Checkpoint> read_newest_checkpoint(const fs::path& directory,
                                                 const std::function<void(const std::string&)>& warn) {
  for (const auto& [number, path] : list_checkpoints(directory)) {
    try {
      return read_checkpoint(path);
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::input) throw;
      if (warn) warn(error.what());
    }
  }
  return std::nullopt;
}

bool is_checkpoint(const fs::path& path) {
  const InputFile file(path);
  if (file.size() < static_cast<std::int64_t>(checkpoint::magic.size())) return false;
  std::string start(checkpoint::magic.size(), '\0');
  file.read(0, start.data(), start.size());
  return start == checkpoint::magic;
}

CheckpointSummary inspect_checkpoint(const fs::path& path) {
  CheckpointReader reader(path);
  reader.verify();
  CheckpointSummary summary{reader.format_version(), reader.description(), {}};
  for (const auto& name : reader.names()) summary.blocks.push_back({name, reader.bytes(name)});
  return summary;
}

}  // namespace pergola
