#include <fmt/core.h>
#include <unistd.h>

#include <cstdio>
#include <memory>

#include "app/command.hpp"
#include "app/film.hpp"
#include "app/plasma_pictures.hpp"
#include "app/run_files.hpp"
#include "app/scene.hpp"
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

/// What can be told before frames are made.
struct Film {
  std::vector<std::string> files;
  std::string output;
  bool plasma = false;
};

Film find_film(const MovieCommand& command) {
  Film film{frames_of(command), command.output, false};
  if (film.output.empty()) film.output = fmt::format("{}/{}", command.directory, has_ffmpeg() ? "film.mp4" : "frames/");
  check_film_name(film.output);
  film.plasma = is_openpmd(film.files[0]);
  command.options.in_units_of(film.files[0]).check(film.plasma, film.files[0]);
  return film;
}

/// By all of these ranks; the first one writes.
void make_movie(const Context& context, const MovieCommand& command, const Film& film,
                const std::shared_ptr<Communicator>& ranks) {
  const auto& [files, output, plasma] = film;
  const PictureOptions options = command.options.in_units_of(files[0]);
  catch_interrupts();
  const int threads = Device::open("cpu", context.threads).threads();
  FewBodyFiles earlier;
  const PlasmaRanges ranges = plasma ? common_ranges(options, files, threads) : PlasmaRanges{};
  const Look look = plasma ? Look{} : common_look(options, files, earlier, threads, ranks);
  std::unique_ptr<FilmWriter> writer;
  FilmProgress progress(context.quiet || !ranks->is_root());
  for (std::size_t k = 0; k < files.size(); ++k) {
    std::int64_t ends = interrupted ? 1 : 0;
    ranks->all_reduce(&ends, 1, Reduction::maximum);
    if (ends != 0) throw Error(ErrorKind::interrupted, "interrupted; no film is written");
    const Drawing drawing =
        plasma ? plasma_picture(options, files[k], ranges, threads).drawing
               : draw_shown(options, read_shown(options, files[k], earlier, ranks), look, threads).figure;
    on_root(*ranks, [&] {
      const Image frame = rasterize(drawing);
      if (!writer) writer = open_film(output, frame.width(), frame.height(), command.frames_per_second);
      writer->add(frame);
    });
    progress.show(k + 1, files.size());
  }
  on_root(*ranks, [&] {
    WrittenFiles written({output});
    writer->finish();
    nlohmann::json said;  // nothing unless asked for: memory may end where it is destroyed, too late for a folder to go
    if (context.json) {
      said = {{"file", output}, {"frames", files.size()}, {"frames_per_second", command.frames_per_second}};
      if (look.range) said["range"] = {look.range->low, look.range->high};
      if (!plasma) said["width"] = look.frame.width;
    }
    written.print_and_keep(context, fmt::format("{}: {} frames\n", output, files.size()), said);
  });
}

void make_movie(const Context& context, const MovieCommand& command) {
  Communicator& all = *context.communicator;
  Film film;
  int by_ranks = 0;
  std::string names;  // as rank 0 sees them: a run may write more
  on_root(all, [&] {
    film = find_film(command);
    by_ranks = all.size() > 1 && is_for_ranks(film.files) ? 1 : 0;
    for (const std::string& file : film.files) names += file + '\0';
  });
  if (share_value(all, by_ranks) == 0)
    return on_root(all, [&] { make_movie(context, command, film, serial_communicator()); });
  share(all, names);
  film.files.clear();
  for (std::size_t begin = 0; begin < names.size(); begin = names.find('\0', begin) + 1)
    film.files.push_back(names.substr(begin, names.find('\0', begin) - begin));
  make_movie(context, command, film, context.communicator);
}

}  // namespace

void add_movie(Command program, Context& context) {
  auto options = std::make_shared<MovieCommand>();
  options->options.pixels = 720;
  auto command = program.add_subcommand("movie", "A film of a run's snapshots, in one frame and one range of colours");
  command->add_option("directory", options->directory, "Directory of a run with at least two snapshots")->required();
  command
      ->add_option(
          "-o,--output", options->output,
          "film.mp4 or film.gif (both need ffmpeg), or frames/ for a folder of PNG files; default: DIR/film.mp4 "
          "where ffmpeg is found, else DIR/frames/")
      ->type_name("NAME");
  command->add_option("--fps", options->frames_per_second, "Frames per second")->between(1, 50)->capture_default_str();
  command->add_option("--every", options->every, "Take every K-th snapshot only")->between(1, 1000000);
  add_picture_options(command, options->options);
  command->footer(
      "Examples:\n  pergola movie cluster -o frames/ --size 400\n"
      "  pergola movie collision -o collision.mp4 --color-species --width 24 --fps 24\n\n"
      "Under mpirun all ranks make each frame together; of a plasma rank 0 alone.");
  command->callback([&context, options] { make_movie(context, *options); });
}

}  // namespace pergola::app
