#pragma once
#include <filesystem>
#include <memory>
#include <string>

#include "picture/image.hpp"

namespace pergola::app {

/// A film that appears under its name only when it is complete: without finish() nothing is left.
class FilmWriter {
 public:
  virtual ~FilmWriter() = default;
  virtual void add(const Image& frame) = 0;
  virtual void finish() = 0;
};

/// Throws Error(input) for a name with another ending than those below, for a folder that holds something, and for an
/// mp4 where there is no ffmpeg.
void check_film_name(const std::string& name);

/// By the name: film.mp4 (by the program ffmpeg), film.gif, or a folder of numbered PNG files for a name that ends in
/// /. All frames have this size. Throws Error(input) for another ending, for a folder that holds something, and for an
/// mp4 where there is no ffmpeg.
std::unique_ptr<FilmWriter> open_film(const std::string& name, int width, int height, int frames_per_second);

/// Whether the program ffmpeg is in the PATH.
bool has_ffmpeg();

}  // namespace pergola::app
