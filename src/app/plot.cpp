// `pergola plot DIRECTORY`: plots the logs of a run: energy, momentum, radii, stage times, spectra and waves.
//
// Steps: (1) units from run.json, (2) all logs that are there; only energy.csv must be, (3) one picture for each,
// written together: if one fails, none stays. Rank 0 works alone. A log is plotted in the units in which the run wrote
// it, times in those of pictures; labels state them if run.json does.
#include <fmt/core.h>

#include <cmath>
#include <filesystem>
#include <memory>

#include "app/command.hpp"
#include "app/run_files.hpp"
#include "app/written_files.hpp"
#include "base/error.hpp"
#include "base/units.hpp"
#include "comm/agreement.hpp"
#include "io/table_file.hpp"
#include "outputs/output.hpp"
#include "picture/plasma_plots.hpp"
#include "picture/run_plots.hpp"
#include "sim/unit_text.hpp"

namespace pergola::app {

namespace {

namespace fs = std::filesystem;

/// The typed options; an empty `output` means the directory of the run.
struct PlotOptions {
  std::string directory;
  std::string output;
  std::string format = "png";
};

/// The plots of a run by the names of their files, without endings.
using Plots = std::vector<std::pair<std::string, Drawing>>;

/// One plot per axis: spectrum_x, … None for few frequencies or few modes.
void add_spectra(const fs::path& file, const LogUnits& units, Plots& plots) {
  const SpectrumFile spectrum = read_spectrum(file);
  constexpr std::size_t fewest_modes = 4, fewest_frequencies = 16;
  for (const AxisSpectrum& axis : spectrum.axes) {
    if (axis.wave_numbers.size() < fewest_modes || axis.frequencies.size() < fewest_frequencies) continue;
    SpectrumMap map{axis.wave_numbers, axis.frequencies, axis.power, {}, "", "", ""};
    for (const SpectrumCurve& curve : axis.theory)
      map.theory.push_back({map.theory.empty() ? curve.name.substr(0, curve.name.find('_')) : "", curve.wave_numbers,
                            curve.frequencies});
    const std::string time = drawn_unit(spectrum.time_unit);
    map.wave_number_label = fmt::format("k_{{{}}} (1/{})", axis.axis, drawn_unit(spectrum.length_unit));
    map.frequency_label = fmt::format("ω ({})", time.starts_with("1/") ? time.substr(2) : "1/" + time);
    if (!units.potential.empty()) map.power_label += fmt::format(" (({})^{{2}})", units.potential);
    map.title = fmt::format("Waves of the potential along {}", axis.axis);
    plots.emplace_back(fmt::format("spectrum_{}", axis.axis), plot_spectrum(map, 900));
  }
}

/// What a snapshot of the run says of its units: those of a named system, or known one by one.
SnapshotHeader header_of(const nlohmann::json& units) {
  SnapshotHeader header;
  const auto number = [&units](const char* name) {
    const auto found = units.find(name);
    return found != units.end() && found->is_number() ? found->get<double>() : 0.0;
  };
  const UnitSystem* system =
      units.is_object() && units.contains("system") ? find_unit_system(units.value("system", "")) : nullptr;
  const double length = number("length_cm"), time = number("time_s");
  if (system)
    header.units = FileUnits{system->length_cm, system->mass_g, system->velocity_cm_per_s};
  else
    header.units = FileUnits{length, number("mass_g"), time > 0 ? length / time : number("velocity_cm_per_s")};
  return header;
}

/// Units from the run's record; empty if there are none. Times up to `longest` are shown as pictures show them.
LogUnits units_of(const nlohmann::json& record, double longest) {
  const auto word = [&record](const char* pointer) {
    return record.value(nlohmann::json::json_pointer(pointer), nlohmann::json());
  };
  const auto plasma = [&word](const char* name) {
    const auto text = word(fmt::format("/plasma/{}", name).c_str());
    return text.is_string() ? drawn_unit(text.get<std::string>()) : "";
  };
  if (word("/plasma").is_object())
    return {plasma("time_unit"), plasma("energy_unit"), plasma("momentum_unit"), plasma("potential_unit")};
  const bool universe = word("/configuration/cosmology").is_object();
  const auto system = word("/configuration/units");
  const std::string plain = "N-body units";
  if (!universe && system.is_object() && system.value("system", nlohmann::json()) == nbody_units().name)
    return {plain, plain, plain, "", plain};
  SnapshotHeader header = header_of(system);
  if (universe) header.omega0 = 1;  // so that units have their h
  const AnalysisUnits units = plain_units(header);
  LogUnits drawn;
  if (universe) drawn.clock = "scale factor a", drawn.energy_error = "residual of Layzer–Irvine / largest term";
  if (units.length.empty()) return drawn;
  if (const auto [name, factor] = shown_time_unit(header, longest); !universe)
    drawn.time = name, drawn.time_factor = factor;
  drawn.energy = drawn_unit(fmt::format("{} ({})^2", units.mass, units.velocity));
  drawn.momentum = drawn_unit(fmt::format("{} {}; × {}", units.mass, units.velocity, units.length));
  drawn.length = drawn_unit(units.length);
  return drawn;
}

/// "growth rate 0.351 +/- 0.004, theory 0.353" of a wave that grows, "damping rate 0.155 +/- 0.002, theory 0.154,
/// frequency 1.41, theory 1.42" of one that swings, "no clear wave, theory: stable": the fit of the record, which the
/// report card has too.
std::string wave_note(const nlohmann::json& record) {
  const auto value = [&record](const char* name) {
    return record.value(nlohmann::json::json_pointer(std::string("/wave/") + name), nlohmann::json());
  };
  const auto number = [&value](const char* name) {
    const auto found = value(name);
    return found.is_number() ? found.get<double>() : std::nan("");
  };
  const auto after_theory = [](double theory) {
    return std::isfinite(theory) ? fmt::format(", theory {:.4g}", theory) : "";
  };
  const double rate = number("growth_rate"), theory = number("theory"), frequency = number("frequency");
  const bool stable = value("theory") == "stable" || theory == 0;
  const auto rate_theory = [&](double sign) { return stable ? ", theory: stable" : after_theory(sign * theory); };
  if (value("fit") == "none")
    return fmt::format("no clear wave{}",
                       theory < 0 ? fmt::format(", theory: damped with {:.4g}", -theory) : rate_theory(1));
  if (!std::isfinite(rate)) return "";
  const double sign = rate < 0 ? -1 : 1, error = number("error");
  const std::string text =
      fmt::format("{} {:.4g}{}{}", rate < 0 ? "damping rate" : "growth rate", sign * rate,
                  std::isfinite(error) ? fmt::format(" +/- {:.2g}", error) : "", rate_theory(sign));
  if (value("fit") != "oscillation" || !std::isfinite(frequency)) return text;
  return fmt::format("{}, frequency {:.4g}{}", text, frequency, after_theory(number("frequency_theory")));
}

/// A table of a run. Earlier versions wrote it beside the snapshots.
fs::path table_of(const fs::path& directory, const char* name) {
  const fs::path path = directory / table_folder / name;
  return fs::exists(path) ? path : directory / name;
}

/// Reads all logs of a run.
Plots plots_of(const fs::path& directory) {
  const auto energy = RunLog::read(directory / "energy.csv");
  const nlohmann::json record = run_json(directory);
  const LogUnits units = units_of(record, energy.numbers("time").back());
  Plots plots;
  plots.emplace_back("energy", plot_energy(energy, units));
  plots.emplace_back("momentum", plot_momentum(energy, units));
  if (fs::exists(directory / "audit.csv"))
    plots.emplace_back("audit", plot_audit(RunLog::read(directory / "audit.csv"), units));
  if (fs::exists(directory / "lagrangian.csv"))
    plots.emplace_back("lagrangian", plot_radii(RunLog::read(directory / "lagrangian.csv"), units));
  if (fs::exists(directory / "profile.csv"))
    plots.emplace_back("profile", plot_profile(RunLog::read(directory / "profile.csv")));
  if (const fs::path file = table_of(directory, "spectrum.hdf5"); fs::exists(file)) add_spectra(file, units, plots);
  if (const fs::path file = table_of(directory, "wave.csv"); fs::exists(file))
    plots.emplace_back("wave", plot_wave(RunLog::read(file), units, wave_note(record)));
  return plots;
}

/// Throws for the name of a picture: plot writes several, and would make a folder of that name.
void check_folder(const fs::path& output) {
  std::error_code error;
  const std::string ending = output.extension().string();
  if (fs::is_directory(output, error) || (ending != ".png" && ending != ".svg" && ending != ".pdf")) return;
  throw Error(
      ErrorKind::input,
      fmt::format("--output: {}: expected the name of a folder for several pictures, found one that ends in {}; "
                  "--format says what they are",
                  output.string(), ending));
}

/// All errors of reading come before the first picture is written.
void plot_run(const Context& context, const PlotOptions& options) {
  const fs::path directory = options.directory, output = options.output.empty() ? directory : fs::path(options.output);
  if (!fs::is_directory(directory))
    throw Error(ErrorKind::input, fmt::format("{}: expected the directory of a run, found {}", directory.string(),
                                              fs::exists(directory) ? "something else" : "nothing"));
  check_folder(output);
  const Plots plots = plots_of(directory);  // all logs are read before the first plot is written

  std::vector<fs::path> names;
  for (const auto& plot : plots) names.push_back(output / fmt::format("{}.{}", plot.first, options.format));
  WrittenFiles files(names);
  files.make_folder(output);
  auto list = nlohmann::json::array();
  std::string text;
  for (std::size_t k = 0; k < plots.size(); ++k) {
    const Drawing& figure = plots[k].second;
    write_drawing(names[k], figure);
    list.push_back({{"file", names[k].string()}, {"width", figure.width()}, {"height", figure.height()}});
    text += names[k].string() + "\n";
  }
  files.print_and_keep(context, text, list);
}

}  // namespace

void add_plot(Command program, Context& context) {
  auto options = std::make_shared<PlotOptions>();
  auto command = program.add_subcommand(
      "plot", "Plot the logs of a run: energy error, momentum drift, Lagrangian radii, stage times");
  command->add_option("directory", options->directory, "Directory of a run; needs energy.csv, uses its other logs")
      ->required();
  command->add_option("-o,--output", options->output, "Directory for the pictures; default: that of the run");
  command->add_option("--format", options->format, "What the plots are")
      ->one_of({"png", "svg", "pdf"})
      ->capture_default_str();
  command->footer(
      "Examples:\n  pergola plot cluster\n  pergola plot cluster -o figures --format pdf\n\nWrites energy.png, "
      "momentum.png, profile.png\nand lagrangian.png (in open space); of a plasma also spectrum_x.png, … and "
      "wave.png.");
  command->callback([&context, options] { on_root(*context.communicator, [&] { plot_run(context, *options); }); });
}

}  // namespace pergola::app
