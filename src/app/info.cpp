// `pergola info FILE|DIRECTORY`: shows what a file holds, known by its contents, or what the directory of a run holds.
//
// Kinds: snapshots (HDF5, GADGET, CSV), openPMD files, checkpoints, and directories of runs with all of these. Of a
// directory each piece is looked at: heads and shapes, or with --verify every byte and checksum. A damaged piece does
// not end the command: it is listed and the exit code is 2. A damaged single file is an Error. Numbers are printed in
// the units of the file; the text states them.
#include <fmt/core.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <fstream>
#include <functional>
#include <map>
#include <optional>
#include <vector>

#include "app/command.hpp"
#include "base/error.hpp"
#include "base/text.hpp"
#include "config/config.hpp"
#include "device/device.hpp"
#include "io/checkpoint.hpp"
#include "io/checkpoint_reader.hpp"
#include "io/hdf5_walk.hpp"
#include "io/openpmd.hpp"
#include "io/snapshot.hpp"
#include "io/snapshot_formats.hpp"

namespace pergola::app {

namespace {

namespace fs = std::filesystem;
using nlohmann::json;

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

/// The pieces of a run's directory, in the order of names, checkpoints last. The constructor does all the reading.
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
  /// Adds a piece; an Error(input) of `look` is its damage.
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

  /// run.json: its status is that of the run.
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

  /// The lines below the header; each has as many commas.
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

