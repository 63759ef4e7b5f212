#include "io/table_file.hpp"

#include <fmt/core.h>

#include "base/atomic_file.hpp"
#include "base/error.hpp"
#include "io/hdf5_file.hpp"

namespace pergola {

/// Numbers are stored as 64-bit reals, words as texts of one length.
void write_table_file(const std::filesystem::path& path, const std::vector<std::pair<std::string, std::string>>& texts,
                      const std::vector<FileColumn>& columns) {
  AtomicFile target(path);
  hdf5::File file(target.temporary(), path);
  file.write_attribute("/", "format", "pergola table");
  for (const auto& [name, text] : texts) file.write_attribute("/", name, text);
  for (const FileColumn& column : columns) {
    if (column.numbers)
      file.write_array(column.name, H5T_IEEE_F64LE,
                       {{static_cast<std::int64_t>(column.numbers->size())}, *column.numbers});
    else
      file.write_texts(column.name, *column.words);
    file.write_attribute(column.name, "unit", column.unit);
  }
  file.close();
  target.commit();
}

namespace {

/// The root's attribute `format`, by which a reader knows the file.
constexpr const char* format_name = "pergola spectrum";

std::int64_t length(const std::vector<double>& values) { return static_cast<std::int64_t>(values.size()); }

void write_reals(hdf5::File& file, const std::string& name, const std::vector<double>& values) {
  file.write_array(name, H5T_IEEE_F64LE, {{length(values)}, values});
}

/// A group per axis: wave_number, frequency, power[frequency][mode], potential[time][mode][2] with real and imaginary
/// parts, and theory/NAME with two arrays of equal length.
void write_axis(hdf5::File& file, const std::string& group, const AxisSpectrum& axis) {
  file.create_group(group);
  write_reals(file, group + "/wave_number", axis.wave_numbers);
  write_reals(file, group + "/frequency", axis.frequencies);
  const std::int64_t modes = length(axis.wave_numbers);
  file.write_array(group + "/power", H5T_IEEE_F64LE, {{length(axis.frequencies), modes}, axis.power});
  hdf5::Array amplitudes{{static_cast<std::int64_t>(axis.amplitudes.size()) / modes, modes, 2}, {}};
  for (const auto& amplitude : axis.amplitudes) {
    amplitudes.values.push_back(amplitude.real());
    amplitudes.values.push_back(amplitude.imag());
  }
  file.write_array(group + "/potential", H5T_IEEE_F64LE, amplitudes);
  file.create_group(group + "/theory");
  for (const SpectrumCurve& curve : axis.theory) {
    const std::string place = group + "/theory/" + curve.name;
    file.create_group(place);
    write_reals(file, place + "/wave_number", curve.wave_numbers);
    write_reals(file, place + "/frequency", curve.frequencies);
  }
}

AxisSpectrum read_axis(const hdf5::File& file, const std::string& name) {
  AxisSpectrum axis;
  axis.axis = name;
  axis.wave_numbers = file.read_array(name + "/wave_number").values;
  axis.frequencies = file.read_array(name + "/frequency").values;
  axis.power = file.read_array(name + "/power").values;
  if (axis.power.size() != axis.wave_numbers.size() * axis.frequencies.size() || axis.power.empty())
    throw Error(ErrorKind::input,
                fmt::format("{}: {}/power has {} values, expected {} frequencies of {} waves", file.path().string(),
                            name, axis.power.size(), axis.frequencies.size(), axis.wave_numbers.size()));
  for (const std::string& curve : file.members(name + "/theory")) {
    const std::string place = name + "/theory/" + curve;
    axis.theory.push_back(
        {curve, file.read_array(place + "/wave_number").values, file.read_array(place + "/frequency").values});
    if (axis.theory.back().wave_numbers.size() != axis.theory.back().frequencies.size())
      throw Error(ErrorKind::input, fmt::format("{}: {} has arrays of unequal length", file.path().string(), place));
  }
  return axis;
}

}  // namespace

void write_spectrum(const std::filesystem::path& path, const SpectrumFile& spectrum) {
  AtomicFile target(path);
  hdf5::File file(target.temporary(), path);
  file.write_attribute("/", "format", format_name);
  file.write_attribute("/", "length_unit", spectrum.length_unit);
  file.write_attribute("/", "time_unit", spectrum.time_unit);
  write_reals(file, "time", spectrum.times);
  for (const AxisSpectrum& axis : spectrum.axes) write_axis(file, axis.axis, axis);
  file.close();
  target.commit();
}

/// Axes that the file does not have are left out.
SpectrumFile read_spectrum(const std::filesystem::path& path) {
  const hdf5::File file(path);
  if (!file.has_attribute("/", "format") || file.texts("/", "format")[0] != format_name)
    throw Error(ErrorKind::input, fmt::format("{}: is no spectrum of Pergola", path.string()));
  SpectrumFile spectrum;
  spectrum.length_unit = file.texts("/", "length_unit")[0];
  spectrum.time_unit = file.texts("/", "time_unit")[0];
  spectrum.times = file.read_array("time").values;
  for (const char* axis : {"x", "y", "z"})
    if (file.is_group(axis)) spectrum.axes.push_back(read_axis(file, axis));
  return spectrum;
}

}  // namespace pergola
