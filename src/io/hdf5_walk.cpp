#include "io/hdf5_walk.hpp"

#include <array>
#include <cstddef>
#include <fstream>
#include <vector>

#include "base/error.hpp"
#include "io/hdf5_file.hpp"
#include "io/openpmd.hpp"
#include "io/snapshot.hpp"

// Why: the HDF5 library trusts metadata without checksums. This walk asks it for the same things as the readers do, in
// a process of its own (app/foreign_files.hpp). If that process ends well, the readers may open the file. Results are
// thrown away. Values of small arrays are read, because their conversion runs code on what the file claims.
namespace pergola {

namespace {

using hdf5::Handle;

/// Larger arrays are data, which only their reader reads.
constexpr std::size_t small_bytes = std::size_t{1} << 20;

/// Bytes of all values of a data space; 0 if there are none, too many, or if their length is unknown.
std::size_t bytes_to_read(hid_t type, hid_t space) {
  const hssize_t values = H5Sget_simple_extent_npoints(space);
  const std::size_t size = H5Tget_size(type);
  if (values <= 0 || size == 0 || size > small_bytes) return 0;
  const auto count = static_cast<std::size_t>(values);
  return count > small_bytes / size ? 0 : count * size;
}

bool is_number(hid_t type) {
  const H5T_class_t kind = H5Tget_class(type);
  return kind == H5T_INTEGER || kind == H5T_FLOAT;
}

/// Returns 0, so that HDF5 goes on with the next attribute.
herr_t look_at_attribute(hid_t object, const char* name, const H5A_info_t*, void*) {
  const Handle attribute(H5Aopen(object, name, H5P_DEFAULT), H5Aclose);
  if (!attribute.ok()) return 0;
  const Handle type(H5Aget_type(attribute.id()), H5Tclose), space(H5Aget_space(attribute.id()), H5Sclose);
  if (!type.ok() || !space.ok()) return 0;
  const bool long_texts = H5Tis_variable_str(type.id()) > 0;
  if (!long_texts && !is_number(type.id()) && H5Tget_class(type.id()) != H5T_STRING) return 0;
  std::vector<std::byte> values(bytes_to_read(type.id(), space.id()));
  if (values.empty() || H5Aread(attribute.id(), type.id(), values.data()) < 0) return 0;
  if (long_texts) H5Dvlen_reclaim(type.id(), space.id(), H5P_DEFAULT, values.data());
  return 0;
}

void look_at_dataset(hid_t dataset) {
  const Handle type(H5Dget_type(dataset), H5Tclose), space(H5Dget_space(dataset), H5Sclose);
  const Handle properties(H5Dget_create_plist(dataset), H5Pclose);
  if (!type.ok() || !space.ok() || !properties.ok()) return;
  H5Dget_storage_size(dataset);  // goes through the index of the chunks
  // The library converts in memory of the type that the file claims, which may be of any size.
  if (!is_number(type.id()) || bytes_to_read(type.id(), space.id()) == 0) return;
  const Handle memory_type(H5Tget_native_type(type.id(), H5T_DIR_ASCEND), H5Tclose);
  if (!memory_type.ok()) return;
  std::vector<std::byte> values(bytes_to_read(memory_type.id(), space.id()));
  if (!values.empty()) H5Dread(dataset, memory_type.id(), H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data());
}

herr_t look_at_object(hid_t root, const char* name, const H5O_info_t* info, void*) {
  const Handle object(H5Oopen(root, name, H5P_DEFAULT), H5Oclose);
  if (!object.ok()) return 0;
  H5Aiterate2(object.id(), H5_INDEX_NAME, H5_ITER_NATIVE, nullptr, look_at_attribute, nullptr);
  if (info->type == H5O_TYPE_DATASET) look_at_dataset(object.id());
  return 0;
}

/// Errors do not matter here.
template <class Body>
void whatever_it_says(const Body& body) {
  try {
    body();
  } catch (const Error&) {
    // the reader of the file reports it
  }
}

}  // namespace

bool hdf5_without_checksums(const std::filesystem::path& path) {
  constexpr auto& mark = hdf5::signature;
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(path, ignored)) return false;  // a pipe can be read only once
  std::array<char, mark.size() + 1> begin{};
  std::ifstream file(path, std::ios::binary);
  if (!file.read(begin.data(), begin.size())) return false;
  for (std::size_t k = 0; k < mark.size(); ++k)
    if (static_cast<unsigned char>(begin[k]) != mark[k]) return false;
  constexpr unsigned first_with_checksums = 2;
  return static_cast<unsigned char>(begin.back()) < first_with_checksums;
}

/// First as the readers do, then every object, also those that no reader asks for.
void walk_hdf5(const std::filesystem::path& path) {
  whatever_it_says([&] { inspect_snapshot(path); });
  whatever_it_says([&] {
    if (is_openpmd(path)) inspect_openpmd(path);
  });
  const hdf5::QuietLibrary quiet;
  const Handle access(H5Pcreate(H5P_FILE_ACCESS), H5Pclose);
  H5Pset_file_locking(access.id(), false, true);
  H5Pset_fclose_degree(access.id(), H5F_CLOSE_STRONG);
  const Handle file(H5Fopen(path.c_str(), H5F_ACC_RDONLY, access.id()), H5Fclose);
  if (file.ok()) H5Ovisit2(file.id(), H5_INDEX_NAME, H5_ITER_NATIVE, look_at_object, nullptr, H5O_INFO_BASIC);
}

bool has_snapshot_header(const std::filesystem::path& path) { return hdf5::File(path).has("Header"); }

void verify_hdf5(const std::filesystem::path& path) { hdf5::File(path).read_everything(); }

}  // namespace pergola
