#pragma once
/// The options of `picture` and `movie` as on the command line.
///
/// add_picture_options() registers them; check() finds errors before any file is read, as far as that is possible. The
/// functions turn texts into values: a line of sight, a range of colours, a camera. They throw Error(input). Lengths
/// are in the units of the file, angles in degrees, sizes in pixels. Empty texts and 0 mean "automatic".
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "app/command.hpp"
#include "picture/camera.hpp"

namespace pergola::app {

/// The options of `picture` and `movie` as on the command line.
struct PictureOptions {
  std::string axis = "z";
  std::string center = "auto";
  std::string width_given;  // empty: automatic
  double width = 0;         // the same as a number; 0: automatic
  int pixels = 900;
  std::string colormap;              // empty: automatic
  std::vector<std::string> species;  // empty: all
  bool color_species = false;
  std::string style = "projection";  // or volume
  std::string color = "density";     // or species; for a volume also dispersion
  double optical_depth = 1;          // of a volume, mean over the picture
  std::string title;
  bool title_given = false;
  bool no_legend = false;
  bool no_trails = false;
  std::string phase, field;  // of an openPMD file
  std::string range;         // "LO,HI"; empty: automatic
  std::string camera, target, up;
  double field_of_view = 45;

  SightLine sight_line() const;
  bool by_species() const { return color_species || color == "species"; }
  /// The two numbers of --range, if given. Throws Error(input) for an empty range.
  std::optional<std::pair<double, double>> range_given() const;
  /// None without --camera. The target is that of --target, or else this.
  std::optional<Camera> camera_given(Vec3<double> target_otherwise) const;
  /// The same with lengths and places, which may be typed with units, as plain numbers in the units of `file`.
  PictureOptions in_units_of(const std::string& file) const;
  /// Throws Error(input) for errors that need no file, and for options that do not suit the kind of `file`.
  void check(bool openpmd, const std::string& file) const;
};

/// Adds the common options. `options` outlives the command.
void add_picture_options(Command command, PictureOptions& options);

/// Parses "1,2,0.5"; errors name the option and its other values ("" or "auto, density or ").
Vec3<double> parse_triple(const std::string& option, const std::string& text, const std::string& otherwise = "");

}  // namespace pergola::app
