#include "outputs/energy_log.hpp"

#include <fmt/format.h>

#include <utility>

#include "base/text.hpp"

namespace pergola {

namespace {

constexpr const char* header = "time,kinetic,potential,total,relative_error,px,py,pz,lx,ly,lz,wall";

}  // namespace

EnergyLog::EnergyLog(const std::filesystem::path& path, std::int64_t rows, const std::vector<std::string>& more)
    : log_(path, fmt::format("{}{}{}", header, more.empty() ? "" : ",", fmt::join(more, ",")), rows) {}

void EnergyLog::add(double time, const Energies& now, double relative_error, double wall_seconds,
                    const std::vector<double>& more) {
  const auto &p = now.momentum, &l = now.angular_momentum;
  std::string line;
  for (const double value :
       {time, now.kinetic, now.potential, now.total(), relative_error, p.x, p.y, p.z, l.x, l.y, l.z})
    line += to_text(value) + ",";
  line += fmt::format("{:.3f}", wall_seconds);
  for (const double value : more) line += "," + to_text(value);
  log_.add(std::move(line));
}

}  // namespace pergola
