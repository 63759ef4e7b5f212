#include "config/output_counts.hpp"

#include <fmt/core.h>

#include "base/error.hpp"
#include "base/text.hpp"

namespace pergola {

void check_output_counts(const RunConfig& config, double start) {
  constexpr double most = 1e9;
  const double length = config.length_between(start, config.run.end_time);
  const auto check = [&](const char* key, double every) {
    if (every > 0 && length / every > most)
      throw Error(ErrorKind::input,
                  fmt::format("{}: {}: expected at most 1e9 outputs in a run of length {}, that is 0 "
                              "or at least {}, found {}",
                              config.source, key, to_text(length), to_text(length / most), to_text(every)));
  };
  check("output.energy_every", config.output.energy_every);
  check("output.snapshots_every", config.output.snapshots_every);
  if (const auto radii = config.output.more.find("output.radii_every"); radii != config.output.more.end())
    check("output.radii_every", radii->second);
}

}  // namespace pergola
