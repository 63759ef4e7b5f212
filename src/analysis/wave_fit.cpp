#include "analysis/wave_fit.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numbers>

#include "mesh/fft/fftw_lines.hpp"

// Fits start from the middle of the series, so that rate and amplitude are hardly correlated. Linear parameters are
// solved for exactly; only rate and frequency are searched.
namespace pergola {

namespace {

using Complex = std::complex<double>;
constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();

/// The number of evenly spaced samples at the start.
std::size_t even_samples(const std::vector<double>& times) {
  if (times.size() < 2) return times.size();
  const double spacing = times[1] - times[0];
  std::size_t count = 2;
  while (count < times.size() && std::abs(times[count] - times[count - 1] - spacing) <= 1e-6 * spacing) ++count;
  return count;
}

/// Forward transform of the values times a Hann window, padded with zeros to `length`.
std::vector<Complex> windowed_transform(const std::vector<Complex>& values, std::size_t count, std::size_t length) {
  std::vector<Complex> in(length, 0.0), out(length);
  for (std::size_t i = 0; i < count; ++i) {
    const double angle = 2 * std::numbers::pi * (static_cast<double>(i) + 0.5) / static_cast<double>(count);
    in[i] = values[i] * (1 - std::cos(angle));
  }
  const FftwLines<double> plan(static_cast<int>(length), 1, {1, 0}, {1, 0}, FFTW_FORWARD);
  plan.execute(reinterpret_cast<const fftw_complex*>(in.data()), reinterpret_cast<fftw_complex*>(out.data()));
  return out;
}

/// Padding with zeros interpolates the spectrum, so that its highest peak is found more precisely.
FrequencySpectrum padded_spectrum(const WaveSeries& series, std::size_t padding) {
  FrequencySpectrum spectrum;
  const std::size_t count = even_samples(series.times);
  if (count < 4) return spectrum;
  const std::size_t length = padding * count;
  const double spacing = series.times[1] - series.times[0];
  const std::vector<Complex> modes = windowed_transform(series.values, count, length);
  for (std::size_t i = 0; i <= length / 2; ++i) {
    const std::size_t mirror = (length - i) % length;
    const double both = std::norm(modes[i]) + (mirror == i ? 0 : std::norm(modes[mirror]));
    spectrum.frequencies.push_back(2 * std::numbers::pi * static_cast<double>(i) /
                                   (static_cast<double>(length) * spacing));
    spectrum.power.push_back(both / (static_cast<double>(count) * static_cast<double>(count)));
  }
  return spectrum;
}

/// The squared residual of exp(γt) (a cos ωt + b sin ωt) + c with the best a, b and c. Time 0 is the middle.
struct Projection {
  std::array<Complex, 3> factors{};
  double left = 0;
};

/// Solves a symmetric positive system of three equations. The diagonal is slightly raised, because a slow oscillation
/// is nearly a constant.
std::array<Complex, 3> solve(std::array<std::array<double, 3>, 3> matrix, std::array<Complex, 3> right) {
  for (std::size_t j = 0; j < 3; ++j) matrix[j][j] += 1e-12 * matrix[j][j] + 1e-300;
  for (std::size_t j = 0; j < 3; ++j)
    for (std::size_t row = j + 1; row < 3; ++row) {
      const double factor = matrix[row][j] / matrix[j][j];
      for (std::size_t column = j; column < 3; ++column) matrix[row][column] -= factor * matrix[j][column];
      right[row] -= factor * right[j];
    }
  for (std::size_t j = 3; j-- > 0;) {
    for (std::size_t column = j + 1; column < 3; ++column) right[j] -= matrix[j][column] * right[column];
    right[j] /= matrix[j][j];
  }
  return right;
}

/// Solves for the linear parameters at a given rate and frequency.
Projection project(const WaveSeries& series, double rate, double frequency) {
  std::array<std::array<double, 3>, 3> matrix{};
  std::array<Complex, 3> right{};
  double squares = 0;
  for (std::size_t i = 0; i < series.times.size(); ++i) {
    const double t = series.times[i], envelope = std::exp(rate * t);
    const std::array<double, 3> basis{envelope * std::cos(frequency * t), envelope * std::sin(frequency * t), 1.0};
    for (std::size_t j = 0; j < 3; ++j) {
      for (std::size_t k = 0; k < 3; ++k) matrix[j][k] += basis[j] * basis[k];
      right[j] += basis[j] * series.values[i];
    }
    squares += std::norm(series.values[i]);
  }
  Projection result{solve(matrix, right), squares};
  for (std::size_t j = 0; j < 3; ++j) result.left -= std::real(std::conj(result.factors[j]) * right[j]);
  return result;
}

/// The minimum of a function of two variables near `start`. Nelder & Mead 1965.
template <class Function>
std::array<double, 2> minimise(const Function& function, std::array<double, 2> start, std::array<double, 2> scale) {
  struct Corner {
    std::array<double, 2> at;
    double value;
  };
  std::array<Corner, 3> simplex;
  for (std::size_t k = 0; k < 3; ++k) {
    simplex[k].at = start;
    if (k > 0) simplex[k].at[k - 1] += scale[k - 1];
    simplex[k].value = function(simplex[k].at);
  }
  for (int step = 0; step < 300; ++step) {
    std::sort(simplex.begin(), simplex.end(), [](const Corner& a, const Corner& b) { return a.value < b.value; });
    auto& [best, middle, worst] = simplex;
    const double size =
        std::max(std::abs(worst.at[0] - best.at[0]) / scale[0], std::abs(worst.at[1] - best.at[1]) / scale[1]);
    if (size < 1e-9) break;
    const auto moved = [&](double factor) {
      Corner corner{};
      for (std::size_t j = 0; j < 2; ++j) {
        const double center = 0.5 * (best.at[j] + middle.at[j]);
        corner.at[j] = center + factor * (worst.at[j] - center);
      }
      corner.value = function(corner.at);
      return corner;
    };
    const Corner reflected = moved(-1);
    if (reflected.value < best.value) {
      const Corner further = moved(-2);
      worst = further.value < reflected.value ? further : reflected;
    } else if (reflected.value < middle.value) {
      worst = reflected;
    } else {
      const Corner nearer = moved(reflected.value < worst.value ? -0.5 : 0.5);
      if (nearer.value < std::min(worst.value, reflected.value)) {
        worst = nearer;
      } else {
        for (Corner* corner : {&middle, &worst}) {
          for (std::size_t j = 0; j < 2; ++j) corner->at[j] = 0.5 * (corner->at[j] + best.at[j]);
          corner->value = function(corner->at);
        }
      }
    }
  }
  return simplex[0].at;
}

constexpr std::size_t quarters = 4;  // for errors: parts of a series
/// Where the quarter q of so many samples begins.
std::size_t quarter_begin(std::size_t q, std::size_t count) { return q * count / quarters; }

/// The best rate and frequency near `start`.
std::array<double, 2> best_near(const WaveSeries& series, std::array<double, 2> start, double length) {
  return minimise([&](const std::array<double, 2>& at) { return project(series, at[0], at[1]).left; }, start,
                  {0.5 / length, 0.5 / length});
}

/// The jackknife: the scatter of the rates of four fits, each without one quarter of the samples.
double rate_error(const WaveSeries& series, const std::array<double, 2>& best, double length) {
  std::array<double, quarters> rates{};
  double mean = 0, squares = 0;
  for (std::size_t q = 0; q < quarters; ++q) {
    WaveSeries rest;
    for (std::size_t i = 0; i < series.times.size(); ++i) {
      if (i >= quarter_begin(q, series.times.size()) && i < quarter_begin(q + 1, series.times.size())) continue;
      rest.times.push_back(series.times[i]), rest.values.push_back(series.values[i]);
    }
    rates[q] = best_near(rest, best, length)[0];
    mean += rates[q] / quarters;
  }
  for (const double rate : rates) squares += (rate - mean) * (rate - mean);
  return std::sqrt(squares * (quarters - 1) / quarters);
}

}  // namespace

// Steps: (1) a first frequency from the peak of the spectrum and a first rate from log |value|, (2) the best pair of
// both by Nelder & Mead, with amplitude and offset solved for at each trial. NaN with fewer than 8 samples.
OscillationFit fit_oscillation(const WaveSeries& series) {
  OscillationFit fit{not_a_number, not_a_number, not_a_number, not_a_number, not_a_number};
  const auto nonzero = [](const Complex& value) { return std::norm(value) > 0; };
  if (series.times.size() < 8 || std::none_of(series.values.begin(), series.values.end(), nonzero)) return fit;
  WaveSeries centred = series;
  const double middle = 0.5 * (series.times.front() + series.times.back());
  const double length = series.times.back() - series.times.front();
  for (double& time : centred.times) time -= middle;
  const double frequency = peak_frequency(padded_spectrum(centred, 4)), rate = fit_growth(centred).rate;
  const std::array<double, 2> place = best_near(centred, {std::isfinite(rate) ? rate : 0.0, frequency}, length);
  const auto [best_rate, best_frequency] = place;
  const Projection best = project(centred, best_rate, best_frequency);
  double squares = 0;
  for (const Complex& value : series.values) squares += std::norm(value);
  fit.frequency = std::abs(best_frequency);
  fit.growth_rate = best_rate;
  fit.amplitude = std::sqrt(std::norm(best.factors[0]) + std::norm(best.factors[1])) * std::exp(-best_rate * middle);
  fit.residual = std::sqrt(std::max(0.0, best.left) / squares);
  fit.error = rate_error(centred, place, length);
  return fit;
}

// A straight line through log |value| by least squares; samples that are 0 are left out.
GrowthFit fit_growth(const WaveSeries& series) {
  double n = 0, t_sum = 0, y_sum = 0, tt = 0, ty = 0, yy = 0;
  const double middle = series.times.empty() ? 0 : 0.5 * (series.times.front() + series.times.back());
  for (std::size_t i = 0; i < series.times.size(); ++i) {
    const double size = std::abs(series.values[i]), t = series.times[i] - middle;
    if (size == 0) continue;
    const double y = std::log(size);
    n += 1;
    t_sum += t;
    y_sum += y;
    tt += t * t;
    ty += t * y;
    yy += y * y;
  }
  const double spread = tt - t_sum * t_sum / n, common = ty - t_sum * y_sum / n;
  if (n < 3 || !(spread > 0)) return {not_a_number, not_a_number, not_a_number};
  const double rate = common / spread;
  return {rate, std::exp((y_sum - rate * t_sum) / n - rate * middle),
          std::sqrt(std::max(0.0, yy - y_sum * y_sum / n - rate * common) / n)};
}

namespace {

/// The samples begin … end - 1.
WaveSeries part_of(const WaveSeries& series, std::size_t begin, std::size_t end) {
  const auto first = static_cast<std::ptrdiff_t>(begin), last = static_cast<std::ptrdiff_t>(end);
  return {{series.times.begin() + first, series.times.begin() + last},
          {series.values.begin() + first, series.values.begin() + last}};
}

/// Sums over the samples before each one. They give the straight line through log |value| of any window at once.
class LineSums {
 public:
  explicit LineSums(const WaveSeries& series) : sums_(series.times.size() + 1) {
    for (std::size_t i = 0; i < series.times.size(); ++i) {
      const double t = series.times[i] - series.times[0], y = std::log(std::max(std::abs(series.values[i]), 1e-300));
      const std::array<double, 5> terms{t, y, t * t, t * y, y * y};
      for (std::size_t k = 0; k < 5; ++k) sums_[i + 1][k] = sums_[i][k] + terms[k];
    }
  }
  struct Line {
    double rate, rms;  // of what the line leaves
  };
  Line line(std::size_t begin, std::size_t end) const {
    std::array<double, 5> s{};
    for (std::size_t k = 0; k < 5; ++k) s[k] = sums_[end][k] - sums_[begin][k];
    const auto n = static_cast<double>(end - begin);
    const double tt = s[2] - s[0] * s[0] / n, ty = s[3] - s[0] * s[1] / n, yy = s[4] - s[1] * s[1] / n;
    const double rate = tt > 0 ? ty / tt : 0;
    return {rate, std::sqrt(std::max(0.0, yy - rate * ty) / n)};
  }

