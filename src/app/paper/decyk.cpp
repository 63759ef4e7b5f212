// The experiment of decyk: a thermal plasma on 256 × 512 cells, its time per particle and step.
#include <limits>

#include "app/bench.hpp"
#include "app/paper/session.hpp"

namespace pergola::app {

namespace {

constexpr const char* stages[] = {"Deposit", "Push", "Sort", "Total"};

void add_columns(PaperTable& table, const std::string& who) {
  for (const char* stage : stages) table.ours.push_back(std::string(stage) + " " + who + " (ns)");
}

/// Deposit, push, sort, total; the first three are one pass of ours.
void add_times(const Device& device, const PlasmaCase& which, const PlasmaParticles& electrons,
               std::vector<double>& row) {
  const double budget = device.is_cuda() ? 0.3 : 3.0, each = 1e9 / static_cast<double>(which.n);
  const double particles = plasma_step_seconds(device, which, electrons, false, budget);
  const double whole = plasma_step_seconds(device, which, electrons, true, budget);
  row.insert(row.end(), {unknown, each * particles, unknown, each * whole});
}

}  // namespace

PaperTable run_decyk(const PaperSession& session, const std::string& name) {
  PaperTable table = load_table("decyk", name);
  table.notes.push_back(
      "Ours deposits, pushes and keeps the order in one pass over the particles: the row Push holds all three. Total: "
      "with the field.");
  std::vector<Device> devices;
  if (name == "cpu") {
    devices = {Device::open("cpu", 1), Device::open("cpu", session.device().threads())};
    add_columns(table, "1 thread");
    add_columns(table, "all threads");
  } else if (session.device().is_cuda()) {
    devices = {session.device()};
    add_columns(table, session.device().name());
  } else {
    table.notes.push_back("Missing: the GPU's times; this is " + session.device().spec() + ".");
    return table;
  }
  session.run_sizes(table, {10, 1}, [&](std::int64_t n) -> std::optional<std::vector<double>> {
    PlasmaCase which = decyk_case();
    which.n = n;
    const PlasmaParticles electrons = thermal_electrons(which, session.device().threads());
    std::vector<double> row;
    for (const Device& device : devices) {
      if (interrupted) return std::nullopt;
      add_times(device, which, electrons, row);
    }
    return row;
  });
  return table;
}

}  // namespace pergola::app
