#include <cairo-pdf.h>
#include <cairo-svg.h>
#include <cairo.h>
#include <dlfcn.h>
#include <fmt/core.h>

#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <numbers>
#include <string>

#include "base/atomic_file.hpp"
#include "base/error.hpp"
#include "base/version.hpp"
#include "picture/drawing.hpp"

// The only file that sees Cairo. The library is opened on first use, so that a machine without it can compute. SVG
// files get an invisible layer of text over the outlines of their letters.
namespace pergola {

namespace {

/// The functions of Cairo that figures use.
// clang-format off
#define PERGOLA_CAIRO_FUNCTIONS(USE) \
  USE(create) USE(destroy) USE(status) USE(status_to_string) USE(save) USE(restore) USE(translate) USE(rotate) \
  USE(scale) USE(move_to) USE(line_to) USE(close_path) USE(arc) USE(rectangle) USE(clip) USE(reset_clip) USE(fill) \
  USE(stroke) USE(paint) USE(new_path) USE(set_source_rgba) USE(set_source_surface) USE(get_source) \
  USE(pattern_set_filter) USE(pattern_set_extend) USE(set_line_width) USE(set_line_cap) USE(set_line_join) \
  USE(set_dash) USE(select_font_face) USE(set_font_size) USE(set_font_options) USE(font_options_create) \
  USE(font_options_destroy) USE(font_options_set_antialias) USE(font_options_set_hint_style) \
  USE(font_options_set_hint_metrics) USE(text_extents) USE(text_path) USE(show_text) USE(show_page) \
  USE(image_surface_create) USE(image_surface_get_data) USE(image_surface_get_stride) \
  USE(svg_surface_create_for_stream) USE(svg_surface_set_document_unit) USE(pdf_surface_create_for_stream) \
  USE(pdf_surface_set_metadata) USE(surface_flush) USE(surface_mark_dirty) USE(surface_finish) \
  USE(surface_destroy) USE(surface_status)
// clang-format on

/// The functions of Cairo, found at run time: a machine that only computes needs no Cairo.
struct CairoLibrary {
#define PERGOLA_CAIRO_MEMBER(name) decltype(&::cairo_##name) name = nullptr;
  PERGOLA_CAIRO_FUNCTIONS(PERGOLA_CAIRO_MEMBER)
#undef PERGOLA_CAIRO_MEMBER
};

[[noreturn]] void refuse_cairo(const std::string& reason) {
  throw Error(ErrorKind::system,
              fmt::format("figures with text need Cairo, and {}; expected it installed (Debian: libcairo2 and "
                          "fonts-dejavu-core)",
                          reason));
}

template <class Function>
void find_symbol(void* library, const char* name, Function& function) {
  void* const symbol = dlsym(library, name);
  if (!symbol) refuse_cairo(fmt::format("the one that was found has no {}", name));
  function = reinterpret_cast<Function>(symbol);
}

/// Finds every function by name. Throws Error(system) if the library or one function is missing.
CairoLibrary open_library() {
  const char* const named = std::getenv("PERGOLA_CAIRO");
  const char* const file = named && *named ? named : "libcairo.so.2";
  void* const library = dlopen(file, RTLD_NOW | RTLD_LOCAL);  // never closed: its fonts live as long as the program
  if (!library) refuse_cairo(fmt::format("{} cannot be opened", file));
  CairoLibrary functions;
#define PERGOLA_CAIRO_FIND(name) find_symbol(library, "cairo_" #name, functions.name);
  PERGOLA_CAIRO_FUNCTIONS(PERGOLA_CAIRO_FIND)
#undef PERGOLA_CAIRO_FIND
#undef PERGOLA_CAIRO_FUNCTIONS
  return functions;
}

/// Opens the library on first use: libcairo.so.2, or the file that the environment variable PERGOLA_CAIRO names.
/// Throws Error(system) with the package to install.
const CairoLibrary& cairo_library() {
  static const CairoLibrary library = open_library();
  return library;
}

/// The three characters that XML reserves in text.
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

/// The invisible words of one text item.
std::string text_element(const Text& text) {
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

/// Cairo writes the letters of an SVG file as outlines, which look the same everywhere but cannot be searched or
/// copied. This adds the words themselves, invisible, over their outlines.
std::string with_text_layer(std::string svg, const Drawing& figure, const std::string& font_family) {
  std::string layer =
      fmt::format("<g id=\"text\" fill=\"#000000\" fill-opacity=\"0\" font-family=\"{}, sans-serif\">\n", font_family);
  for (const auto& item : figure.items())
    if (const auto* const text = std::get_if<Text>(&item)) layer += text_element(*text);
  layer += "</g>\n";
  const auto end = svg.rfind("</svg>");
  return end == std::string::npos ? svg : fmt::format("{}{}{}", svg.substr(0, end), layer, svg.substr(end));
}

constexpr const char* font_family = "DejaVu Sans";

/// Cairo remembers the first failure of a context or surface: one check at the end finds it.
void check_cairo(cairo_status_t status) {
  if (status == CAIRO_STATUS_SUCCESS) return;
  throw Error(status == CAIRO_STATUS_NO_MEMORY ? ErrorKind::device : ErrorKind::system,
              fmt::format("Cairo cannot draw a figure: {}", cairo_library().status_to_string(status)));
}

/// Owns a surface of Cairo.
class Surface {
 public:
  explicit Surface(cairo_surface_t* surface) : surface_(surface) {
    check_cairo(cairo_library().surface_status(surface));
  }
  ~Surface() { cairo_library().surface_destroy(surface_); }
  Surface(const Surface&) = delete;
  Surface& operator=(const Surface&) = delete;
  cairo_surface_t* get() const { return surface_; }

 private:
  cairo_surface_t* surface_;
};

/// Draws the items of a figure on a surface.
class Painter {
 public:
  explicit Painter(const Surface& surface) : cairo_(cairo_library()), context_(cairo_.create(surface.get())) {
    // Without hints letters have the same places and widths at any resolution and in every format.
    cairo_font_options_t* const options = cairo_.font_options_create();
    cairo_.font_options_set_antialias(options, CAIRO_ANTIALIAS_GRAY);
    cairo_.font_options_set_hint_style(options, CAIRO_HINT_STYLE_NONE);
    cairo_.font_options_set_hint_metrics(options, CAIRO_HINT_METRICS_OFF);
    cairo_.set_font_options(context_, options);
    cairo_.font_options_destroy(options);
    cairo_.set_line_join(context_, CAIRO_LINE_JOIN_ROUND);
  }
  ~Painter() { cairo_.destroy(context_); }
  Painter(const Painter&) = delete;
  Painter& operator=(const Painter&) = delete;

  /// Draws all items, scaled by a factor.
  void draw_scaled(const Drawing& figure, double factor) {
    cairo_.scale(context_, factor, factor);
    set_color(figure.paper(), 1);
    cairo_.rectangle(context_, 0, 0, figure.width(), figure.height());
    cairo_.fill(context_);
    for (const auto& item : figure.items()) std::visit(*this, item);
    cairo_.show_page(context_);
    check_cairo(cairo_.status(context_));
  }

  /// NaN in x separates the pieces of a line. Without a pen the shape is filled.
  void operator()(const Shape& shape) {
    bool begun = false;
    for (const Point& p : shape.points) {
      if (!std::isfinite(p.x)) {
        begun = false;
        continue;
      }
      begun ? cairo_.line_to(context_, p.x, p.y) : cairo_.move_to(context_, p.x, p.y);
      begun = true;
    }
    if (!shape.pen) {
      set_color(shape.fill, shape.opacity);
      cairo_.close_path(context_);
      cairo_.fill(context_);
      return;
    }
    const Pen& pen = *shape.pen;
    set_color(pen.color, pen.opacity);
    cairo_.set_line_width(context_, pen.width);
    cairo_.set_line_cap(context_, pen.dashes.empty() || pen.dashes[0] < 1 ? CAIRO_LINE_CAP_ROUND : CAIRO_LINE_CAP_BUTT);
    cairo_.set_dash(context_, pen.dashes.data(), static_cast<int>(pen.dashes.size()), 0);
    cairo_.stroke(context_);
  }

  void operator()(const Disc& disc) {
    set_color(disc.fill, 1);
    cairo_.new_path(context_);
    cairo_.arc(context_, disc.center.x, disc.center.y, disc.radius, 0, 2 * std::numbers::pi);
    cairo_.fill(context_);
  }

  /// Alignment needs the width of all runs together. A halo is drawn first, under the letters.
  void operator()(const Text& text) {
    const auto& style = text.style;
    const auto runs = parse_markup(text.text);
    const double part = style.align == Align::left ? 0 : style.align == Align::right ? 1 : 0.5;
    cairo_.save(context_);
    cairo_.translate(context_, text.at.x, text.at.y);
    if (style.direction == Direction::upward) cairo_.rotate(context_, -std::numbers::pi / 2);
    cairo_.translate(context_, -part * width(runs, style.size, style.bold), 0);
    if (style.halo > 0) write(runs, style, true);
    write(runs, style, false);
    cairo_.restore(context_);
  }

  /// Nearest neighbours: a pixel of a map stays a sharp square when it is enlarged. Cairo stores RGB24 as native words.
  void operator()(const Pixels& pixels) {
    const Image& image = *pixels.image;
    const Surface surface(cairo_.image_surface_create(CAIRO_FORMAT_RGB24, image.width(), image.height()));
    cairo_.surface_flush(surface.get());
    std::uint8_t* const data = cairo_.image_surface_get_data(surface.get());
    const auto stride = static_cast<std::size_t>(cairo_.image_surface_get_stride(surface.get()));
    for (int y = 0; y < image.height(); ++y)
      for (int x = 0; x < image.width(); ++x) {
        const Color c = image.at(x, y);
        const std::uint32_t word = static_cast<std::uint32_t>(c.r << 16 | c.g << 8 | c.b);
        std::memcpy(data + static_cast<std::size_t>(y) * stride + 4 * static_cast<std::size_t>(x), &word, sizeof word);
      }
    cairo_.surface_mark_dirty(surface.get());
    const Rect& where = pixels.where;
    cairo_.save(context_);
    cairo_.translate(context_, where.x, where.y);
    cairo_.scale(context_, where.width / image.width(), where.height / image.height());
    cairo_.set_source_surface(context_, surface.get(), 0, 0);
    cairo_.pattern_set_filter(cairo_.get_source(context_), CAIRO_FILTER_NEAREST);
    cairo_.rectangle(context_, 0, 0, image.width(), image.height());
    cairo_.fill(context_);
    cairo_.restore(context_);
  }

  /// A new clip replaces the one before, instead of cutting it.
  void operator()(const Clip& clip) {
    cairo_.reset_clip(context_);
    if (!clip.area) return;
    cairo_.rectangle(context_, clip.area->x, clip.area->y, clip.area->width, clip.area->height);
    cairo_.clip(context_);
  }

  /// Pixels from the first letter to the end of the last one's advance.
  double width(const std::vector<TextRun>& runs, double size, bool bold) {
    double sum = 0;
    for (const auto& run : runs) sum += advance(run, size, bold);
    return sum;
  }

 private:
  void set_color(Color c, double opacity) {
    cairo_.set_source_rgba(context_, c.r / 255.0, c.g / 255.0, c.b / 255.0, opacity);
  }

  /// Sets the font of a run. Returns its width.
  double advance(const TextRun& run, double size, bool bold) {
    cairo_.select_font_face(context_, font_family, CAIRO_FONT_SLANT_NORMAL,
                            bold ? CAIRO_FONT_WEIGHT_BOLD : CAIRO_FONT_WEIGHT_NORMAL);
    cairo_.set_font_size(context_, run.script == 0 ? size : script_size * size);
    cairo_text_extents_t extents;
    cairo_.text_extents(context_, run.text.c_str(), &extents);
    return extents.x_advance;
  }

  /// Raised and lowered runs are smaller and off the base line. `shadow`: the outlines instead of the letters.
  void write(const std::vector<TextRun>& runs, const TextStyle& style, bool shadow) {
    double x = 0;
    for (const auto& run : runs) {
      const double y = run.script > 0 ? -script_raise : run.script < 0 ? script_lower : 0;
      const double wide = advance(run, style.size, style.bold);
      cairo_.move_to(context_, x, y * style.size);
      if (shadow) {
        set_color({0, 0, 0}, 0.45 * style.opacity);
        cairo_.text_path(context_, run.text.c_str());
        cairo_.set_line_width(context_, 2 * style.halo);
        cairo_.set_dash(context_, nullptr, 0, 0);
        cairo_.stroke(context_);
      } else {
        set_color(style.color, style.opacity);
        cairo_.show_text(context_, run.text.c_str());
      }
      cairo_.new_path(context_);
      x += wide;
    }
  }

  const CairoLibrary& cairo_;
  cairo_t* context_;
};

/// Cairo hands over the bytes of a file as it makes them.
cairo_status_t append(void* to, const unsigned char* bytes, unsigned int count) {
  static_cast<std::string*>(to)->append(reinterpret_cast<const char*>(bytes), count);
  return CAIRO_STATUS_SUCCESS;
}

/// The image if the figure is nothing but pixels that fill it; else null.
const Image* only_pixels(const Drawing& figure) {
  const auto* const pixels = figure.items().size() == 1 ? std::get_if<Pixels>(&figure.items()[0]) : nullptr;
  if (!pixels) return nullptr;
  const Image& image = *pixels->image;
  const Rect& where = pixels->where;
  const bool fills = where.x == 0 && where.y == 0 && where.width == figure.width() && where.height == figure.height();
  return fills && image.width() == figure.width() && image.height() == figure.height() ? &image : nullptr;
}

constexpr double points_per_pixel = 0.75;  // 96 pixels and 72 points to the inch

/// A PDF of one page, without the date: the same figure gives the same bytes.
std::string encode_pdf(const Drawing& figure) {
  const auto& cairo = cairo_library();
  std::string bytes;
  const Surface surface(cairo.pdf_surface_create_for_stream(append, &bytes, points_per_pixel * figure.width(),
                                                            points_per_pixel * figure.height()));
  cairo.pdf_surface_set_metadata(surface.get(), CAIRO_PDF_METADATA_CREATE_DATE, nullptr);
  cairo.pdf_surface_set_metadata(surface.get(), CAIRO_PDF_METADATA_CREATOR,
                                 fmt::format("Pergola {}", version()).c_str());
  Painter(surface).draw_scaled(figure, points_per_pixel);
  cairo.surface_finish(surface.get());
  check_cairo(cairo.surface_status(surface.get()));
  return bytes;
}

/// The size is in CSS pixels. Text is outlines, with a layer of words over them.
std::string encode_svg(const Drawing& figure) {
  const auto& cairo = cairo_library();
  std::string bytes;
  const Surface surface(cairo.svg_surface_create_for_stream(append, &bytes, figure.width(), figure.height()));
  cairo.svg_surface_set_document_unit(surface.get(), CAIRO_SVG_UNIT_PX);
  Painter(surface).draw_scaled(figure, 1);
  cairo.surface_finish(surface.get());
  check_cairo(cairo.surface_status(surface.get()));
  return with_text_layer(std::move(bytes), figure, font_family);
}

}  // namespace

/// Measured on a surface of one pixel, with the same font settings as in a figure.
double text_width(std::string_view text, double size, bool bold) {
  const auto& cairo = cairo_library();
  const Surface surface(cairo.image_surface_create(CAIRO_FORMAT_RGB24, 1, 1));
  return Painter(surface).width(parse_markup(text), size, bold);
}

Image rasterize(const Drawing& figure) {
  if (const Image* const image = only_pixels(figure)) return *image;
  const auto& cairo = cairo_library();
  const Surface surface(cairo.image_surface_create(CAIRO_FORMAT_RGB24, figure.width(), figure.height()));
  Painter(surface).draw_scaled(figure, 1);
  cairo.surface_flush(surface.get());
  const std::uint8_t* const data = cairo.image_surface_get_data(surface.get());
  const auto stride = static_cast<std::size_t>(cairo.image_surface_get_stride(surface.get()));
  Image image(figure.width(), figure.height());
  for (int y = 0; y < image.height(); ++y)
    for (int x = 0; x < image.width(); ++x) {
      std::uint32_t word = 0;
      std::memcpy(&word, data + static_cast<std::size_t>(y) * stride + 4 * static_cast<std::size_t>(x), sizeof word);
      image.set(x, y,
                {static_cast<std::uint8_t>(word >> 16), static_cast<std::uint8_t>(word >> 8),
                 static_cast<std::uint8_t>(word)});
    }
  return image;
}

/// PNG files need Cairo only if the drawing has more than pixels.
void write_drawing(const std::filesystem::path& path, const Drawing& figure) {
  const std::string format = drawing_format(path, "figure");
  if (format == "png") return write_png(path, rasterize(figure));
  write_text(path, format == "pdf" ? encode_pdf(figure) : encode_svg(figure));
}

}  // namespace pergola
