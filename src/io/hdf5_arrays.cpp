// Whole arrays and texts: what openPMD files are made of.
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <memory>

#include "base/error.hpp"
#include "io/hdf5_file.hpp"

namespace pergola::hdf5 {

namespace {

constexpr std::int64_t chunk_values = 65536;  // that share one checksum, about

/// Texts of a fixed length in bytes, filled up with zero bytes (H5T_STR_NULLPAD).
Handle text_type(std::size_t length) {
  Handle type(H5Tcopy(H5T_C_S1), H5Tclose);
  H5Tset_size(type.id(), std::max<std::size_t>(length, 1));
  H5Tset_strpad(type.id(), H5T_STR_NULLPAD);
  return type;
}

/// Texts one after the other, each as long as the longest.
struct PaddedTexts {
  std::size_t length = 1;
  std::string bytes;
};
PaddedTexts padded_texts(const std::vector<std::string>& texts) {
  PaddedTexts padded;
  for (const std::string& text : texts) padded.length = std::max(padded.length, text.size());
  for (const std::string& text : texts) padded.bytes += text + std::string(padded.length - text.size(), '\0');
  return padded;
}

/// Whole rows of the first dimensions, about as many values as a chunk is to have.
std::vector<hsize_t> chunk_of(const std::vector<hsize_t>& extent) {
  std::vector<hsize_t> chunk = extent;
  for (hsize_t& one : chunk) one = std::max<hsize_t>(one, 1);
  hsize_t values = 1;
  for (const hsize_t one : extent) values *= one;
  for (std::size_t axis = 0; axis < extent.size() && values > chunk_values; ++axis) {
    values /= extent[axis];
    chunk[axis] = std::clamp<hsize_t>(chunk_values / std::max<hsize_t>(values, 1), 1, extent[axis]);
    values *= chunk[axis];
  }
  return chunk;
}

}  // namespace

/// Texts of fixed or of variable length; other programs write both. At most 64 of them, as attributes have.
std::vector<std::string> File::texts(const std::string& object, const std::string& name) const {
  const QuietLibrary quiet;
  const auto fail = [&](const std::string& what) { fail_reading(fmt::format("{}/{} {}", object, name, what)); };
  const Handle attribute(H5Aopen_by_name(file_.id(), object.c_str(), name.c_str(), H5P_DEFAULT, H5P_DEFAULT), H5Aclose);
  if (!attribute.ok()) fail("is missing");
  const Handle type(H5Aget_type(attribute.id()), H5Tclose), space(H5Aget_space(attribute.id()), H5Sclose);
  if (H5Tget_class(type.id()) != H5T_STRING) fail("is not text");
  const hssize_t count = H5Sget_simple_extent_npoints(space.id());
  if (count < 1 || count > 64) fail(fmt::format("has {} values, expected 1 to 64", count));
  std::vector<std::string> texts;
  if (H5Tis_variable_str(type.id()) > 0) {
    std::vector<char*> pointers(static_cast<std::size_t>(count), nullptr);
    if (H5Aread(attribute.id(), type.id(), pointers.data()) < 0) fail("cannot be read");
    for (const char* text : pointers) texts.emplace_back(text ? text : "");
    H5Dvlen_reclaim(type.id(), space.id(), H5P_DEFAULT, pointers.data());
    return texts;
  }
  const std::size_t length = H5Tget_size(type.id());
  if (length > 65536) fail(fmt::format("is {} bytes long, expected 65536 at most", length));
  std::string bytes(length * static_cast<std::size_t>(count), '\0');
  if (H5Aread(attribute.id(), type.id(), bytes.data()) < 0) fail("cannot be read");
  for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i) {
    const std::string text = bytes.substr(i * length, length);
    texts.push_back(text.substr(0, text.find('\0')));
  }
  return texts;
}

void File::write_attribute(const std::string& object, const std::string& name, const std::string& text) {
  const QuietLibrary quiet;
  const Handle type = text_type(text.size());
  write_values(object, name, type.id(), type.id(), text.data(), 1, true);
}

void File::write_attribute(const std::string& object, const std::string& name, const std::vector<std::string>& texts) {
  const QuietLibrary quiet;
  const PaddedTexts padded = padded_texts(texts);
  const Handle type = text_type(padded.length);
  write_values(object, name, type.id(), type.id(), padded.bytes.data(), texts.size(), false);
}

void File::write_attribute(const std::string& object, const std::string& name, std::uint32_t value) {
  write_values(object, name, H5T_STD_U32LE, H5T_NATIVE_UINT32, &value, 1, true);
}

/// Checks type, dimensions and the size that the dataset claims, before memory is taken for its values.
File::OpenArray File::open_array(const std::string& name) const {
  const QuietLibrary quiet;
  const auto fail = [&](const std::string& what) { fail_reading(fmt::format("{} {}", name, what)); };
  OpenArray array;
  array.handle = Handle(H5Dopen2(file_.id(), name.c_str(), H5P_DEFAULT), H5Dclose);
  if (!array.handle.ok()) fail("cannot be opened as a dataset");
  const hid_t id = array.handle.id();
  const Handle type(H5Dget_type(id), H5Tclose), space(H5Dget_space(id), H5Sclose);
  const H5T_class_t kind = H5Tget_class(type.id());
  if (kind != H5T_INTEGER && kind != H5T_FLOAT) fail("does not hold numbers");
  const int rank = H5Sget_simple_extent_ndims(space.id());
  if (rank < 1 || rank > 3) fail(fmt::format("has {} dimensions, expected 1 to 3", rank));
  std::array<hsize_t, 3> extent{1, 1, 1};
  if (H5Sget_simple_extent_dims(space.id(), extent.data(), nullptr) < 0) fail("has no readable size");
  double values = 1;
  for (const hsize_t one : extent) values *= static_cast<double>(one);
  check_storage(id, name, fmt::format("{:.0f} values of {} bytes", values, H5Tget_size(type.id())),
                values * static_cast<double>(H5Tget_size(type.id())));
  array.extent.assign(extent.begin(), extent.begin() + rank);
  for (const std::int64_t one : array.extent) array.values *= one;
  return array;
}

