#include "picture/cairo_library.hpp"

#include <dlfcn.h>
#include <fmt/core.h>

#include <cstdlib>
#include <string>

#include "base/error.hpp"

namespace pergola {

namespace {

[[noreturn]] void refuse(const std::string& reason) {
  throw Error(ErrorKind::system,
              fmt::format("figures with text need Cairo, and {}; expected it installed (Debian: libcairo2 and "
                          "fonts-dejavu-core)",
                          reason));
}

template <class Function>
void find(void* library, const char* name, Function& function) {
  void* const symbol = dlsym(library, name);
  if (!symbol) refuse(fmt::format("the one that was found has no {}", name));
  function = reinterpret_cast<Function>(symbol);
}

CairoLibrary open_library() {
  const char* const named = std::getenv("PERGOLA_CAIRO");
  const char* const file = named && *named ? named : "libcairo.so.2";
  void* const library = dlopen(file, RTLD_NOW | RTLD_LOCAL);  // never closed: its fonts live as long as the program
  if (!library) refuse(fmt::format("{} cannot be opened", file));
  CairoLibrary functions;
#define PERGOLA_CAIRO_FIND(name) find(library, "cairo_" #name, functions.name);
  PERGOLA_CAIRO_FUNCTIONS(PERGOLA_CAIRO_FIND)
#undef PERGOLA_CAIRO_FIND
  return functions;
}

}  // namespace

const CairoLibrary& cairo_library() {
  static const CairoLibrary library = open_library();
  return library;
}

}  // namespace pergola
