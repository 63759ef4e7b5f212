#pragma once
#include <string>

namespace pergola {

class Drawing;

/// Cairo writes letters of an SVG file as outlines, which look the same everywhere and cannot be searched or copied.
/// This adds the words themselves, unseen, over their outlines.
std::string with_text_layer(std::string svg, const Drawing& figure, const std::string& font_family);

}  // namespace pergola