  /// A snapshot, an openPMD file, or arrays such as a spectrum, by contents.
  void look_at_snapshot(const fs::path& file, Piece& piece) {
    if (is_openpmd(file)) {
      const OpenPmdSummary summary = inspect_openpmd(file);
      piece.time = summary.time;
      piece.count = summary.particle_count();
      if (verify_) verify_hdf5(file);
      return;
    }
    if (!has_snapshot_header(file)) {  // tables/spectrum.hdf5
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

/// A piece for --json; its state is "damaged", "whole" or, without --verify, "not verified".
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

/// Shows what the directory of a run holds, and whether each piece is whole: heads and shapes, or with `verify` every
/// byte. Sets the exit code to 2 if something is damaged. Throws Error(input) if there is nothing of a run.
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

/// The smallest and the largest coordinate along an axis.
struct Extent {
  double low, high;
};

Extent extent_of(const std::vector<double>& values) {
  const auto [low, high] = std::minmax_element(values.begin(), values.end());
  return {*low, *high};
}

/// What is shown of a snapshot.
struct Report {
  std::string file;
  SnapshotSummary summary;
  SnapshotHeader header;
  std::int64_t count = 0;
  std::array<double, species_count> mass{};
  double total_mass = 0;
  std::array<Extent, 3> bounds{};
};

/// Reads the whole snapshot: masses by species and bounds need every particle.
Report make_report(const std::string& file) {
  Report report;
  report.file = file;
  report.summary = inspect_snapshot(file);
  const Snapshot snapshot = read_snapshot(file);
  const auto& p = snapshot.particles;
  report.header = snapshot.header;
  report.count = p.size();
  for (std::int64_t i = 0; i < p.size(); ++i) report.mass[p.species[i]] += p.mass[i];
  for (const double mass : report.mass) report.total_mass += mass;
  report.bounds = {extent_of(p.x), extent_of(p.y), extent_of(p.z)};
  return report;
}

/// Only the binary formats of GADGET have a byte order.
bool has_byte_order(const SnapshotHeader& header) {
  const SnapshotFormatEntry* const format = find_snapshot_format(header.format);  // null: a dialect, as that of SWIFT
  return format && format->can.byte_order;
}
const char* byte_order(const SnapshotHeader& header) { return header.byte_swapped ? "big" : "little"; }
const char* precision(const SnapshotHeader& header) { return header.single_precision ? "single" : "double"; }

json optional_json(const std::optional<double>& value) { return value ? json(*value) : json(); }

/// What a header does not state is null.
json report_json(const Report& report) {
  const auto& header = report.header;
  json species = json::object();
  for (int s = 0; s < species_count; ++s)
    if (report.summary.counts[s] > 0)
      species[std::string(species_names[s])] = {{"count", report.summary.counts[s]}, {"mass", report.mass[s]}};
  json units;
  if (header.units)
    units = {{"length_cm", header.units->length_cm},
             {"mass_g", header.units->mass_g},
             {"velocity_cm_per_s", header.units->velocity_cm_per_s}};
  const auto& [x, y, z] = report.bounds;
  return {{"file", report.file},
          {"format", header.format},
          {"files", header.files},
          {"byte_order", has_byte_order(header) ? json(byte_order(header)) : json()},
          {"precision", precision(header)},
          {"time", header.time},
          {"redshift", header.redshift},
          {"box_size", header.box_size},
          {"omega0", optional_json(header.omega0)},
          {"omega_lambda", optional_json(header.omega_lambda)},
          {"omega_baryon", optional_json(header.omega_baryon)},
          {"hubble_param", optional_json(header.hubble_param)},
          {"units", units},
          {"n", report.count},
          {"species", species},
          {"total_mass", report.total_mass},
          {"bounds", {{"min", {x.low, y.low, z.low}}, {"max", {x.high, y.high, z.high}}}},
          {"fields", report.summary.fields}};
}

std::string line(const std::string& name, const std::string& value) { return fmt::format("{:<12}{}\n", name, value); }

/// One fact per line, with the name in a column of 12 characters.
std::string report_text(const Report& report) {
  const auto& header = report.header;
  std::string text = line("file", report.file);
  text += line("format", fmt::format("{}, {} precision{}{}", header.format, precision(header),
                                     has_byte_order(header) ? fmt::format(", {}-endian", byte_order(header)) : "",
                                     header.files > 1 ? fmt::format(", {} files", header.files) : ""));
  const bool universe = is_cosmological(header);
  text += line("time", to_text(header.time) + (universe ? ", the scale factor" : ""));
  if (universe || header.redshift != 0) text += line("redshift", to_text(header.redshift));
  text += line("box", header.box_size == 0 ? "isolated" : to_text(header.box_size));
  if (header.omega0 || header.omega_lambda || header.hubble_param)
    text +=
        line("cosmology",
             fmt::format("Omega0 {}, OmegaLambda {}, h {}{}", to_text(header.omega0.value_or(0)),
                         to_text(header.omega_lambda.value_or(0)), to_text(header.hubble_param.value_or(0)),
                         header.omega_baryon ? fmt::format(", OmegaBaryon {}", to_text(*header.omega_baryon)) : ""));
  text +=
      line("units", header.units ? fmt::format("{} cm, {} g, {} cm/s", to_text(header.units->length_cm),
                                               to_text(header.units->mass_g), to_text(header.units->velocity_cm_per_s))
                                 : "none stated");
  text += line("particles", std::to_string(report.count));
  for (int s = 0; s < species_count; ++s)
    if (report.summary.counts[s] > 0)
      text += line(fmt::format("  {}", species_names[s]),
                   fmt::format("{}, mass {:.8g}", report.summary.counts[s], report.mass[s]));
  text += line("total mass", fmt::format("{:.8g}", report.total_mass));
  const char* const axes[] = {"x", "y", "z"};
  for (int axis = 0; axis < 3; ++axis)
    text += line(axes[axis], fmt::format("{:.8g} to {:.8g}", report.bounds[axis].low, report.bounds[axis].high));
  return text + line("fields", fmt::format("{}", fmt::join(report.summary.fields, " ")));
}

/// inspect_checkpoint() reads every block, so a shown checkpoint is whole.
void show_checkpoint(const Context& context, const std::string& file) {
  const auto summary = inspect_checkpoint(file);
  const json description = json::parse(summary.description, nullptr, false);
  const auto stated = [&](const char* key) {
    return description.is_object() && description.contains(key) ? description[key] : json();
  };
  if (context.json) {
    json blocks = json::array();
    for (const auto& block : summary.blocks) blocks.push_back({{"name", block.name}, {"bytes", block.bytes}});
    return context.print(json{{"file", file},
                              {"format", "checkpoint"},
                              {"format_version", summary.format_version},
                              {"version", stated("version")},
                              {"time", stated("time")},
                              {"blocks", blocks}});
  }
  std::string text = line("file", file);
  text += line("format", fmt::format("checkpoint, format version {}, all checksums match", summary.format_version));
  for (const char* key : {"version", "time"})
    if (const json value = stated(key); !value.is_null())
      text += line(key, value.is_string() ? value.get<std::string>() : value.dump());
  text += line("blocks", std::to_string(summary.blocks.size()));
  for (const auto& block : summary.blocks)
    text += fmt::format("  {:<28} {}\n", block.name, bytes_text(static_cast<double>(block.bytes)));
  context.print(text);
}

/// Units of an openPMD file are stated in words and in SI.
json openpmd_json(const std::string& file, const OpenPmdSummary& summary) {
  json fields = json::array(), species = json::object();
  for (const auto& mesh : summary.meshes)
    fields.push_back(
        {{"name", mesh.name}, {"components", mesh.components}, {"unit", mesh.unit}, {"unit_si", mesh.unit_si}});
  for (const auto& one : summary.species)
    species[one.name] = {
        {"count", one.count}, {"charge_c", one.charge_c}, {"mass_kg", one.mass_kg}, {"weighting", one.weighting}};
  return {{"file", file},
          {"format", "openpmd"},
          {"version", summary.version},
          {"software", summary.software},
          {"step", summary.step},
          {"time", summary.time},
          {"units",
           {{"length", summary.length_unit},
            {"length_m", summary.length_unit_si},
            {"time", summary.time_unit},
            {"time_s", summary.time_unit_si}}},
          {"cells", summary.cells},
          {"spacing", summary.spacing},
          {"n", summary.particle_count()},
          {"species", species},
          {"fields", fields}};
}

std::string openpmd_text(const std::string& file, const OpenPmdSummary& summary) {
  std::string text = line("file", file);
  text += line("format", fmt::format("openPMD {}{}", summary.version,
                                     summary.software.empty() ? "" : fmt::format(", written by {}", summary.software)));
  text += line("step", std::to_string(summary.step));
  text += line("time", fmt::format("{} {}", to_text(summary.time), summary.time_unit));
  text += line("units", fmt::format("{} = {:.6g} m, {} = {:.6g} s", summary.length_unit, summary.length_unit_si,
                                    summary.time_unit, summary.time_unit_si));
  if (summary.dimensions > 0)
    text += line("cells", fmt::format("{}, {} {} wide", fmt::join(summary.cells, " x "), to_text(summary.spacing[0]),
                                      summary.length_unit));
  text += line("particles", std::to_string(summary.particle_count()));
  for (const auto& one : summary.species)
    text += line(fmt::format("  {}", one.name), fmt::format("{}, charge {:.6g} C, mass {:.6g} kg, weighting {:.6g}",
                                                            one.count, one.charge_c, one.mass_kg, one.weighting));
  std::vector<std::string> names;
  for (const auto& mesh : summary.meshes)
    names.push_back(mesh.components.empty() ? mesh.name
                                            : fmt::format("{}({})", mesh.name, fmt::join(mesh.components, " ")));
  return text + line("fields", fmt::format("{}", fmt::join(names, " ")));
}

/// Directories first, then kinds from the most to the least specific; what remains is taken for a snapshot.
void show_info(Context& context, const std::string& file, bool verify) {
  std::error_code ignored;
  if (std::filesystem::is_directory(file, ignored)) {
    if (context.speaks()) show_run_directory(context, file, verify);
    return;
  }
  if (is_openpmd(file)) {
    const OpenPmdSummary summary = inspect_openpmd(file);
    return context.json ? context.print(openpmd_json(file, summary)) : context.print(openpmd_text(file, summary));
  }
  if (std::filesystem::is_regular_file(file, ignored) && is_checkpoint(file)) return show_checkpoint(context, file);
  const Report report = make_report(file);
  if (context.json)
    context.print(report_json(report));
  else
    context.print(report_text(report));
}

}  // namespace

void add_info(Command program, Context& context) {
  auto command =
      program.add_subcommand("info", "Look into a snapshot, an openPMD file, a checkpoint or the directory of a run");
  struct Request {
    std::string file;
    bool verify = false;
  };
  auto request = std::make_shared<Request>();
  command
      ->add_option(
          "FILE", request->file,
          "HDF5, GADGET binary, CSV, openPMD or a checkpoint, known by its contents; of a snapshot in several files "
          "any one, or their common name; or the directory of a run")
      ->required();
  command->add_flag("--verify", request->verify,
                    "Of a run: read every byte and say whether each piece is whole (a single file always is read so)");
  command->footer("Example:\n  pergola info cluster/snap_000.hdf5 --json\n  pergola info cluster --verify");
  command->callback([&context, request] { show_info(context, request->file, request->verify); });
}

}  // namespace pergola::app
