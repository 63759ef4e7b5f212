#pragma once
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "picture/drawing.hpp"
#include "picture/run_plots.hpp"

// Figures of plasmas: phase space, fields, spectra in wave number and frequency, and the amplitude of one wave. Each
// takes plain arrays with labels and returns a drawing.
// Limits that are not given follow the data; a film passes fixed limits, so that its pictures can be compared. Power
// is shown over 5 decades, density over 2.5.
namespace pergola {

using Limits = std::pair<double, double>;

/// Particles in a plane: a coordinate or velocity across, a velocity up.
struct PhaseSpace {
  /// A kind of particles that has a colour of its own.
  struct Species {
    std::string name;
    std::size_t count = 0;
  };
  std::vector<double> across, up, weights;
  double period = 0;  // of `across`, from 0 to `period`; 0: not periodic
  std::string across_label, up_label, title;
  std::string colormap = "magma";
  int threads = 1;
  std::string density_label = "particles per area";
  std::optional<Limits> across_limits, up_limits;  // none: as the particles need
  std::optional<Limits> color_limits;              // none: the highest density and 2.5 decades below
  std::vector<Species>
      species;                // one after the other; none: one cloud. Each is shown down from its own highest density
  bool equal_scales = false;  // both axes are of one unit: a circle is round
  bool bar = true;            // else the figure is narrower, as color_bar_room() says
};
/// The limits that the plot would choose.
struct PhaseSpaceLimits {
  Limits across, up, colors;
};
PERGOLA_API PhaseSpaceLimits phase_space_limits(const PhaseSpace& particles);
/// Particles per area as colours, smoothed by the number of neighbours. Throws Error(input) without particles.
PERGOLA_API Drawing plot_phase_space(const PhaseSpace& particles, int width);

/// A field over a rectangle.
struct FieldSlice {
  int columns = 0, rows = 0;
  std::vector<double> values;  // row 0 at the bottom
  double width = 0, height = 0;
  std::string across_label, up_label, value_label, title;
  std::string colormap;                     // empty: diverging for values of both signs, else magma
  std::optional<Limits> color_limits = {};  // none: the values', and with the diverging map as far down as up
  bool bar = true;                          // as in PhaseSpace
};
/// With the diverging map, 0 is in the middle of the colours.
PERGOLA_API Drawing plot_field(const FieldSlice& slice, int width);

/// Power by wave number and frequency, with curves of theory.
struct SpectrumMap {
  struct Curve {
    std::string name;
    std::vector<double> wave_numbers, frequencies;
  };
  std::vector<double> wave_numbers, frequencies, power;  // power: [frequency][wave number]
  std::vector<Curve> theory;
  std::string wave_number_label, frequency_label, title;
  std::string power_label = "power of the potential";
};
PERGOLA_API Drawing plot_spectrum(const SpectrumMap& spectrum, int width);

/// From wave.csv: the amplitude of one wave against time on a logarithmic axis, and the fitted line.
PERGOLA_API Drawing plot_wave(const RunLog& wave, const LogUnits& units = {}, const std::string& note = "");

}  // namespace pergola