 private:
  std::vector<std::array<double, 5>> sums_;
};

}  // namespace

// The error is that of the mean of the rates in four quarters of the window.
GrowthWindow growth_of(const WaveSeries& series) {
  const GrowthFit fit = fit_growth(series);
  GrowthWindow window{fit.rate, fit.amplitude, not_a_number, not_a_number, not_a_number, fit.deviation};
  if (series.times.empty()) return window;
  window.from = series.times.front(), window.until = series.times.back();
  const std::size_t count = series.times.size();
  if (count < 3 * quarters) return window;
  double sum = 0, squares = 0;
  for (std::size_t q = 0; q < quarters; ++q) {
    const double rate = fit_growth(part_of(series, quarter_begin(q, count), quarter_begin(q + 1, count))).rate;
    sum += rate, squares += rate * rate;
  }
  constexpr double n = quarters;
  window.error = std::sqrt(std::max(0.0, squares / n - sum * sum / (n * n)) / (n - 1));
  return window;
}

// Searches for the window in which the wave grows, before it reaches half of its highest amplitude.
GrowthWindow find_growth(const WaveSeries& series, double shortest) {
  constexpr std::size_t fewest = 12, starts = 80;
  constexpr double least_growth = 1, good_line = 0.02;  // in log |value|; a line as good as this need not be better
  const GrowthWindow none{not_a_number, not_a_number, not_a_number, not_a_number, not_a_number, not_a_number};
  double highest = 0;
  for (const Complex& value : series.values) highest = std::max(highest, std::abs(value));
  std::size_t end = 0;  // of the growth
  while (end < series.values.size() && std::abs(series.values[end]) < 0.5 * highest) ++end;
  if (end < fewest) return none;
  const LineSums sums(series);
  const std::size_t stride = std::max<std::size_t>(1, end / starts);
  std::size_t best_begin = 0, best_end = 0;
  double best = 0;
  for (std::size_t first = 0; first + fewest <= end; first += stride)
    for (std::size_t last = end; last >= first + fewest; last -= std::min(last, stride)) {
      const double length = series.times[last - 1] - series.times[first];
      if (length < shortest) break;
      const auto [rate, rms] = sums.line(first, last);
      const double growth = rate * length;
      const double score = growth / (rms + good_line);
      if (growth < least_growth || score <= best) continue;
      best = score, best_begin = first, best_end = last;
    }
  return best_end == 0 ? none : growth_of(part_of(series, best_begin, best_end));
}

bool is_clear(const GrowthWindow& window) {
  constexpr double least_growth = 1, least_ratio = 10;
  const double growth = window.rate * (window.until - window.from);
  return growth >= least_growth && growth >= least_ratio * window.deviation;
}

bool is_clear(const OscillationFit& fit, double length) {
  constexpr double largest_rest = 0.1, largest_error = 0.5, largest_part = 0.2;
  return fit.residual * fit.residual <= largest_rest &&
         fit.error <= std::max(largest_error / length, largest_part * std::abs(fit.growth_rate));
}

FrequencySpectrum frequency_spectrum(const WaveSeries& series) { return padded_spectrum(series, 1); }

double peak_frequency(const FrequencySpectrum& spectrum) {
  const auto& power = spectrum.power;
  // Go down from frequency 0, then take the highest peak.
  std::size_t first = 0;
  while (first + 1 < power.size() && power[first + 1] <= power[first]) ++first;
  if (first + 2 >= power.size()) return 0;
  const auto begin = power.begin() + static_cast<std::ptrdiff_t>(first);
  const auto peak = static_cast<std::size_t>(std::max_element(begin, power.end()) - power.begin());
  if (peak == 0 || !(power[peak] > 0)) return 0;
  const double spacing = spectrum.frequencies[1];
  if (peak + 1 == power.size() || !(power[peak - 1] > 0) || !(power[peak + 1] > 0)) return spectrum.frequencies[peak];
  const double left = std::log(power[peak - 1]), top = std::log(power[peak]), right = std::log(power[peak + 1]);
  const double bend = left - 2 * top + right;
  return spectrum.frequencies[peak] + (bend < 0 ? 0.5 * (left - right) / bend * spacing : 0);
}

}  // namespace pergola
