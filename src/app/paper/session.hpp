#pragma once
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "app/context.hpp"
#include "app/paper/table.hpp"
#include "device/device.hpp"
#include "gravity/solver.hpp"
#include "particles/particles.hpp"

namespace pergola::app {

struct PaperOptions {
  std::string paper;           // NAME or NAME/TABLE
  double budget_seconds = 60;  // per table
  std::int64_t max_n = 0;      // 0: no limit
  bool full = false;           // every size, whatever it takes
  bool resume = false;         // keep the rows that are in the output folder
  int seeds = 0;               // 0: the experiment's own number
  std::string output;          // folder; empty: nothing is written
};

/// One call of `pergola paper`: where the rows come from and where they go.
class PaperSession {
 public:
  PaperSession(const Context& context, const PaperOptions& options);

  const Context& context() const { return context_; }
  const PaperOptions& options() const { return options_; }
  const Device& device() const { return device_; }
  /// "Pergola on cpu": how our columns begin.
  std::string ours() const { return "Pergola on " + device_.spec(); }

  /// How the time of a row grows: fixed_seconds (repetitions, start-up) and a part that goes as n^exponent.
  struct Growth {
    double fixed_seconds, exponent;
  };
  /// Our columns for n particles, or nothing when it was interrupted.
  using Measure = std::function<std::optional<std::vector<double>>(std::int64_t n)>;
  /// Measures the table's sizes, smallest first, as long as the next one is estimated to fit into the budget. What was
  /// measured is kept and written after every row.
  void run_sizes(PaperTable& table, const Growth& growth, const Measure& measure) const;

  void write_csv(const PaperTable& table) const;
  /// Where a file of this call goes; nothing when no output folder was given.
  std::optional<std::filesystem::path> file(const std::string& name) const;
  void write_text(const std::string& name, const std::string& text) const;

 private:
  const Context& context_;
  PaperOptions options_;
  Device device_;
};

// The experiments. Each returns its table with our columns filled as far as they were measured.
PaperTable run_kirin(const PaperSession& session, const std::string& name);
PaperTable run_bertinelli(const PaperSession& session, const std::string& name);
PaperTable run_aubert(const PaperSession& session, const std::string& name);
PaperTable run_cuda_gadget(const PaperSession& session, const std::string& name);
PaperTable run_decyk(const PaperSession& session, const std::string& name);
PaperTable run_six_body(const PaperSession& session);

Particles plummer(std::int64_t n, std::uint64_t seed, int threads);

/// Median seconds of one force evaluation on the device, transfers between host and device not counted.
double measure_forces(const Device& device, const Particles& particles, unsigned want, Precision precision,
                      double softening);

/// (E_end − E_start) / |E_start|, both in double precision.
double relative_energy_error(const Device& device, const Particles& start, const Particles& end,
                             const SolverOptions& gravity);

double median_size(std::vector<double> values);

/// Median seconds of one evaluation of the accelerations by a plain serial loop in single precision, as a student
/// writes it: over all pairs, or over half of them with F_ij = −F_ji.
double measure_serial(const Particles& particles, double softening, bool symmetric);

/// Writes the table's columns against N as PNG into the session's folder: published ones dashed, ours solid.
void plot_table(const PaperSession& session, const PaperTable& table);

/// A line of the notes and of the details that says whether something stayed below its bar.
void add_paper_check(PaperTable& table, std::int64_t n, const std::string& name, double measured, double tolerance);

/// Section 5.1: `table` has its published half, the sizes that are wanted and the first of our columns.
PaperTable run_cuda_gadget_cosmology(const PaperSession& session, PaperTable table);

}  // namespace pergola::app
