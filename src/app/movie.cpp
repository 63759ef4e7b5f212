#include <fmt/core.h>
#include <unistd.h>

#include <cstdio>
#include <memory>

#include "app/command.hpp"
#include "app/film.hpp"
#include "app/plasma_pictures.hpp"
#include "app/scene.hpp"
#include "app/series.hpp"
#include "app/written_files.hpp"
#include "base/error.hpp"
#include "base/stopwatch.hpp"
#include "comm/agreement.hpp"
#include "io/openpmd.hpp"

namespace pergola::app {

namespace {

struct MovieCommand {
  std::string directory, output;
  int frames_per_second = 12;
  int every = 1;
  PictureOptions options;
};

/// One line on a terminal that is written over; elsewhere a line every tenth of the film, at most one a second.
class FilmProgress {
 public:
  explicit FilmProgress(bool quiet) : quiet_(quiet), terminal_(::isatty(STDERR_FILENO) != 0) {}

  void show(std::size_t done, std::size_t all) {
    if (quiet_) return;
    if (terminal_) {
      fmt::print(stderr, "\r\033[Kframe {} of {}{}", done, all, done == all ? "\r\033[K" : "");
      std::fflush(stderr);
    } else if (10 * done / all > tenth_ && done < all && seconds_since(last_line_) >= 1) {
      fmt::print(stderr, "frame {} of {}\n", done, all);
      tenth_ = 10 * done / all, last_line_ = Clock::now();
    }
  }

 private:
  bool quiet_, terminal_;
  std::size_t tenth_ = 0;
  Clock::time_point last_line_ = Clock::now();
};

std::vector<std::string> frames_of(const MovieCommand& command) {
  const auto files = text_of(snapshots_in(command.directory));
  std::vector<std::string> chosen;
  for (std::size_t k = 0; k < files.size(); k += static_cast<std::size_t>(command.every)) chosen.push_back(files[k]);
  if (chosen.size() < 2)
    throw Error(ErrorKind::input, fmt::format("{}: expected at least two snapshots for a film, found {}",
                                              command.directory, chosen.size()));
  return chosen;
}

void make_movie(const Context& context, const MovieCommand& command) {
  const auto files = frames_of(command);
  const std::string output = !command.output.empty()
                                 ? command.output
                                 : fmt::format("{}/film.{}", command.directory, has_ffmpeg() ? "mp4" : "gif");
  check_film_name(output);
  const bool plasma = is_openpmd(files[0]);
  const auto& options = command.options;
  options.check(plasma, files[0]);
  catch_interrupts();
  const int threads = Device::open("cpu", context.threads).threads();
  FewBodyFiles earlier;
  const PlasmaRanges ranges = plasma ? common_ranges(options, files, threads) : PlasmaRanges{};
  const Look look = plasma ? Look{} : common_look(options, files, earlier, threads);
  std::unique_ptr<FilmWriter> film;
  FilmProgress progress(context.quiet);
  for (std::size_t k = 0; k < files.size(); ++k) {
    if (interrupted) throw Error(ErrorKind::interrupted, "interrupted; no film is written");
    const Image frame =
        rasterize(plasma ? plasma_picture(options, files[k], ranges, threads).drawing
                         : draw_shown(options, read_shown(options, files[k], earlier), look, threads).figure);
    if (!film) film = open_film(output, frame.width(), frame.height(), command.frames_per_second);
    film->add(frame);
    progress.show(k + 1, files.size());
  }
  WrittenFiles written({output});
  film->finish();
  nlohmann::json said;  // nothing unless asked for: memory may end where it is destroyed, too late for a folder to go
  if (context.json) {
    said = {{"file", output}, {"frames", files.size()}, {"frames_per_second", command.frames_per_second}};
    if (look.range) said["range"] = {look.range->low, look.range->high};
    if (!plasma) said["width"] = look.frame.width;
  }
  written.print_and_keep(context, fmt::format("{}: {} frames\n", output, files.size()), said);
}

}  // namespace

void add_movie(Command program, Context& context) {
  auto options = std::make_shared<MovieCommand>();
  options->options.pixels = 720;
  auto command = program.add_subcommand("movie", "A film of a run's snapshots, in one frame and one range of colours");
  command->add_option("directory", options->directory, "Directory of a run with at least two snapshots")->required();
  command
      ->add_option("-o,--output", options->output,
                   "film.mp4 (needs ffmpeg), film.gif, or frames/ for a folder of PNG files; default: DIR/film.mp4 "
                   "where ffmpeg is found, else DIR/film.gif")
      ->type_name("NAME");
  command->add_option("--fps", options->frames_per_second, "Frames per second")->between(1, 50)->capture_default_str();
  command->add_option("--every", options->every, "Take every K-th snapshot only")->between(1, 1000000);
  add_picture_options(command, options->options);
  command->footer(
      "Examples:\n  pergola movie cluster -o cluster.gif --size 400\n"
      "  pergola movie collision -o collision.mp4 --color-species --width 24 --fps 24");
  command->callback([&context, options] { on_root(*context.communicator, [&] { make_movie(context, *options); }); });
}

}  // namespace pergola::app
