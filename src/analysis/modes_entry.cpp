#include <fmt/core.h>

#include <cmath>

#include "analysis/analysis.hpp"
#include "analysis/mode_recorder.hpp"
#include "base/error.hpp"
#include "physics/green.hpp"

namespace pergola {

namespace {

AnalysisResult analyze(const AnalysisFiles& files, const AnalysisOptions&, const Device&) {
  AnalysisResult result;
  Figure figure{"Fourier modes of the potential", "k", "", "amplitude", "", true, true, {}};
  for (std::size_t f = 0; f < files.names.size(); ++f) {
    const AnalysisField field = files.potential(f);
    ModeRecorder recorder(field.dimensions, field.cells, {0, 0, 0});
    recorder.record(field.time, field.values);
    const std::string k_unit = field.length_unit.empty() ? "" : fmt::format("1/({})", field.length_unit);
    figure.x_unit = k_unit, figure.y_unit = field.unit;
    for (int axis = 0; axis < recorder.axes(); ++axis) {
      const auto a = static_cast<std::size_t>(axis);
      const std::string word(1, "xyz"[axis]);
      FigureLine line{files.names.size() > 1 ? fmt::format("{}, {}", word, field.moment) : word, {}, {}};
      for (int mode = 1; mode <= recorder.modes(axis); ++mode) {
        const double k = physics::wave_number(mode, field.cells[a] * field.spacing[a]);
        const bool shortest = 2 * mode == field.cells[a];  // is its own opposite
        const double amplitude = (shortest ? 1 : 2) * std::abs(recorder.series(axis, mode).front());
        result.table.add("time", field.time_unit, field.time);
        result.table.add_word("axis", word);
        result.table.add("mode", "", mode);
        result.table.add("k", k_unit, k);
        result.table.add("amplitude", field.unit, amplitude);
        if (amplitude > 0) line.x.push_back(k), line.y.push_back(amplitude);
      }
      line.points = line.x.size() == 1;
      if (!line.x.empty()) figure.lines.push_back(std::move(line));
    }
  }
  if (figure.lines.empty())
    throw Error(ErrorKind::input,
                fmt::format("{}: expected a potential with waves along an axis, found none", files.names.front()));
  result.figures.push_back(figure);
  return result;
}

}  // namespace

AnalysisEntry modes_entry() {
  return {.name = "modes",
          .help = "Spectrum of a plasma's potential: its Fourier modes along the axes at a moment",
          .details =
              "One line per axis and mode. Columns: time, axis, mode (wavelengths in the box, at most 128), k, "
              "amplitude (A of A cos(k x + phase) in the mean over the other axes). Power by frequency needs more than "
              "snapshots: output.spectrum_every writes it.",
          .example = "two-stream/plasma_007.h5 -o modes.csv --plot modes.png",
          .needs = AnalysisNeeds::plasma,
          .span = AnalysisSpan::last_moment,
          .keys = {},
          .analyze = analyze};
}

}  // namespace pergola
