#include "fuzz/target.hpp"

#include <algorithm>
#include <fstream>
#include <iterator>

#include "base/error.hpp"
#include "config/config.hpp"
#include "g6/replay.hpp"
#include "g6/trace.hpp"
#include "io/checkpoint.hpp"
#include "io/hdf5_walk.hpp"
#include "io/openpmd.hpp"
#include "io/snapshot.hpp"
#include "view/requests.hpp"

namespace pergola::fuzz {

namespace {

namespace fs = std::filesystem;

std::string bytes_of(const fs::path& path) {
  std::ifstream stream(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

void read_a_snapshot(const fs::path& path) {
  inspect_snapshot(path);
  read_snapshot(path);
}

void read_an_openpmd_file(const fs::path& path) {
  if (!is_openpmd(path)) return;
  const OpenPmdSummary summary = inspect_openpmd(path);
  for (const OpenPmdMesh& mesh : summary.meshes) {
    if (mesh.components.empty()) read_openpmd_mesh(path, mesh.name);
    for (const auto& component : mesh.components) read_openpmd_mesh(path, mesh.name + "/" + component);
  }
  for (const auto& species : summary.species)
    for (const char* coordinate : {"x", "y", "vx"}) read_openpmd_coordinate(path, species.name, coordinate);
}

/// Seven particles of three species.
Snapshot small_snapshot() {
  Snapshot snapshot;
  Particles& p = snapshot.particles;
  p.resize(7);
  for (std::size_t i = 0; i < 7; ++i) {
    const auto t = static_cast<double>(i);
    p.id[i] = 10 * i + 3;
    p.mass[i] = 0.125 * (1 + t);
    p.x[i] = t, p.y[i] = -t, p.z[i] = 0.5 * t;
    p.vx[i] = 0.25, p.vy[i] = t * t, p.vz[i] = -1;
    p.species[i] = static_cast<std::uint8_t>(1 + i / 3);
  }
  snapshot.header.time = 0.75;
  return snapshot;
}

std::vector<std::string> snapshots(const fs::path& scratch, SnapshotFormat format) {
  std::vector<std::string> seeds;
  for (const bool single : {false, true})
    for (const bool big_endian : {false, true}) {
      WriteOptions options;
      options.format = format;
      options.single_precision = single;
      options.big_endian = big_endian && (format == SnapshotFormat::gadget1 || format == SnapshotFormat::gadget2);
      const fs::path path = scratch / "seed.hdf5";
      write_snapshot(path, small_snapshot(), options);
      seeds.push_back(bytes_of(path));
    }
  return seeds;
}

std::vector<std::string> checkpoints(const fs::path& scratch) {
  Checkpoint checkpoint{"{\"version\": 1}", {}};
  checkpoint.blocks.put("x", std::vector<double>{1, 2, 3});
  checkpoint.blocks.put_value("step", 17);
  return {bytes_of(write_checkpoint(scratch / "checkpoint", checkpoint))};
}

/// Two particles, a block of both, its answers and neighbour lists.
std::vector<std::string> traces(const fs::path& scratch) {
  using Kind = g6::TraceCall::Kind;
  {
    g6::TraceWriter writer(scratch / "seed.g6");
    const auto write = [&](Kind kind, const std::function<void(g6::TraceCall&)>& fill) {
      g6::TraceCall call;
      call.kind = kind;
      fill(call);
      writer.write(call);
    };
    write(Kind::open, [](auto&) {});
    for (const int address : {0, 1})
      write(Kind::set_j_particle, [&](g6::TraceCall& c) {
        c.address = address, c.index = 5 + address, c.mass = 1, c.vectors[12] = 2 * address;
      });
    write(Kind::set_time, [](g6::TraceCall& c) { c.time = 0.5; });
    write(Kind::first_half, [](g6::TraceCall& c) {
      c.nj = 2, c.indices = {5, 6}, c.x = {0, 0, 0, 2, 0, 0}, c.v = {0, 0, 0, 0, 0, 0}, c.h2 = {9, 9};
    });
    write(Kind::last_half, [](g6::TraceCall& c) {
      c.acceleration = {0.25, 0, 0, -0.25, 0, 0}, c.jerk = {0, 0, 0, 0, 0, 0}, c.potential = {-0.5, -0.5};
      c.indices = {6, 5}, c.distance = {2, 2};
    });
    write(Kind::read_lists, [](auto&) {});
    write(Kind::get_list, [](g6::TraceCall& c) { c.longest = 4, c.length = 1, c.indices = {6}; });
    write(Kind::close, [](auto&) {});
  }
  return {bytes_of(scratch / "seed.g6")};
}

std::vector<std::string> configurations(const fs::path& examples) {
  std::vector<std::string> seeds;
  for (const auto& entry : fs::directory_iterator(examples))
    if (entry.path().extension() == ".toml") seeds.push_back(bytes_of(entry.path()));
  std::sort(seeds.begin(), seeds.end());  // the same order on every file system
  return seeds;
}

}  // namespace

std::vector<Target> targets(const fs::path& examples, const fs::path& scratch) {
  const auto none = [] { return std::vector<std::string>{}; };
  const auto seeds = [scratch](SnapshotFormat format) { return [=] { return snapshots(scratch, format); }; };
  return {{"gadget-hdf5", read_a_snapshot, {}, seeds(SnapshotFormat::hdf5)},
          {"gadget-hdf5-old", read_a_snapshot, walk_hdf5, none},
          {"gadget-binary-1", read_a_snapshot, {}, seeds(SnapshotFormat::gadget1)},
          {"gadget-binary-2", read_a_snapshot, {}, seeds(SnapshotFormat::gadget2)},
          {"csv", read_a_snapshot, {}, seeds(SnapshotFormat::csv)},
          {"openpmd", read_an_openpmd_file, walk_hdf5, none},
          {"checkpoint", [](const fs::path& path) { read_checkpoint(path); }, {}, [=] { return checkpoints(scratch); }},
          {"toml",
           [](const fs::path& path) { config_text(read_config(path)); },
           {},
           [=] { return configurations(examples); }},
          {"g6-trace",
           [](const fs::path& path) { g6::replay_trace(path, Device::open("cpu", 1), Precision::mixed, false); },
           {},
           [=] { return traces(scratch); }},
          {"view-message",
           [](const fs::path& path) { parse_view_request(bytes_of(path)); },
           {},
           [] {
             return std::vector<std::string>{R"({"ask":"state"})", R"({"ask":"snapshot","number":3,"most":100000})",
                                             R"({"ask":"newest","after":17,"most":100000})",
                                             R"({"do":"fork","argument":"run.end_time=2"})"};
           }}};
}

}  // namespace pergola::fuzz
