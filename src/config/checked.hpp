#pragma once
#include "config/config.hpp"

namespace pergola {

/// The configuration, once RunConfig::check() has let it pass: for whoever is built from one.
inline const RunConfig& checked(const RunConfig& config) {
  config.check();
  return config;
}

}  // namespace pergola
