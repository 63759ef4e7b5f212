#include "app/info_run.hpp"
#include "base/error.hpp"
#include "base/text.hpp"
#include "device/device.hpp"
#include "io/checkpoint.hpp"
#include "io/checkpoint_reader.hpp"
#include "io/hdf5_walk.hpp"
#include "io/openpmd.hpp"
#include "io/snapshot.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <fstream>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <vector>


namespace pergola::app {

namespace fs = std::filesystem;
using nlohmann::json;

namespace {

/// One file of a run, or a set of them: a snapshot in several files, a checkpoint with its parts.
struct Piece {
  std::string name;  // relative to the directory; of a set the common one
  std::string kind;  // record | log | snapshot | arrays | checkpoint
  std::int64_t files = 1;
  std::uint64_t bytes = 0;  // of all of them
  std::optional<double> time;
  std::optional<std::int64_t> count;  // particles of a snapshot, lines of a log
  std::string damage;                 // one sentence; empty: whole as far as was looked
};

class Directory {
 public:
  Directory(const fs::path& path, bool verify, int threads) : path_(path), verify_(verify), threads_(threads) {
    std::vector<std::string> names;
    std::error_code error;
    for (fs::directory_iterator it(path, error), end; !error && it != end; it.increment(error))
      if (it->is_regular_file(error)) names.push_back(it->path().filename().string());
    if (error) throw Error(ErrorKind::system, fmt::format("{}: cannot be read: {}", path.string(), error.message()));
    std::sort(names.begin(), names.end());
    for (const std::string& name : names)
      if (const auto part = part_name(path / name)) sets_[part->whole.filename().string()].push_back(path / name);
    for (const std::string& name : names) look_at(name);
    for (const NumberedCheckpoint& found : list_checkpoints(path / "checkpoint")) look_at_checkpoint(found.path);
  }

  const std::vector<Piece>& pieces() const { return pieces_; }
  const std::string& state() const { return state_; }

 private:
  /// Adds a piece; what `look` throws of Error(input) is its damage.
  void add(const std::string& name, const std::string& kind, const std::vector<fs::path>& files,
           const std::function<void(Piece&)>& look) {
    Piece piece;
    piece.name = name;
    piece.kind = kind;
    piece.files = std::ssize(files);
    for (const fs::path& file : files) {
      std::error_code error;
      const auto bytes = fs::file_size(file, error);
      if (!error) piece.bytes += bytes;
    }
    try {
      look(piece);
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::input) throw;
      piece.damage = error.what();
    }
    pieces_.push_back(std::move(piece));
  }

  void look_at(const std::string& name) {
    const std::string ending = fs::path(name).extension().string();
    if (name.starts_with(".")) return;
    const std::vector<fs::path> alone{path_ / name};
    if (name == "run.json") return add(name, "record", alone, [&](Piece& piece) { look_at_record(piece); });
    if (ending == ".csv") return add(name, "log", alone, [&](Piece& piece) { look_at_log(piece); });
    if (ending != ".hdf5" && ending != ".h5") return;
    const auto part = part_name(path_ / name);
    if (!part) return add(name, "snapshot", alone, [&](Piece& piece) { look_at_snapshot(path_ / name, piece); });
    const std::string whole = part->whole.filename().string();
    if (const auto& files = sets_.at(whole); files.front() == path_ / name)  // one look for the set
      add(whole, "snapshot", files, [&](Piece& piece) { look_at_snapshot(path_ / name, piece); });
  }

  void look_at_record(Piece& piece) {
    std::ifstream stream(path_ / piece.name);
    const json record = json::parse(stream, nullptr, false);
    if (!record.is_object())
      throw Error(ErrorKind::input, fmt::format("{}: is not JSON", (path_ / piece.name).string()));
    const auto status = record.find("status");
    if (status != record.end() && status->is_string()) state_ = status->get<std::string>();
    const auto time = record.find("time");
    if (time != record.end() && time->is_number()) piece.time = time->get<double>();
  }