std::vector<std::int64_t> File::array_extent(const std::string& name) const { return open_array(name).extent; }

Array File::read_array(const std::string& name) const {
  const QuietLibrary quiet;
  const OpenArray open = open_array(name);
  Array array;
  array.extent = open.extent;
  array.values.resize(static_cast<std::size_t>(open.values));
  if (!array.values.empty() &&
      H5Dread(open.handle.id(), H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, array.values.data()) < 0)
    fail_reading(fmt::format("{} cannot be read", name));
  return array;
}

/// Reads and drops all values: the library compares the checksum of each chunk as it reads it.
void File::read_everything(const std::string& group) const {
  for (const std::string& name : members(group)) {
    const std::string object = group == "/" ? name : group + "/" + name;
    if (is_group(object))
      read_everything(object);
    else
      read_array(object);
  }
}

/// The array's values are written later, by write_planes().
Dataset File::create_array(const std::string& name, hid_t type, const std::vector<std::int64_t>& extent) {
  const std::vector<hsize_t> size(extent.begin(), extent.end());
  return create_chunked(name, type, size, chunk_of(size));
}

/// The value is the one of all places that are never written. In chunks, which HDF5 does not make before that.
void File::create_uniform(const std::string& name, hid_t type, const std::vector<std::int64_t>& extent, double value) {
  const QuietLibrary quiet;
  const std::vector<hsize_t> size(extent.begin(), extent.end()), chunk = chunk_of(size);
  const int rank = static_cast<int>(size.size());
  const Handle space(H5Screate_simple(rank, size.data(), nullptr), H5Sclose);
  const Handle properties = without_times(H5P_DATASET_CREATE);
  H5Pset_chunk(properties.id(), rank, chunk.data());
  H5Pset_fill_value(properties.id(), H5T_NATIVE_DOUBLE, &value);
  Handle dataset(H5Dcreate2(file_.id(), name.c_str(), type, space.id(), H5P_DEFAULT, properties.id(), H5P_DEFAULT),
                 H5Dclose);
  if (!dataset.ok() || !dataset.close()) fail_writing();
}

/// The path is absolute, because HDF5 looks for others from the group of the link.
void File::link(const std::string& name, const std::string& object) {
  const QuietLibrary quiet;
  if (H5Lcreate_soft(("/" + object).c_str(), file_.id(), name.c_str(), H5P_DEFAULT, H5P_DEFAULT) < 0) fail_writing();
}

/// `values` are rows of the first dimension: `count` of them from `first` on.
void File::write_planes(const Dataset& dataset, std::int64_t first, std::int64_t count, const double* values) {
  const QuietLibrary quiet;
  const Handle space(H5Dget_space(dataset.handle.id()), H5Sclose);
  std::array<hsize_t, 3> extent{1, 1, 1};
  const std::array<hsize_t, 3> start{hsize_t(first), 0, 0};
  if (H5Sget_simple_extent_dims(space.id(), extent.data(), nullptr) < 0) fail_writing();
  extent[0] = hsize_t(count);
  const Handle memory(H5Screate_simple(dataset.rank, extent.data(), nullptr), H5Sclose);
  if (H5Sselect_hyperslab(space.id(), H5S_SELECT_SET, start.data(), nullptr, extent.data(), nullptr) < 0 ||
      H5Dwrite(dataset.handle.id(), H5T_NATIVE_DOUBLE, memory.id(), space.id(), H5P_DEFAULT, values) < 0)
    fail_writing();
}

void File::write_array(const std::string& name, hid_t type, const Array& array) {
  Dataset dataset = create_array(name, type, array.extent);
  if (!array.values.empty()) write_planes(dataset, 0, dataset.rows, array.values.data());
  close(dataset);
}

/// As an array of fixed-length texts, all as long as the longest.
void File::write_texts(const std::string& name, const std::vector<std::string>& texts) {
  const QuietLibrary quiet;
  const PaddedTexts padded = padded_texts(texts);
  const Handle type = text_type(padded.length);
  const hsize_t count = texts.size();
  const Handle space(H5Screate_simple(1, &count, nullptr), H5Sclose);
  const Handle properties = without_times(H5P_DATASET_CREATE);
  Handle dataset(H5Dcreate2(file_.id(), name.c_str(), type.id(), space.id(), H5P_DEFAULT, properties.id(), H5P_DEFAULT),
                 H5Dclose);
  if (!dataset.ok() || H5Dwrite(dataset.id(), type.id(), H5S_ALL, H5S_ALL, H5P_DEFAULT, padded.bytes.data()) < 0 ||
      !dataset.close())
    fail_writing();
}

}  // namespace pergola::hdf5
