// `pergola view DIRECTORY`, and the page of `pergola run --view`: what a page in a browser gets to see.
//
// src/view serves the page; this file feeds it: state (run.json and logs), points of a snapshot, density for a camera.
// A directory is read again for each request, so that a page of a run in progress stays current. Points are a sample of
// at most the number that the page asks for; density counts all particles. Numbers are in the units of the run; single
// precision is enough for pictures.
#include "app/view.hpp"
#include "app/command.hpp"
#include "app/run_files.hpp"
#include "base/error.hpp"
#include "base/stopwatch.hpp"
#include "device/device.hpp"
#include "io/openpmd.hpp"
#include "io/snapshot.hpp"
#include "outputs/output.hpp"
#include "picture/run_plots.hpp"
#include "sim/plasma_curves.hpp"
#include "sim/unit_text.hpp"
#include "view/messages.hpp"
#include "view/server.hpp"

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <memory>
#include <thread>
#include <utility>

namespace pergola::app {

namespace fs = std::filesystem;
using nlohmann::json;

namespace {

/// Memory for all points at once: lists that grow would take twice as much for a moment.
void reserve(ViewPoints& points, std::size_t count) {
  for (auto* list : {&points.x, &points.y, &points.z, &points.speed}) list->reserve(count);
  points.kind.reserve(count), points.id.reserve(count);
}

/// Reads ranges of 64 Ki particles and picks from them, to save memory.
ViewPoints points_of_snapshot(const fs::path& file, std::int64_t most, int threads) {
  SnapshotSource source(file, threads);
  const SnapshotHeader& header = source.summary().header;
  ViewPoints points;
  points.time = header.time;
  points.time_text = time_text(header);
  points.total = source.count();
  points.units.fill(unit_texts(header).length);
  points.kinds.assign(species_names.begin(), species_names.end());
  points.box_side = header.box_size;
  const auto places = sample_places(source.count(), most);
  reserve(points, places.size());
  constexpr std::int64_t piece = 65536;
  Particles some;
  std::int64_t first = 0, end = 0;
  for (const std::int64_t place : places) {
    if (place >= end) {
      first = place;
      end = std::min(first + piece, source.count());
      source.read(first, end - first, some);
    }
    const auto i = static_cast<std::size_t>(place - first);
    points.x.push_back(static_cast<float>(some.x[i]));
    points.y.push_back(static_cast<float>(some.y[i]));
    points.z.push_back(static_cast<float>(some.z[i]));
    points.speed.push_back(static_cast<float>(std::hypot(some.vx[i], some.vy[i], some.vz[i])));
    points.kind.push_back(some.species[i]);
    points.id.push_back(some.id[i]);
  }
  return points;
}

/// One piece after the other, to save memory.
ViewDensity density_of_snapshot(const fs::path& file, const Sight& sight, int threads) {
  SnapshotSource source(file, threads);
  const SnapshotHeader& header = source.summary().header;
  ViewDensity density{header.time, time_text(header), 0, source.count(), {sight.width, sight.height, {}}};
  const Device device = Device::open("cpu", threads);
  SeenCounter counter;
  constexpr std::int64_t piece = std::int64_t{1} << 20;
  Particles some;
  for (std::int64_t first = 0; first < source.count(); first += piece) {
    source.read(first, std::min(piece, source.count() - first), some);
    density.seen.add(counter.count(*show_particles(device, some), sight));
  }
  return density;
}

/// The time of an openPMD file with its unit.
std::string time_of_file(const OpenPmdSummary& summary) {
  return fmt::format("t = {:.6g}{}{}", summary.time, summary.time_unit.empty() ? "" : " ", summary.time_unit);
}

/// Counts places in the plane of a picture of phase space: x, y, and vx as the third axis.
ViewDensity density_of_plasma(const fs::path& file, const Sight& sight, int threads) {
  const OpenPmdSummary summary = inspect_openpmd(file);
  ViewDensity density{
      summary.time, time_of_file(summary), 0, summary.particle_count(), {sight.width, sight.height, {}}};
  const Device device = Device::open("cpu", threads);
  SeenCounter counter;
  for (const auto& species : summary.species) {
    Particles some;
    some.resize(species.count);
    some.x = read_openpmd_coordinate(file, species.name, "x");
    some.y = read_openpmd_coordinate(file, species.name, "y");
    some.z = read_openpmd_coordinate(file, species.name, "vx");
    density.seen.add(counter.count(*show_particles(device, some), sight));
  }
  return density;
}

/// Charge density and strength of the electric field, in this order, and the field along x with its waves, if the file
/// has them.
void add_fields(const fs::path& file, const OpenPmdSummary& summary, ViewPoints& points) {
  std::array<int, 3> cells{1, 1, 1};
  for (std::size_t k = 0; k < summary.cells.size() && k < 3; ++k) cells[k] = static_cast<int>(summary.cells[k]);
  const std::array<double, 2> spacing{summary.spacing.at(0), summary.spacing.at(1)};
  auto& maps = points.maps;
  for (const OpenPmdMesh& mesh : summary.meshes) {
    if (mesh.name == "rho")
      maps.insert(maps.begin(), state_map("charge density", mesh.unit, read_openpmd_mesh(file, "rho"), cells, spacing));
    if (mesh.name != "E" || mesh.components.empty()) continue;
    std::array<std::vector<double>, 3> electric;
    for (std::size_t k = 0; k < mesh.components.size() && k < 3; ++k)
      electric[k] = read_openpmd_mesh(file, fmt::format("E/{}", mesh.components[k]));
    maps.push_back(state_map("|E|", mesh.unit, lengths_of(electric), cells, spacing));
    points.curves = field_curves(whole_field(electric[0]), cells, summary.dimensions, 0, spacing[0], 1);
  }
}

/// Phase space: x, y and the velocity along x; z of a file with three dimensions is not shown.
ViewPoints points_of_plasma(const fs::path& file, std::int64_t most) {
  const OpenPmdSummary summary = inspect_openpmd(file);
  ViewPoints points;
  points.time = summary.time;
  points.time_text = time_of_file(summary);
  add_fields(file, summary, points);
  points.total = summary.particle_count();
  points.axes = {"x", "y", "vx"};
  const std::string& length = summary.length_unit;
  points.units = {length, length, summary.velocity_unit()};
  constexpr std::size_t most_kinds = 16;
  const std::size_t kinds = std::min(summary.species.size(), most_kinds);
  for (std::size_t k = 0; k < kinds; ++k) {
    const auto& species = summary.species[k];
    points.kinds.push_back(species.name);
    const auto share = std::max<std::int64_t>(
        1, static_cast<std::int64_t>(static_cast<double>(most) * static_cast<double>(species.count) /
                                     std::max(1.0, static_cast<double>(points.total))));
    const auto x = read_openpmd_coordinate(file, species.name, "x");
    const auto y = read_openpmd_coordinate(file, species.name, "y");
    const auto vx = read_openpmd_coordinate(file, species.name, "vx");
    for (const std::int64_t place : sample_places(static_cast<std::int64_t>(x.size()), share)) {
      const auto i = static_cast<std::size_t>(place);
      points.x.push_back(static_cast<float>(x[i]));
      points.y.push_back(static_cast<float>(y[i]));
      points.z.push_back(static_cast<float>(vx[i]));
      points.speed.push_back(static_cast<float>(std::abs(vx[i])));
      points.kind.push_back(static_cast<std::uint8_t>(k));
    }
  }
  return points;
}

/// A log as columns of numbers, thinned to at most 2,000 lines; an empty object if there is none yet.
json log_json(const fs::path& file) {
  json columns = json::object();
  std::error_code ignored;
  if (!fs::exists(file, ignored)) return columns;
  RunLog log;
  try {
    log = RunLog::read(file);
  } catch (const Error&) {
    return columns;  // a run that has just begun may not have written its first line
  }
  constexpr std::size_t most = 2000;
  const std::size_t every = std::max<std::size_t>(1, (log.rows() + most - 1) / most);
  for (const std::string& name : log.names()) {
    const auto values = log.numbers(name);
    json column = json::array();
    for (std::size_t row = 0; row < values.size(); ++row)
      if (row % every == 0 || row + 1 == values.size()) column.push_back(json_number(values[row]));
    columns[name] = std::move(column);
  }
  return columns;
}

}  // namespace

RunFolderFeed::RunFolderFeed(fs::path directory, int threads) : directory_(std::move(directory)), threads_(threads) {}

/// A directory that a run has just begun to fill counts, if run.json is there.
void RunFolderFeed::require_run() const {
  std::error_code error;
  if (!fs::is_directory(directory_, error))
    throw Error(ErrorKind::input, fmt::format("{}: expected the directory of a run", directory_.string()));
  if (!fs::exists(directory_ / "run.json", error) && list().empty())
    throw Error(ErrorKind::input,
                fmt::format("{}: expected run.json or snapshots, found neither: not the directory of a run",
                            directory_.string()));
}

std::map<std::int64_t, fs::path> RunFolderFeed::list() const {
  std::map<std::int64_t, fs::path> found;
  std::error_code error;
  if (!fs::is_directory(directory_, error)) return found;
  for (const char* pattern : {"snap_#.hdf5", "plasma_#.h5"}) found.merge(numbered_files(directory_, pattern));
  return found;
}

/// The page's state: title, record, numbers of the snapshots, and the logs.
std::string RunFolderFeed::state() {
  json state{{"kind", "state"},
             {"title", fs::absolute(directory_).lexically_normal().filename().string()},
             {"live", false},
             {"control", false}};
  const json record = run_json(directory_);
  for (const char* key : {"status", "device_name", "precision", "n", "start_time", "time", "end_time", "totals",
                          "energy_error", "checks"})
    if (record.contains(key)) state[key] = record[key];
  json numbers = json::array();
  for (const auto& [number, path] : list()) numbers.push_back(number);
  state["snapshots"] = std::move(numbers);
  for (const char* name : {"energy", "audit"}) state[name] = log_json(directory_ / fmt::format("{}.csv", name));
  return state.dump(-1, ' ', false, json::error_handler_t::replace);
}

fs::path RunFolderFeed::file_of(std::int64_t number) const {
  const auto files = list();
  const auto found = files.find(number);
  if (found == files.end())
    throw Error(ErrorKind::input, fmt::format("{}: has no snapshot {}", directory_.string(), number));
  return found->second;
}

std::shared_ptr<const std::string> RunFolderFeed::density(std::int64_t number, const Sight& sight) {
  const fs::path file = file_of(number);
  ViewDensity density =
      is_openpmd(file) ? density_of_plasma(file, sight, threads_) : density_of_snapshot(file, sight, threads_);
  density.number = number;
  return std::make_shared<const std::string>(encode_density(density));
}

std::shared_ptr<const std::string> RunFolderFeed::newest_density(std::int64_t /*serial*/, const Sight& /*sight*/) {
  return nullptr;
}

std::shared_ptr<const std::string> RunFolderFeed::snapshot(std::int64_t number, std::int64_t most) {
  const fs::path file = file_of(number);
  ViewPoints points = is_openpmd(file) ? points_of_plasma(file, most) : points_of_snapshot(file, most, threads_);
  points.number = number;
  return std::make_shared<const std::string>(encode_points(points));
}

std::uint64_t RunFolderFeed::id(std::int64_t number, std::int64_t most, std::int64_t point, bool /*of_run*/) {
  const fs::path file = file_of(number);
  return is_openpmd(file) ? 0 : point_id(points_of_snapshot(file, most, threads_), point);
}

/// `serial` is one more than the number of the snapshot that the page has. Null: there is no newer one.
std::shared_ptr<const std::string> RunFolderFeed::newest(std::int64_t& serial, std::int64_t most) {
  const auto files = list();
  if (files.empty() || files.rbegin()->first + 1 <= serial) return nullptr;
  serial = files.rbegin()->first + 1;
  return snapshot(serial - 1, most);
}

std::string RunFolderFeed::act(const std::string& /*action*/, const std::string& /*argument*/) {
  throw Error(ErrorKind::input,
              "this page looks at files; a run is steered from the page of pergola run --view --control");
}

namespace {

/// In phase space the third axis is the velocity along x.
void name_axes(const SampleLook& look, ViewPoints& points) {
  points.units.fill(look.length_unit.empty() ? unit_texts(look.header).length : look.length_unit);
  if (!look.phase_space) return;
  points.axes[2] = "vx";
  points.units[2] = fmt::format("{}/({})", look.length_unit, look.time_unit);
}

std::string time_of_look(const SampleLook& look) {
  return look.time_unit.empty() ? time_text(look.header)
                                : fmt::format("t = {:.6g} {}", look.header.time, look.time_unit);
}

ViewDensity density_of_system(System& system, const Sight& sight) {
  const SampleLook look = system.sample_look();
  return {look.header.time, time_of_look(look), 0, system.size(), system.density(sight)};
}

/// The same as points_of_snapshot() for the particles in memory. Called between steps.
ViewPoints points_of_system(System& system, std::int64_t most) {
  SampledPoints sample = system.sample_points(most);
  const SampleLook look = system.sample_look();
  ViewPoints points;
  points.time = look.header.time;
  points.time_text = time_of_look(look);
  points.total = system.size();
  points.maps = system.maps();
  points.kinds = look.kinds;
  points.box_side = look.header.box_size;
  name_axes(look, points);
  points.x = std::move(sample.x), points.y = std::move(sample.y), points.z = std::move(sample.z);
  points.speed = std::move(sample.speed);
  points.kind = std::move(sample.species), points.id = std::move(sample.id);
  return points;
}

}  // namespace

LiveView::LiveView(const Context& context, const RunConfig& config, const std::filesystem::path& directory,
                   const ViewOptions& where, bool control)
    : files_(directory, 1),
      feed_(files_, config, directory,
            {.control = control,
             .ranks = context.communicator->size(),
             .points = points_of_system,
             .density = density_of_system}),
      server_(feed_, where) {
  // Also with --quiet, for the page cannot be found otherwise; stdout may be for JSON. A closed stderr must not stop a
  // run.
  std::fputs(fmt::format("pergola: this run is shown at {}\n", server_.url()).c_str(), stderr);
}

/// Waits until all open pages have asked for the last state, at most five seconds.
void LiveView::end(RunStatus status) {
  constexpr double patience_seconds = 5;
  feed_.end(status == RunStatus::interrupted ? "interrupted" : "finished");
  const auto begin = Clock::now();
  while (server_.pages() > 0 && feed_.states_after_end() < server_.pages() && !interrupted &&
         seconds_since(begin) < patience_seconds)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
}

namespace {

struct ViewCommand {
  std::string directory;
  std::string address = "127.0.0.1";
  int port = 0;
};

/// Serves until Ctrl-C. One process only: ranks would each open a page.
void view(Context& context, const ViewCommand& command) {
  if (context.communicator->size() > 1)
    throw Error(ErrorKind::input, fmt::format("view: expected one process, found {}: start it without mpirun",
                                              context.communicator->size()));
  RunFolderFeed feed(command.directory, context.threads > 0 ? context.threads : available_cores());
  feed.require_run();
  catch_interrupts();
  const ViewServer server(feed, {command.address, command.port});
  if (context.json)
    context.print(nlohmann::json{{"url", server.url()}, {"port", server.port()}, {"token", server.token()}});
  else
    context.print(fmt::format("{}\n", server.url()));
  flush_output();
  context.remark(fmt::format("the page shows {} until Ctrl-C; from another machine first: ssh -L {}:127.0.0.1:{} HOST",
                             command.directory, server.port(), server.port()));
  while (!interrupted) std::this_thread::sleep_for(std::chrono::milliseconds(100));
}

}  // namespace

void add_view(Command program, Context& context) {
  auto command = program.add_subcommand("view", "Show the directory of a run, finished or running, in a browser");
  auto options = std::make_shared<ViewCommand>();
  command->add_option("DIR", options->directory, "Directory of a run")->required();
  command->add_option("--port", options->port, "Port to listen on; 0: any that is free")
      ->between(0, 65535)
      ->capture_default_str();
  command->add_option("--listen", options->address, "Address to listen on; others than this machine only if it says so")
      ->capture_default_str();
  command->footer(
      "Prints the address of the page, with a token: who has it sees the run, nobody else does. Ctrl-C ends it.\n"
      "The page shows the particles of every snapshot in three dimensions, the logs and the report card.\n\n"
      "Example:\n  pergola view cluster");
  command->callback([&context, options] { view(context, *options); });
}

}  // namespace pergola::app