  /// The lines under the names of the columns; each has as many commas as the first.
  void look_at_log(Piece& piece) {
    std::ifstream stream(path_ / piece.name);
    std::string line;
    std::getline(stream, line);
    const auto commas = std::count(line.begin(), line.end(), ',');
    std::int64_t lines = 0;
    while (std::getline(stream, line)) {
      if (line.empty()) continue;
      ++lines;
      if (std::count(line.begin(), line.end(), ',') < commas)
        throw Error(ErrorKind::input,
                    fmt::format("{}: line {} has {} columns, expected {}", (path_ / piece.name).string(), lines + 1,
                                std::count(line.begin(), line.end(), ',') + 1, commas + 1));
    }
    piece.count = lines;
  }

  void look_at_snapshot(const fs::path& file, Piece& piece) {
    if (is_openpmd(file)) {
      const OpenPmdSummary summary = inspect_openpmd(file);
      piece.time = summary.time;
      piece.count = summary.particle_count();
      if (verify_) verify_hdf5(file);
      return;
    }
    if (!has_snapshot_header(file)) {  // spectrum.hdf5
      piece.kind = "arrays";
      if (verify_) verify_hdf5(file);
      return;
    }
    SnapshotSource source(file, threads_);
    piece.time = source.summary().header.time;
    piece.count = source.count();
    if (verify_) source.check();
  }

  void look_at_checkpoint(const fs::path& file) {
    add(fs::relative(file, path_).string(), "checkpoint", checkpoint_files(file), [&](Piece& piece) {
      CheckpointReader reader(file, threads_);
      const json description = json::parse(reader.description(), nullptr, false);
      if (description.is_object() && description.contains("time") && description["time"].is_number())
        piece.time = description["time"].get<double>();
      if (verify_) reader.verify();
    });
  }

  fs::path path_;
  bool verify_;
  int threads_;
  std::map<std::string, std::vector<fs::path>> sets_;  // the files of each, by its name
  std::vector<Piece> pieces_;
  std::string state_;
};

json piece_json(const Piece& piece, bool verified) {
  return {{"name", piece.name},
          {"kind", piece.kind},
          {"files", piece.files},
          {"bytes", piece.bytes},
          {"time", piece.time ? json(*piece.time) : json()},
          {"count", piece.count ? json(*piece.count) : json()},
          {"state", !piece.damage.empty() ? "damaged"
                    : verified            ? "whole"
                                          : "not verified"},
          {"damage", piece.damage.empty() ? json() : json(piece.damage)}};
}

std::string piece_text(const Piece& piece, bool verified) {
  std::string text = fmt::format("{:<34}{:<12}{:>10}", piece.name, piece.kind, bytes_text(double(piece.bytes)));
  text += fmt::format("  {:<14}", piece.time ? fmt::format("t = {:.6g}", *piece.time) : "");
  if (piece.count) text += fmt::format("{} {}  ", *piece.count, piece.kind == "log" ? "lines" : "particles");
  if (piece.files > 1) text += fmt::format("in {} files  ", piece.files);
  return text + (!piece.damage.empty() ? "DAMAGED" : verified ? "whole" : "") + "\n";
}

}  // namespace

void show_run_directory(Context& context, const fs::path& directory, bool verify) {
  const Directory run(directory, verify, context.threads > 0 ? context.threads : available_cores());
  const auto& pieces = run.pieces();
  if (pieces.empty())
    throw Error(ErrorKind::input, fmt::format("{}: is a directory without run.json, snapshots, logs or checkpoints, "
                                              "expected a file or the directory of a run",
                                              directory.string()));
  const auto damaged = std::count_if(pieces.begin(), pieces.end(), [](const Piece& p) { return !p.damage.empty(); });
  if (context.json) {
    json list = json::array();
    for (const Piece& piece : pieces) list.push_back(piece_json(piece, verify));
    context.print(json{{"directory", directory.string()},
                       {"format", "run"},
                       {"status", run.state().empty() ? json() : json(run.state())},
                       {"verified", verify},
                       {"damaged", damaged},
                       {"pieces", list}});
  } else {
    std::string text = fmt::format("{:<12}{}\n", "run", directory.string());
    if (!run.state().empty()) text += fmt::format("{:<12}{}\n", "status", run.state());
    for (const Piece& piece : pieces) text += piece_text(piece, verify);
    for (const Piece& piece : pieces)
      if (!piece.damage.empty()) text += piece.damage + "\n";
    context.print(text);
  }
  if (damaged > 0) context.exit_code = 2;
}

}  // namespace pergola::app
