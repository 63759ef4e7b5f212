#pragma once
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "picture/drawing.hpp"

namespace pergola::app {

/// What `pergola picture` is asked to show of an openPMD file.
struct PlasmaPictureOptions {
  std::string file;
  std::string phase;                 // "x,vx": two coordinates; empty: x,vx where there are particles
  std::vector<std::string> species;  // empty: all
  std::string field;                 // rho | phi | Ex …; empty: the particles
  std::string axis;                  // 3D: the field's slice is across this axis
  std::string colormap;              // empty: one that suits what is shown
  std::string title;
  bool title_given = false;
  int pixels = 900;
  int threads = 1;
};

struct PlasmaPicture {
  Drawing figure;
  nlohmann::json description;  // what is shown; without the file that it goes to
};

PlasmaPicture plasma_picture(const PlasmaPictureOptions& options);

}  // namespace pergola::app
