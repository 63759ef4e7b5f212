#pragma once
#include "picture/image.hpp"

// How all plots on paper look.
namespace pergola::plot_style {

inline constexpr Color paper{255, 255, 255};
inline constexpr Color ink{38, 42, 51};
inline constexpr Color faint{226, 229, 234};
inline constexpr double tick_size = 12, label_size = 13.5, title_size = 15;  // of the fonts, pixels
inline constexpr double cap_height = 0.73;                                   // of a capital, in sizes of the font

}  // namespace pergola::plot_style
