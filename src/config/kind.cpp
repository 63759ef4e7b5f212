#include "config/kind.hpp"

#include <fmt/core.h>

#include <algorithm>

#include "base/error.hpp"

namespace pergola {

const std::vector<KindEntry>& kind_entries() {
  static const std::vector<KindEntry> all{gravity_kind(), plasma_kind()};
  return all;
}

const KindEntry& kind_of(const RunConfig& config) {
  for (const KindEntry& kind : kind_entries())
    if (kind.name == config.kind) return kind;
  throw Error(ErrorKind::input, fmt::format("{}: there is no kind of system \"{}\"", config.source, config.kind));
}

const KindEntry* kind_with_table(const std::string& path) {
  for (const KindEntry& kind : kind_entries())
    if (!kind.table.empty() && (path == kind.table || path.starts_with(kind.table + "."))) return &kind;
  return nullptr;
}

bool has_key(const KindEntry& kind, const std::string& path) {
  const auto& all = kind_entries();
  return kind.owns(path) ||
         std::none_of(all.begin(), all.end(), [&](const KindEntry& other) { return other.owns(path); });
}

Precision RunConfig::precision() const { return kind_of(*this).precision(*this); }

std::optional<std::uint64_t> RunConfig::seed() const { return kind_of(*this).seed(*this); }

void RunConfig::require_particles() const {
  if (has_key(kind_of(*this), "particles.model") && particles.model.empty() && particles.file.empty() &&
      particles.parts.empty())
    throw Error(ErrorKind::input,
                fmt::format("{}: particles.model: expected a model, particles.file, [[particles.parts]] or [plasma], "
                            "found none",
                            source));
}

}  // namespace pergola
