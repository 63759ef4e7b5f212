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

/// Throws Error(input) for a name with another ending than those of open_film(), for a folder that holds something, and
/// for an mp4 or a GIF if there is no program ffmpeg.
void check_film_name(const std::string& name);

/// By the name: film.mp4 or film.gif, which the program ffmpeg writes, or a folder of numbered PNG files for a name
/// that ends in /. All frames have this size. Throws as check_film_name() does.
std::unique_ptr<FilmWriter> open_film(const std::string& name, int width, int height, int frames_per_second);

/// Whether the program ffmpeg is in the PATH.
bool has_ffmpeg();

}  // namespace pergola::app
