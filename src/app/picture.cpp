// `pergola picture FILES -o OUT`: draws snapshots or openPMD files, side by side if there are several.
//
// Steps: (1) errors that need no data are reported first, (2) one look (frame, camera, colours) for all files, or one
// for each, (3) a panel per file (app/scene.hpp for particles, app/plasma_pictures.hpp for plasmas), (4) one sheet,
// written by rank 0. Under mpirun all ranks share the particles; a plasma and few bodies are drawn by rank 0 alone.
// Sizes are pixels; widths and ranges are in the units of the file.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <memory>
#include <optional>

#include "app/command.hpp"
#include "app/plasma_pictures.hpp"
#include "app/run_files.hpp"
#include "app/scene.hpp"
#include "app/written_files.hpp"
#include "base/error.hpp"
#include "comm/agreement.hpp"
#include "io/openpmd.hpp"
#include "picture/plot.hpp"
#include "sim/unit_text.hpp"

namespace pergola::app {

namespace {

constexpr std::size_t most_files = 36;

/// The options of the command, beside those that `movie` has too.
struct PictureCommand {
  std::vector<std::string> files;
  std::string output;
  std::string frame = "own";
  int columns = 0;  // 0: up to four files in a row, more in a square
  PictureOptions options;
};

constexpr int gap = 4;  // between figures

/// Figures of one size in rows, with a small gap. Up to `most` stand in one row, more in a square.
Drawing side_by_side(const std::vector<Drawing>& figures, int columns_wanted, int most = 4) {
  const int count = static_cast<int>(figures.size());
  if (count == 1) return figures[0];
  const int square = static_cast<int>(std::ceil(std::sqrt(count)));
  const int columns = std::min(count, columns_wanted > 0 ? columns_wanted : count <= most ? count : square);
  const int rows = (count + columns - 1) / columns, width = figures[0].width(), height = figures[0].height();
  Drawing sheet(columns * width + (columns - 1) * gap, rows * height + (rows - 1) * gap);
  for (int k = 0; k < count; ++k)
    sheet.add(figures[static_cast<std::size_t>(k)],
              {static_cast<double>(k % columns * (width + gap)), static_cast<double>(k / columns * (height + gap))});
  return sheet;
}

/// The record of one panel for --json: what to pass to draw the same picture again.
nlohmann::json description(const PictureOptions& options, const Panel& panel, const Look& look, double time) {
  const auto triple = [](Vec3<double> v) { return nlohmann::json{v.x, v.y, v.z}; };
  nlohmann::json said{{"pixels", options.pixels},
                      {"axis", options.axis},
                      {"center", triple(look.frame.center)},
                      {"width", panel.frame.width},
                      {"particles", panel.particles},
                      {"shown", panel.shown},
                      {"time", time}};
  if (look.range) said["range"] = {look.range->low, look.range->high};
  if (look.camera)
    said["camera"] = {{"position", triple(look.camera->position)},
                      {"target", triple(look.camera->target)},
                      {"up", triple(look.camera->up)},
                      {"field_of_view", look.camera->field_of_view_degrees}};
  return said;
}

/// With the colour bar that all panels share to their right.
Drawing with_bar(const Drawing& panels, const PlasmaPicture& one) {
  Drawing sheet(panels.width() + gap + color_bar_room(), panels.height());
  sheet.add(panels, {0, 0});
  sheet.add(draw_color_bar(one.colors, one.colormap, panels.height()), {static_cast<double>(panels.width() + gap), 0});
  return sheet;
}

/// By rank 0 alone. Several files share axes and colours, so that they can be compared.
void picture_plasma(const Context& context, const PictureCommand& command, int threads) {
  WrittenFiles files({command.output});
  std::vector<Drawing> figures;
  auto list = nlohmann::json::array();
  const PlasmaRanges ranges =
      command.files.size() > 1 || command.frame == "series"
          ? common_ranges(command.options,
                          command.frame == "series" ? text_of(series_of(command.files[0])) : command.files, threads)
          : PlasmaRanges{};
  const bool shared = command.files.size() > 1 && ranges.colors && !command.options.by_species();
  std::vector<PlasmaPicture> pictures;
  for (const auto& file : command.files) {
    pictures.push_back(plasma_picture(command.options, file, ranges, threads, !shared));
    figures.push_back(pictures.back().drawing);
    list.push_back(pictures.back().description);
  }
  const Drawing panels = side_by_side(figures, command.columns, 3);  // they are wide
  const Drawing sheet = shared ? with_bar(panels, pictures[0]) : panels;
  write_drawing(command.output, sheet);
  nlohmann::json said = list.size() == 1 ? list[0] : nlohmann::json{{"panels", list}};
  said["file"] = command.output;
  said["width"] = sheet.width();
  said["height"] = sheet.height();
  files.print_and_keep(context, command.output + "\n", said);
}

/// Collective; rank 0 writes.
void picture_particles(const Context& context, const PictureCommand& command, int threads,
                       const std::shared_ptr<Communicator>& ranks) {
  std::optional<WrittenFiles> files;
  if (ranks->is_root()) files.emplace(std::vector<std::filesystem::path>{command.output});
  const auto& options = command.options;
  FewBodyFiles earlier;
  std::optional<Look> common;
  const bool own_centers = command.frame == "own" && options.center == "density";
  if (command.frame == "series")
    common = common_look(options, text_of(series_of(command.files[0])), earlier, threads, ranks);
  else if (command.files.size() > 1)
    common = common_look(options, command.files, earlier, threads, ranks, own_centers);
  std::vector<Drawing> figures;
  auto list = nlohmann::json::array();
  std::string text;
  for (const auto& file : command.files) {
    ShownSnapshot shown = read_shown(options, file, earlier, ranks);
    const SnapshotHeader header = shown.snapshot.header;
    const Look look = !common ? own_look(options, shown) : own_centers ? centred(options, *common, shown) : *common;
    const bool last = figures.size() + 1 == command.files.size();
    Panel panel = draw_shown(options, std::move(shown), look, threads, last);
    if (panel.shown == 0 && panel.particles > 0)
      context.log().warning(fmt::format("{}: the frame holds 0 of {} particles; see --center and --width", file,
                                        grouped(panel.particles)));
    const std::string unit = unit_texts(header).length;
    text += fmt::format("{}: {} of {} particles, {:.4g}{} wide\n", last ? command.output : file, grouped(panel.shown),
                        grouped(panel.particles), panel.frame.width, unit.empty() ? "" : fmt::format(" {}", unit));
    list.push_back(description(options, panel, look, header.time));
    figures.push_back(std::move(panel.figure));
  }
  nlohmann::json said = list.size() == 1 ? list[0] : nlohmann::json{{"panels", list}};
  said["file"] = command.output;
  on_root(*ranks, [&] {
    write_drawing(command.output, side_by_side(figures, command.columns));
    files->print_and_keep(context, text, said);
  });
}

/// Throws Error(input) for errors that need no file.
void check(const PictureCommand& command) {
  drawing_format(command.output, "--output");
  if (command.files.size() > most_files)
    throw Error(ErrorKind::input, fmt::format("picture: expected up to {} files side by side, found {}", most_files,
                                              command.files.size()));
  const bool plasma = is_openpmd(command.files[0]);
  for (const auto& file : command.files) {
    if (is_openpmd(file) != plasma)
      throw Error(ErrorKind::input, fmt::format("{}: expected a file of the same kind as {}, found {}", file,
                                                command.files[0], plasma ? "no openPMD" : "openPMD"));
    command.options.check(plasma, file);
  }
  require_same_units(command.files);
}

/// Collective. Rank 0 decides whether all ranks take part, and all agree.
void make_picture(const Context& context, const PictureCommand& typed) {
  PictureCommand command = typed;
  command.options = typed.options.in_units_of(typed.files[0]);
  const int threads = Device::open("cpu", context.threads).threads();
  Communicator& all = *context.communicator;
  int by_ranks = 0;
  on_root(all, [&] {
    check(command);
    const auto read = command.frame == "series" ? text_of(series_of(command.files[0])) : command.files;
    by_ranks = all.size() > 1 && is_for_ranks(read) ? 1 : 0;
  });
  if (share_value(all, by_ranks) != 0) return picture_particles(context, command, threads, context.communicator);
  on_root(all, [&] {
    is_openpmd(command.files[0]) ? picture_plasma(context, command, threads)
                                 : picture_particles(context, command, threads, serial_communicator());
  });
}

}  // namespace

void add_picture(Command program, Context& context) {
  auto options = std::make_shared<PictureCommand>();
  auto command =
      program.add_subcommand("picture", "Render a snapshot: surface density, or a plasma's phase space or field");
  command
      ->add_option("file", options->files,
                   "Snapshot, in any format that Pergola reads, or an openPMD file; several are shown side by side")
      ->required();
  command->add_option("-o,--output", options->output, "File to write: a name that ends in .png, .svg or .pdf")
      ->required();
  add_picture_options(command, options->options);
  command
      ->add_option("--frame", options->frame,
                   "own: chosen for this picture; series: one frame and range of colours for all snapshots of the run")
      ->one_of({"own", "series"})
      ->capture_default_str();
  command->add_option("--columns", options->columns, "Of several files: how many stand in a row")->between(1, 36);
  command->footer(
      "Examples:\n  pergola picture cluster/snap_004.hdf5 -o cluster.pdf --axis x --width 4 --center density\n"
      "  pergola picture cluster/snap_000.hdf5 cluster/snap_004.hdf5 -o both.png\n"
      "  pergola picture cluster/snap_004.hdf5 -o near.png --camera 3,0,1 --fov 60 --range 0.01,10\n"
      "  pergola picture two-stream/plasma_000400.h5 -o vortices.png --phase x,vx\n\n"
      "Under mpirun all ranks make it together, each from its stretch of the particles; of a plasma rank 0 alone.");
  command->callback([&context, options] { make_picture(context, *options); });
}

}  // namespace pergola::app
