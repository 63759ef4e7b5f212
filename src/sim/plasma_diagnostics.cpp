// Waves of a plasma: what is recorded during a run, fits of frequency and growth, and the theory that they are compared
// with.
//
// Within the code, lengths are in cells and times in the plasma's internal unit; units_.….file converts to those of the
// files. A mode is a number of waves per box along each axis. The window [wave_.from, wave_.until] is in internal time.
// Theory is that of a grid: roots of the dispersion relation include the shape of particles and the smoothing.
#include "sim/plasma_diagnostics.hpp"
#include "base/atomic_file.hpp"
#include "base/text.hpp"
#include "physics/green.hpp"
#include "physics/plasma_dispersion.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <utility>

namespace pergola {

namespace {

constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();
constexpr int curve_points = 160;

double component(const Vec3<double>& v, int axis) { return axis == 0 ? v.x : axis == 1 ? v.y : v.z; }

/// From the longest wave to the shortest one of interest.
std::vector<double> curve_wave_numbers(double from, double to) {
  std::vector<double> k;
  for (int i = 0; i < curve_points; ++i) k.push_back(from + (to - from) * i / (curve_points - 1));
  return k;
}

}  // namespace

PlasmaDiagnostics::PlasmaDiagnostics(const PlasmaOptions& options, const PlasmaUnits& units, const PlasmaWave& wave,
                                     std::vector<PlasmaKind> kinds)
    : options_(options),
      units_(units),
      wave_(wave),
      kinds_(std::move(kinds)),
      modes_(options.dimensions, options.cells, wave.mode) {
  wave_.from /= units_.time().file;
  wave_.until /= units_.time().file;
}

void PlasmaDiagnostics::record(double time, const std::vector<double>& potential) { modes_.record(time, potential); }

void PlasmaDiagnostics::record_sums(double time, const std::vector<double>& sums) { modes_.record_sums(time, sums); }

void PlasmaDiagnostics::record_energy(double time, double field_energy) {
  energy_times_.push_back(time);
  field_energies_.push_back(field_energy);
}

void PlasmaDiagnostics::save(StateBlocks& blocks) const {
  modes_.save(blocks, "diagnostics/modes/");
  blocks.put_value("diagnostics/energies", static_cast<std::uint64_t>(energy_times_.size()));
  blocks.put("diagnostics/energy_times", energy_times_);
  blocks.put("diagnostics/field_energies", field_energies_);
}

void PlasmaDiagnostics::restore(const StateBlocks& blocks) {
  modes_.restore(blocks, "diagnostics/modes/");
  const std::size_t count = blocks.get_value<std::uint64_t>("diagnostics/energies");
  energy_times_ = blocks.get<double>("diagnostics/energy_times", count);
  field_energies_ = blocks.get<double>("diagnostics/field_energies", count);
}

const std::vector<std::string>& PlasmaDiagnostics::file_names() {
  static const std::vector<std::string> names{"spectrum.hdf5", "spectrum.csv", "wave.csv"};
  return names;
}

bool PlasmaDiagnostics::in_window(double time) const {
  // A time may be a rounding error too late.
  return time >= wave_.from * (1 - 1e-9) && (wave_.until == 0 || time <= wave_.until * (1 + 1e-9));
}

WaveSeries PlasmaDiagnostics::wave_series() const {
  WaveSeries window;
  for (std::size_t i = 0; i < modes_.times().size(); ++i) {
    if (!in_window(modes_.times()[i])) continue;
    window.times.push_back(modes_.times()[i]);
    window.values.push_back(modes_.wave()[i]);
  }
  return window;
}

std::string WaveFit::kind() const { return line ? "line" : std::isfinite(rate) ? "oscillation" : "none"; }

// As computed. Without a window in the configuration, the one where the wave grows is searched for: of one period of
// the plasma at least.
WaveFit PlasmaDiagnostics::fit() const {
  const WaveSeries series = wave_series();
  const OscillationFit swing = fit_oscillation(series);
  constexpr double period = 2 * std::numbers::pi;
  const GrowthWindow growth = wave_.from == 0 && wave_.until == 0 ? find_growth(series, period) : growth_of(series);
  if (is_clear(growth))
    return {growth.rate, growth.error, swing.frequency, growth.amplitude, growth.from, growth.until, true};
  WaveFit fit{swing.growth_rate, swing.error, swing.frequency, swing.amplitude, not_a_number, not_a_number, false};
  if (!series.times.empty()) fit.from = series.times.front(), fit.until = series.times.back();
  if (!is_clear(swing, fit.until - fit.from)) fit.rate = fit.error = not_a_number;
  return fit;
}

WaveFit PlasmaDiagnostics::wave_fit() const {
  const double time = units_.time().file;
  WaveFit found = fit();
  found.rate /= time, found.error /= time, found.frequency /= time;
  found.from *= time, found.until *= time;
  return found;
}

std::complex<double> PlasmaDiagnostics::theory_of_wave() const {
  return wave_theory(options_, kinds_, wave_.mode) / units_.time().file;
}

// A quantity of [expect] by its name, in the units of the files; NaN if it is unknown.
double PlasmaDiagnostics::measure(const std::string& name) const {
  if (name == "frequency") return wave_fit().frequency;
  if (name == "damping_rate") return -wave_fit().rate;
  if (name == "growth_rate") return wave_fit().rate;
  if (name != "field_energy") return not_a_number;
  double sum = 0, count = 0;
  for (std::size_t i = 0; i < energy_times_.size(); ++i) {
    if (!in_window(energy_times_[i])) continue;
    sum += field_energies_[i];
    count += 1;
  }
  return sum / count * units_.energy().file;
}

/// Theoretical curves for waves along an axis, from `longest` to the shortest recorded wave, below the highest
/// frequency. Langmuir waves if there is no drift and no magnetic field across the axis, Bernstein waves across a
/// field.
std::vector<SpectrumCurve> PlasmaDiagnostics::theory(int axis, double longest, double highest) const {
  std::vector<WaveSpecies> species;
  for (const PlasmaKind& kind : kinds_)
    species.push_back(
        {kind.plasma_frequency_squared, component(kind.thermal_speed, axis), component(kind.drift, axis)});
  const auto moves = [](const WaveSpecies& one) { return one.drift != 0; };
  if (species.empty() || std::any_of(species.begin(), species.end(), moves)) return {};
  const WaveSpecies& electrons =
      *std::max_element(species.begin(), species.end(), [](const WaveSpecies& a, const WaveSpecies& b) {
        return a.plasma_frequency_squared < b.plasma_frequency_squared;
      });
  const double along = component(options_.magnetic_field, axis);
  const double across = std::sqrt(std::max(0.0, dot(options_.magnetic_field, options_.magnetic_field) - along * along));
  const double shortest = longest * modes_.modes(axis), plasma = std::sqrt(electrons.plasma_frequency_squared);
  const auto shape = [this](double k) {
    return grid_shape_squared(k, options_.smoothing, static_cast<int>(options_.shape));
  };
  std::vector<SpectrumCurve> curves;
  if (across == 0) {
    SpectrumCurve curve{"langmuir", {}, {}};
    for (const double k : curve_wave_numbers(longest, shortest)) {
      const auto root = electrons.thermal_speed > 0 ? langmuir_root(k * electrons.thermal_speed / plasma, shape(k))
                                                    : std::complex<double>{std::sqrt(shape(k)), 0};
      if (!std::isfinite(root.real()) || -root.imag() > 0.5 * root.real()) break;  // no wave any more
      curve.wave_numbers.push_back(k);
      curve.frequencies.push_back(root.real() * plasma);
    }
    curves.push_back(curve);
  } else if (along == 0 && electrons.thermal_speed > 0 && species.size() == 1) {
    for (int harmonic = 1; harmonic < 8 && harmonic * across < highest; ++harmonic) {
      SpectrumCurve curve{fmt::format("bernstein_{}", harmonic), curve_wave_numbers(longest, shortest), {}};
      for (const double k : curve.wave_numbers)
        curve.frequencies.push_back(
            bernstein_frequency(harmonic, k, electrons.thermal_speed, across, plasma, shape(k)));
      curves.push_back(curve);
    }
  }
  std::erase_if(curves, [](const SpectrumCurve& curve) { return curve.wave_numbers.empty(); });
  return curves;
}

// Spectra over time of all modes along an axis: power[frequency][mode], amplitudes[time][mode].
AxisSpectrum PlasmaDiagnostics::axis_spectrum(int axis) const {
  AxisSpectrum result;
  result.axis = std::string(1, "xyz"[axis]);
  const double longest = physics::wave_number(1, options_.cells[static_cast<std::size_t>(axis)]);
  const double per_length = 1 / units_.length().file, rate = 1 / units_.time().file;
  const double potential = units_.potential().file;
  const auto modes = static_cast<std::size_t>(modes_.modes(axis));
  result.amplitudes.resize(modes_.times().size() * modes);
  double highest = 0;
  for (std::size_t mode = 0; mode < modes; ++mode) {
    const auto series = modes_.series(axis, static_cast<int>(mode) + 1);
    const FrequencySpectrum spectrum = frequency_spectrum({modes_.times(), series});
    for (std::size_t i = 0; i < series.size(); ++i) result.amplitudes[i * modes + mode] = series[i] * potential;
    if (mode == 0) {
      highest = spectrum.frequencies.empty() ? 0 : spectrum.frequencies.back();
      for (const double frequency : spectrum.frequencies) result.frequencies.push_back(frequency * rate);
      result.power.resize(spectrum.frequencies.size() * modes);
    }
    for (std::size_t i = 0; i < spectrum.power.size(); ++i)
      result.power[i * modes + mode] = spectrum.power[i] * potential * potential;
    result.wave_numbers.push_back(longest * static_cast<double>(mode + 1) * per_length);
  }
  result.theory = theory(axis, longest, highest);
  for (SpectrumCurve& curve : result.theory) {
    for (double& k : curve.wave_numbers) k *= per_length;
    for (double& frequency : curve.frequencies) frequency *= rate;
  }
  return result;
}

std::string PlasmaDiagnostics::spectrum_text(const SpectrumFile& spectrum) const {
  std::string text = "axis,mode,wave_number,frequency,power\n";
  for (const AxisSpectrum& axis : spectrum.axes) {
    const std::size_t modes = axis.wave_numbers.size();
    for (std::size_t mode = 0; mode < modes; ++mode) {
      FrequencySpectrum one{axis.frequencies, {}};
      for (std::size_t i = 0; i < axis.frequencies.size(); ++i) one.power.push_back(axis.power[i * modes + mode]);
      text += fmt::format("{},{},{},{},{}\n", axis.axis, mode + 1, to_text(axis.wave_numbers[mode]),
                          to_text(peak_frequency(one)), to_text(*std::max_element(one.power.begin(), one.power.end())));
    }
  }
  return text;
}

/// The wave with the fitted line, or the envelope of the oscillation; 0 outside its window.
std::string PlasmaDiagnostics::wave_text() const {
  const WaveFit found = fit();
  const double potential = units_.potential().file;
  std::string text = "time,real,imaginary,amplitude,fit\n";
  for (std::size_t i = 0; i < modes_.times().size(); ++i) {
    const double time = modes_.times()[i];
    const bool inside = std::isfinite(found.rate) && time >= found.from && time <= found.until;
    const double line = found.amplitude * std::exp(found.rate * time);
    const auto value = modes_.wave()[i] * potential;
    text += fmt::format("{},{},{},{},{}\n", to_text(time * units_.time().file), to_text(value.real()),
                        to_text(value.imag()), to_text(std::abs(value)), to_text(inside ? line * potential : 0.0));
  }
  return text;
}

// With fewer than 4 records there is no spectrum.
void PlasmaDiagnostics::write(const std::filesystem::path& directory) const {
  if (modes_.times().size() < 4) return;
  std::error_code error;
  make_directories(directory, error);
  if (error) throw_write_error(directory, error.value());
  SpectrumFile spectrum;
  spectrum.length_unit = units_.length_name();
  spectrum.time_unit = units_.time_name();
  for (const double time : modes_.times()) spectrum.times.push_back(time * units_.time().file);
  for (int axis = 0; axis < modes_.axes(); ++axis)
    if (modes_.modes(axis) > 0) spectrum.axes.push_back(axis_spectrum(axis));
  write_spectrum(directory / "spectrum.hdf5", spectrum);
  write_text(directory / "spectrum.csv", spectrum_text(spectrum));
  if (wave_.asked_for()) write_text(directory / "wave.csv", wave_text());
}

// The complex frequency of one wave: cold beams where species stream (then corrected for temperature), else a Langmuir
// wave.
std::complex<double> wave_theory(const PlasmaOptions& options, const std::vector<PlasmaKind>& kinds,
                                 const std::array<int, 3>& mode) {
  const std::complex<double> none{not_a_number, not_a_number};
  if (kinds.empty() || dot(options.magnetic_field, options.magnetic_field) > 0) return none;
  std::array<double, 3> k{};
  double squared = 0, shape = 1;
  for (std::size_t axis = 0; axis < static_cast<std::size_t>(options.dimensions); ++axis) {
    k[axis] = physics::wave_number(mode[axis], options.cells[axis]);
    squared += k[axis] * k[axis];
    shape *= grid_shape_squared(k[axis], options.smoothing, static_cast<int>(options.shape));
  }
  if (squared == 0) return none;
  const double length = std::sqrt(squared);
  std::vector<WaveSpecies> species;
  bool streams = false;
  for (const PlasmaKind& kind : kinds) {
    const auto &u = kind.drift, &v = kind.thermal_speed;
    const double drift = (k[0] * u.x + k[1] * u.y + k[2] * u.z) / length;
    species.push_back({kind.plasma_frequency_squared, std::hypot(k[0] * v.x, k[1] * v.y, k[2] * v.z) / length, drift});
    streams = streams || drift != species[0].drift;
  }
  if (streams) {
    constexpr double least_rate = 1e-6;
    const auto is_cold = [](const WaveSpecies& one) { return one.thermal_speed == 0; };
    const auto all = static_cast<std::ptrdiff_t>(species.size());
    const auto cold_ones = std::count_if(species.begin(), species.end(), is_cold);
    const std::complex<double> cold = cold_beam_root(length, species, shape);
    const bool stable = cold_ones == 0     ? is_stable(length, species, shape)
                        : cold_ones == all ? cold.imag() <= least_rate
                                           : false;
    if (stable) return {not_a_number, 0};
    const std::complex<double> warm = dielectric_root(cold, length, species, shape);
    return warm.imag() > least_rate ? warm : none;
  }
  if (species.size() > 1 || species[0].drift != 0) return none;
  const double plasma = std::sqrt(species[0].plasma_frequency_squared);
  if (species[0].thermal_speed == 0) return {plasma * std::sqrt(shape), 0};
  return plasma * langmuir_root(length * species[0].thermal_speed / plasma, shape);
}

}  // namespace pergola
