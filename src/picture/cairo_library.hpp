#pragma once
#include <cairo-pdf.h>
#include <cairo-svg.h>
#include <cairo.h>

namespace pergola {

/// The functions of Cairo that figures use.
#define PERGOLA_CAIRO_FUNCTIONS(USE) \
  USE(create)                        \
  USE(destroy)                       \
  USE(status)                        \
  USE(status_to_string)              \
  USE(save)                          \
  USE(restore)                       \
  USE(translate)                     \
  USE(rotate)                        \
  USE(scale)                         \
  USE(move_to)                       \
  USE(line_to)                       \
  USE(close_path)                    \
  USE(arc)                           \
  USE(rectangle)                     \
  USE(clip)                          \
  USE(reset_clip)                    \
  USE(fill)                          \
  USE(stroke)                        \
  USE(paint)                         \
  USE(new_path)                      \
  USE(set_source_rgba)               \
  USE(set_source_surface)            \
  USE(get_source)                    \
  USE(pattern_set_filter)            \
  USE(pattern_set_extend)            \
  USE(set_line_width)                \
  USE(set_line_cap)                  \
  USE(set_line_join)                 \
  USE(set_dash)                      \
  USE(select_font_face)              \
  USE(set_font_size)                 \
  USE(set_font_options)              \
  USE(font_options_create)           \
  USE(font_options_destroy)          \
  USE(font_options_set_antialias)    \
  USE(font_options_set_hint_style)   \
  USE(font_options_set_hint_metrics) \
  USE(text_extents)                  \
  USE(text_path)                     \
  USE(show_text)                     \
  USE(show_page)                     \
  USE(image_surface_create)          \
  USE(image_surface_get_data)        \
  USE(image_surface_get_stride)      \
  USE(svg_surface_create_for_stream) \
  USE(svg_surface_set_document_unit) \
  USE(pdf_surface_create_for_stream) \
  USE(pdf_surface_set_metadata)      \
  USE(surface_flush)                 \
  USE(surface_mark_dirty)            \
  USE(surface_finish)                \
  USE(surface_destroy)               \
  USE(surface_status)

/// Cairo as it is found when the program runs: a machine that only computes need not have it.
struct CairoLibrary {
#define PERGOLA_CAIRO_MEMBER(name) decltype(&::cairo_##name) name = nullptr;
  PERGOLA_CAIRO_FUNCTIONS(PERGOLA_CAIRO_MEMBER)
#undef PERGOLA_CAIRO_MEMBER
};

/// Opens the library on first use: libcairo.so.2, or the file that the environment variable PERGOLA_CAIRO names. Throws
/// Error(system) with the package to install.
const CairoLibrary& cairo_library();

}  // namespace pergola
