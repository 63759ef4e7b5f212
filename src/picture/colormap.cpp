#include "picture/colormap.hpp"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "base/error.hpp"
#include "base/text.hpp"

namespace pergola {

namespace {

/// Polynomials of degree 6 in t, one coefficient of (red, green, blue) per power: fits to the colour maps of Smith &
/// van der Walt (2015, CC0) by Zucker (public domain), largest error below 0.02 of the range.
struct Polynomial {
  const char* name;
  std::array<std::array<double, 3>, 7> power;
};

constexpr std::array<Polynomial, 4> polynomials{{
    {"magma",
     {{{-0.002136485053939582, -0.000749655052795221, -0.005386127855323933},
       {0.2516605407371642, 0.6775232436837668, 2.494026599312351},
       {8.353717279216625, -3.577719514958484, 0.3144679030132573},
       {-27.66873308576866, 14.26473078096533, -13.64921318813922},
       {52.17613981234068, -27.94360607168351, 12.94416944238394},
       {-50.76852536473588, 29.04658282127291, 4.23415299384598},
       {18.65570506591883, -11.48977351997711, -5.601961508734096}}}},
    {"inferno",
     {{{0.0002189403691192265, 0.001651004631001012, -0.01948089843709184},
       {0.1065134194856116, 0.5639564367884091, 3.932712388889277},
       {11.60249308247187, -3.972853965665698, -15.9423941062914},
       {-41.70399613139459, 17.43639888205313, 44.35414519872813},
       {77.162935699427, -33.40235894210092, -81.80730925738993},
       {-71.31942824499214, 32.62606426397723, 73.20951985803202},
       {25.13112622477341, -12.24266895238567, -23.07032500287172}}}},
    {"viridis",
     {{{0.2777273272234177, 0.005407344544966578, 0.3340998053353061},
       {0.1050930431085774, 1.404613529898575, 1.384590162594685},
       {-0.3308618287255563, 0.214847559468213, 0.09509516302823659},
       {-4.634230498983486, -5.799100973351585, -19.33244095627987},
       {6.228269936347081, 14.17993336680509, 56.69055260068105},
       {4.776384997670288, -13.74514537774601, -65.35303263337234},
       {-5.435455855934631, 4.645852612178535, 26.3124352495832}}}},
    {"plasma",
     {{{0.05873234392399702, 0.02333670892565664, 0.5433401826748754},
       {2.176514634195958, 0.2383834171260182, 0.7539604599784036},
       {-2.689460476458034, -7.455851135738909, 3.110799939717086},
       {6.130348345893603, 42.3461881477227, -28.51885465332158},
       {-11.10743619062271, -82.66631109428045, 60.13984767418263},
       {10.02306557647065, 71.41361770095349, -54.07218655560067},
       {-3.658713842777788, -22.93153465461149, 18.19190778539828}}}},
}};

/// The diverging map of Moreland (2009), "Diverging Color Maps for Scientific Visualization": the nine colours of its
/// table.
constexpr std::array<std::array<double, 3>, 9> cool_to_warm{{{59, 76, 192},
                                                             {98, 130, 234},
                                                             {141, 176, 254},
                                                             {184, 208, 249},
                                                             {221, 221, 221},
                                                             {245, 196, 173},
                                                             {244, 154, 123},
                                                             {222, 96, 77},
                                                             {180, 4, 38}}};

/// Linear interpolation between the colours of the table.
Color diverging(double t) {
  const double place = t * static_cast<double>(cool_to_warm.size() - 1);
  const std::size_t left = std::min(static_cast<std::size_t>(place), cool_to_warm.size() - 2);
  std::array<std::uint8_t, 3> channel{};
  for (std::size_t c = 0; c < 3; ++c)
    channel[c] = static_cast<std::uint8_t>(
        std::lround(std::lerp(cool_to_warm[left][c], cool_to_warm[left + 1][c], place - static_cast<double>(left))));
  return {channel[0], channel[1], channel[2]};
}

/// Horner's rule for each channel, clamped to 0 … 1.
Color evaluate(const Polynomial& map, double t) {
  std::array<std::uint8_t, 3> channel{};
  for (std::size_t c = 0; c < 3; ++c) {
    double value = 0;
    for (std::size_t k = map.power.size(); k-- > 0;) value = value * t + map.power[k][c];
    channel[c] = static_cast<std::uint8_t>(std::lround(255 * std::clamp(value, 0.0, 1.0)));
  }
  return {channel[0], channel[1], channel[2]};
}

}  // namespace

std::vector<std::string> colormap_names() {
  std::vector<std::string> names;
  for (const auto& map : polynomials) names.emplace_back(map.name);
  names.emplace_back("gray");
  return names;
}

/// 256 colours are enough for 8 bits per channel, and a table is faster than a polynomial per pixel.
Colormap::Colormap(std::string_view name) {
  const auto found =
      std::find_if(polynomials.begin(), polynomials.end(), [name](const Polynomial& map) { return map.name == name; });
  if (found == polynomials.end() && name != "gray" && name != diverging_colormap) {
    auto names = colormap_names();
    names.emplace_back(diverging_colormap);
    throw Error(ErrorKind::input,
                fmt::format("colour map: expected one of {}, found \"{}\"", fmt::join(names, ", "), name));
  }
  for (int i = 0; i < 256; ++i) {
    const auto level = static_cast<std::uint8_t>(i);
    if (found != polynomials.end())
      table_.push_back(evaluate(*found, i / 255.0));
    else
      table_.push_back(name == diverging_colormap ? diverging(i / 255.0) : Color{level, level, level});
  }
}

}  // namespace pergola
