#pragma once
// Small HDF5 files of Pergola's own: tables of named columns, and the spectrum of a plasma's waves. Both carry a format
// name, appear whole, and are written by one process.
#include <complex>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "base/host_device.hpp"

namespace pergola {

/// A column of a table in a file: numbers, or words if there are no numbers. What it points at outlives it.
struct FileColumn {
  std::string name, unit;
  const std::vector<double>* numbers = nullptr;
  const std::vector<std::string>* words = nullptr;
};

/// Writes an HDF5 file that appears whole: a data set per column with its unit as an attribute, and texts by name as
/// attributes of the root. Throws Error(system) if the operating system refuses.
void write_table_file(const std::filesystem::path& path, const std::vector<std::pair<std::string, std::string>>& texts,
                      const std::vector<FileColumn>& columns);

/// A curve of theory in a spectrum.
struct SpectrumCurve {
  std::string name;
  std::vector<double> wave_numbers, frequencies;
};

/// Waves along one axis: their amplitudes through time and their power by frequency.
struct AxisSpectrum {
  std::string axis;                              // x | y | z
  std::vector<double> wave_numbers;              // by mode
  std::vector<std::complex<double>> amplitudes;  // [time][mode]
  std::vector<double> frequencies;
  std::vector<double> power;  // [frequency][mode]
  std::vector<SpectrumCurve> theory;
};

/// spectrum.hdf5: Fourier modes of the potential along the axes, in the units of the run.
struct SpectrumFile {
  std::string length_unit, time_unit;
  std::vector<double> times;
  std::vector<AxisSpectrum> axes;
};

/// Written beside the name and renamed when complete.
PERGOLA_API void write_spectrum(const std::filesystem::path& path, const SpectrumFile& spectrum);
/// Without the amplitudes. Throws Error(input) for anything else than such a file.
PERGOLA_API SpectrumFile read_spectrum(const std::filesystem::path& path);

}  // namespace pergola
