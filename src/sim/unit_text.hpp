#pragma once
// Units and times as words.
#include <string>
#include <vector>

#include "analysis/analysis.hpp"
#include "io/openpmd.hpp"
#include "io/snapshot.hpp"

namespace pergola {

/// Whether the header is that of a part of an expanding universe, whose units have h in them: Omega0 above 0.
bool has_universe(const SnapshotHeader& header);

/// The units of a snapshot in words for pictures; empty where the file states none, or N-body units.
struct UnitTexts {
  std::string length;           // "kpc"
  std::string surface_density;  // "10^{10} M_{☉}/kpc^{2}"
};
UnitTexts unit_texts(const SnapshotHeader& header);

/// The unit that a time is shown in, and the factor to it from the file's: in which `longest` is a number from 1 to
/// 1000 or so. Where the file states no units the name is empty.
struct ShownTimeUnit {
  std::string name;
  double factor = 1;
};
ShownTimeUnit shown_time_unit(const SnapshotHeader& header, double longest);

/// "t = 1.24 Gyr" where the file states units, "t = 1.5" where not; "z = 0.5" of a cosmological snapshot. In a series
/// up to `longest`, in the file's unit, all have one unit and as many digits; 0: the text is for this time alone.
std::string time_text(const SnapshotHeader& header, double longest = 0);

/// "t = 30/ω_p", "t = 2e-9 s".
std::string time_text(const OpenPmdSummary& summary);

/// The units of a snapshot for tables, without marks of text: "1e10 Msun", "km/s", "kpc/(km/s)".
AnalysisUnits plain_units(const SnapshotHeader& header);

/// A unit of tables and files as pictures write it: "1e10 Msun/kpc^3" and "m_e (lambda_D omega_p)^2/e" with raised and
/// lowered letters and the symbols of λ_D and ω_p.
std::string drawn_unit(std::string unit);

/// Throws Error(input) where a snapshot or openPMD file states other units than the first: numbers of such files do not
/// belong into one table or picture. All are of one kind.
void require_same_units(const std::vector<std::string>& files);

}  // namespace pergola
