#include <fmt/core.h>

#include <filesystem>
#include <memory>

#include "app/command.hpp"
#include "base/error.hpp"
#include "io/spectrum_file.hpp"
#include "picture/plasma_plots.hpp"
#include "picture/run_plots.hpp"

namespace pergola::app {

namespace {

namespace fs = std::filesystem;

struct PlotOptions {
  std::string directory;
  std::string output;
};

/// One picture per axis: spectrum_x.png, …
void add_spectra(const fs::path& file, const fs::path& output, std::vector<std::pair<fs::path, Image>>& pictures) {
  const SpectrumFile spectrum = read_spectrum(file);
  for (const AxisSpectrum& axis : spectrum.axes) {
    SpectrumMap map{axis.wave_numbers, axis.frequencies, axis.power, {}, "", "", ""};
    for (const SpectrumCurve& curve : axis.theory)
      map.theory.push_back({map.theory.empty() ? curve.name.substr(0, curve.name.find('_')) : "", curve.wave_numbers,
                            curve.frequencies});
    const bool natural = spectrum.time_unit == "1/omega_p";
    map.wave_number_label = fmt::format("k_{{{}}} (1/{})", axis.axis, spectrum.length_unit);
    map.frequency_label = natural ? "ω (ω_{p})" : fmt::format("ω (1/{})", spectrum.time_unit);
    map.title = fmt::format("Waves of the potential along {}", axis.axis);
    pictures.emplace_back(output / fmt::format("spectrum_{}.png", axis.axis), plot_spectrum(map, 900));
  }
}

void plot_run(const Context& context, const PlotOptions& options) {
  const fs::path directory = options.directory, output = options.output.empty() ? directory : fs::path(options.output);
  if (!fs::is_directory(directory))
    throw Error(ErrorKind::input, fmt::format("{}: expected the directory of a run, found {}", directory.string(),
                                              fs::exists(directory) ? "something else" : "nothing"));
  // All logs are read before the first picture is written.
  const auto energy = RunLog::read(directory / "energy.csv");
  std::vector<std::pair<fs::path, Image>> pictures;
  pictures.emplace_back(output / "energy.png", plot_energy(energy));
  pictures.emplace_back(output / "momentum.png", plot_momentum(energy));
  if (fs::exists(directory / "audit.csv"))
    pictures.emplace_back(output / "audit.png", plot_audit(RunLog::read(directory / "audit.csv")));
  if (fs::exists(directory / "profile.csv"))
    pictures.emplace_back(output / "profile.png", plot_profile(RunLog::read(directory / "profile.csv")));
  if (fs::exists(directory / "spectrum.hdf5")) add_spectra(directory / "spectrum.hdf5", output, pictures);
  if (fs::exists(directory / "wave.csv"))
    pictures.emplace_back(output / "wave.png", plot_wave(RunLog::read(directory / "wave.csv")));
  if (!context.speaks()) return;

  if (!options.output.empty()) {
    std::error_code code;
    fs::create_directories(output, code);
    if (code) throw Error(ErrorKind::system, fmt::format("{}: cannot be made: {}", output.string(), code.message()));
  }
  auto list = nlohmann::json::array();
  std::string text;
  for (const auto& [path, image] : pictures) {
    write_png(path, image);
    list.push_back({{"file", path.string()}, {"width", image.width()}, {"height", image.height()}});
    text += path.string() + "\n";
  }
  if (context.json)
    context.print(list);
  else
    context.print(text);
}

}  // namespace

void add_plot(Command program, Context& context) {
  auto options = std::make_shared<PlotOptions>();
  auto command = program.add_subcommand("plot", "Plot the logs of a run: energy error, momentum drift, stage times");
  command->add_option("directory", options->directory, "Directory of a run; needs energy.csv, uses its other logs")
      ->required();
  command->add_option("-o,--output", options->output, "Directory for the pictures; default: that of the run");
  command->footer(
      "Example:\n  pergola plot cluster\n\nWrites energy.png, momentum.png and profile.png; of a plasma also "
      "spectrum_x.png, … and wave.png.");
  command->callback([&context, options] { plot_run(context, *options); });
}

}  // namespace pergola::app
