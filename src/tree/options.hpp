#pragma once
#include <array>
#include <string_view>

namespace pergola {

/// What the tree solver is asked for; gravity/tree_opening.cpp turns it into the parameters of the walk.
struct TreeOptions {
  /// relative: terms left out are compared with the target's acceleration. geometric: angles alone decide.
  enum class Opening { relative, geometric };
  Opening opening = Opening::relative;
  double accuracy = 1e-3;      // relative: the median relative force error, about; at most six times that for 99 %
  double opening_angle = 0.6;  // geometric: the radii of two cells over their distance, at most
  int order = 0;               // of the expansions, 2 to 5; 0: the cheapest for the accuracy; 4 for an angle
};
inline constexpr std::array<std::string_view, 2> tree_opening_names{"relative", "geometric"};

}  // namespace pergola
