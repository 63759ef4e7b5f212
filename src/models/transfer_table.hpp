#pragma once
// Transfer functions and power spectra from tables of other programs.
#include <filesystem>
#include <string>
#include <vector>

#include "base/host_device.hpp"
#include "physics/cosmology.hpp"

namespace pergola {

/// A transfer function of matter as a table of CAMB or CLASS, or a power spectrum, over wave numbers in h/Mpc, or in
/// 1/Mpc where a comment of the file says so. Which of them is seen from the largest waves: T of CAMB does not depend
/// on k there, δ of CLASS grows as k², P as kⁿ.
class TransferTable {
 public:
  enum class Kind { camb, class_code, power };

  /// Throws Error(input) with file, line, what was expected and found.
  TransferTable(const std::filesystem::path& path, const physics::Cosmology& universe);

  /// T(k) up to a factor. Throws Error(input) outside the table.
  double operator()(double k) const;
  double first() const { return k_.front(); }
  double last() const { return k_.back(); }
  /// "matter.dat: 500 wave numbers from 1e-4 to 20 h/Mpc, transfer functions of CAMB (over k²), column 7"; with "(1/Mpc
  /// in the file)" where they are.
  const std::string& description() const { return description_; }
  Kind kind() const { return kind_; }

 private:
  std::string name_, description_;
  Kind kind_ = Kind::camb;
  std::vector<double> k_, log_transfer_;
};

/// A power spectrum as a table: wave numbers in h/Mpc and P in (Mpc/h)³, the first two columns; lines of comment begin
/// with #. Between its lines a power of k.
class PERGOLA_API PowerTable {
 public:
  /// Throws Error(input) with file, line, what was expected and found; also where the file says that its wave numbers
  /// are in 1/Mpc.
  explicit PowerTable(const std::filesystem::path& path);

  /// P(k) for k from first() to last().
  double operator()(double k) const;
  double first() const;
  double last() const;

 private:
  std::vector<double> log_k_, log_power_;
};

}  // namespace pergola
