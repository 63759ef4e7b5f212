#include "sim/energy_log.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cmath>
#include <fstream>
#include <utility>

#include "base/atomic_file.hpp"
#include "base/error.hpp"
#include "base/text.hpp"

namespace pergola {

namespace {

constexpr const char* header = "time,kinetic,potential,total,relative_error,px,py,pz,lx,ly,lz,wall";

}  // namespace

double relative_energy_error(const Energies& now, const Energies& start) {
  const double change = now.total() - start.total();
  return change == 0 ? 0 : change / std::abs(start.total());
}

EnergyLog::EnergyLog(const std::filesystem::path& path, std::int64_t rows, const std::vector<std::string>& more)
    : path_(path) {
  std::string text = header;
  for (const auto& name : more) text += "," + name;
  text += "\n";
  if (rows > 0) {
    std::ifstream file(path);
    std::string line;
    std::getline(file, line);
    while (rows_ < rows && std::getline(file, line)) {
      text += line + "\n";
      ++rows_;
    }
  }
  AtomicFile file(path);
  file.write(text);
  file.commit();
  descriptor_ = ::open(path.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC);
  if (descriptor_ < 0) throw_write_error(path, errno);
}

EnergyLog::EnergyLog(EnergyLog&& other) noexcept
    : path_(std::move(other.path_)), rows_(other.rows_), descriptor_(std::exchange(other.descriptor_, -1)) {}

EnergyLog& EnergyLog::operator=(EnergyLog&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(rows_, other.rows_);
  std::swap(descriptor_, other.descriptor_);
  return *this;
}

EnergyLog::~EnergyLog() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

void EnergyLog::add(double time, const Energies& now, const Energies& start, double wall_seconds,
                    const std::vector<double>& more) {
  const auto &p = now.momentum, &l = now.angular_momentum;
  std::string line;
  for (const double value :
       {time, now.kinetic, now.potential, now.total(), relative_energy_error(now, start), p.x, p.y, p.z, l.x, l.y, l.z})
    line += to_text(value) + ",";
  line += fmt::format("{:.3f}", wall_seconds);
  for (const double value : more) line += "," + to_text(value);
  line += "\n";
  const off_t size = ::lseek(descriptor_, 0, SEEK_END);
  const ssize_t written = ::write(descriptor_, line.data(), line.size());
  if (written != static_cast<ssize_t>(line.size())) {
    const int reason = written < 0 ? errno : ENOSPC;
    // Half a line must not stay; where even this is refused, the next --resume drops it.
    [[maybe_unused]] const int taken_back = ::ftruncate(descriptor_, size);
    throw_write_error(path_, reason);
  }
  ++rows_;
}

}  // namespace pergola
