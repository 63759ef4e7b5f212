#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "app/command.hpp"
#include "app/info_run.hpp"
#include "base/text.hpp"
#include "config/config.hpp"
#include "io/checkpoint.hpp"
#include "io/openpmd.hpp"
#include "io/snapshot.hpp"
#include "io/snapshot_formats.hpp"

namespace pergola::app {

namespace {

using nlohmann::json;

struct Extent {
  double low, high;
};

Extent extent_of(const std::vector<double>& values) {
  const auto [low, high] = std::minmax_element(values.begin(), values.end());
  return {*low, *high};
}

/// Everything that is shown of a snapshot.
struct Report {
  std::string file;
  SnapshotSummary summary;
  SnapshotHeader header;
  std::int64_t count = 0;
  std::array<double, species_count> mass{};
  double total_mass = 0;
  std::array<Extent, 3> bounds{};
};

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

bool has_byte_order(const SnapshotHeader& header) {
  const SnapshotFormatEntry* const format = find_snapshot_format(header.format);  // null: a dialect, as that of SWIFT
  return format && format->can.byte_order;
}
const char* byte_order(const SnapshotHeader& header) { return header.byte_swapped ? "big" : "little"; }
const char* precision(const SnapshotHeader& header) { return header.single_precision ? "single" : "double"; }

json optional_json(const std::optional<double>& value) { return value ? json(*value) : json(); }

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
