#include "picture/svg_text.hpp"

#include <fmt/core.h>

#include "picture/drawing.hpp"
#include "picture/markup.hpp"

namespace pergola {

namespace {

std::string escaped(const std::string& text) {
  std::string safe;
  for (const char c : text)
    if (c == '&')
      safe += "&amp;";
    else if (c == '<')
      safe += "&lt;";
    else if (c == '>')
      safe += "&gt;";
    else
      safe += c;
  return safe;
}

std::string element(const Text& text) {
  const auto& style = text.style;
  const char* const anchor = style.align == Align::left ? "start" : style.align == Align::right ? "end" : "middle";
  std::string words;
  for (const auto& run : parse_markup(text.text))
    words += run.script == 0
                 ? escaped(run.text)
                 : fmt::format("<tspan baseline-shift=\"{}\" font-size=\"{:.6g}\">{}</tspan>",
                               run.script > 0 ? "super" : "sub", script_size * style.size, escaped(run.text));
  return fmt::format(
      "<text transform=\"translate({:.6g} {:.6g}){}\" font-size=\"{:.6g}\" text-anchor=\"{}\"{}>{}</text>\n", text.at.x,
      text.at.y, style.direction == Direction::upward ? " rotate(-90)" : "", style.size, anchor,
      style.bold ? " font-weight=\"bold\"" : "", words);
}

}  // namespace

std::string with_text_layer(std::string svg, const Drawing& figure, const std::string& font_family) {
  std::string layer =
      fmt::format("<g id=\"text\" fill=\"#000000\" fill-opacity=\"0\" font-family=\"{}, sans-serif\">\n", font_family);
  for (const auto& item : figure.items())
    if (const auto* const text = std::get_if<Text>(&item)) layer += element(*text);
  layer += "</g>\n";
  const auto end = svg.rfind("</svg>");
  return end == std::string::npos ? svg : fmt::format("{}{}{}", svg.substr(0, end), layer, svg.substr(end));
}

}  // namespace pergola
