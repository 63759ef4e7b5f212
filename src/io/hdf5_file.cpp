#include "io/hdf5_file.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>

#include "base/atomic_file.hpp"
#include "base/error.hpp"
#include "base/text.hpp"
#include "io/input_file.hpp"

// The calls of the HDF5 library that snapshots and openPMD files need. Each returns a negative number on failure; the
// cause stands at the bottom of the library's error stack, which the message quotes. What a damaged file may do:
// claim any size (check_storage), name data in another file, hold numbers that do not fit. All of it is refused.
namespace pergola::hdf5 {

Handle without_times(hid_t property_class) {
  Handle properties(H5Pcreate(property_class), H5Pclose);
  H5Pset_obj_track_times(properties.id(), false);
  return properties;
}

namespace {

/// What all threads share of the library.
struct Library {
  std::recursive_mutex mutex;
  // While it is locked, how often, and what printed its errors before:
  int depth = 0;
  H5E_auto2_t printer = nullptr;
  void* printer_data = nullptr;
};
Library& library() {
  static Library one;
  return one;
}

/// The description of the innermost failure on HDF5's error stack, where the cause stands.
std::string innermost_reason() {
  std::string reason;
  const auto take = [](unsigned, const H5E_error2_t* entry, void* data) -> herr_t {
    auto& text = *static_cast<std::string*>(data);
    if (text.empty() && entry->desc) text = entry->desc;
    return 0;
  };
  H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, take, &reason);
  return reason;
}

/// The errno value in a reason such as "file write failed: time = …, errno = 28, error message = …"; 0 when none.
int errno_of(const std::string& reason) {
  const std::string key = "errno = ";
  const auto at = reason.find(key);
  int value = 0;
  if (at != std::string::npos) std::from_chars(reason.data() + at + key.size(), reason.data() + reason.size(), value);
  return value;
}

/// No locking, because a file is complete when it has its name; closing the file closes what is open in it.
Handle file_access() {
  Handle access(H5Pcreate(H5P_FILE_ACCESS), H5Pclose);
  H5Pset_file_locking(access.id(), false, true);
  H5Pset_fclose_degree(access.id(), H5F_CLOSE_STRONG);
  return access;
}

/// Rows that share one checksum; chunks as equal as can be, because the last one is stored whole.
hsize_t chunk_rows(std::int64_t rows) {
  const std::int64_t most = 65536, chunks = (rows + most - 1) / most;
  return hsize_t((rows + chunks - 1) / chunks);
}

/// About 65536 rows that end with a chunk.
std::int64_t whole_chunks(std::int64_t rows_per_chunk, std::int64_t rows) {
  return std::min(std::max<std::int64_t>(rows, 1), rows_per_chunk * std::max<std::int64_t>(1, 65536 / rows_per_chunk));
}

/// Types that can be copied as they are; all others go through the library's conversion.
Stored stored_as(hid_t type) {
  if (H5Tequal(type, H5T_IEEE_F64LE) > 0) return Stored::float64;
  if (H5Tequal(type, H5T_IEEE_F32LE) > 0) return Stored::float32;
  if (H5Tequal(type, H5T_STD_U64LE) > 0) return Stored::uint64;
  if (H5Tequal(type, H5T_STD_U32LE) > 0) return Stored::uint32;
  return Stored::other;
}

/// Whether a checksum is all that was done to the chunks.
bool only_checked(hid_t properties) {
  if (H5Pget_nfilters(properties) != 1) return false;
  unsigned flags = 0, configuration = 0;
  std::size_t values = 0;
  return H5Pget_filter2(properties, 0, &flags, &values, nullptr, 0, nullptr, &configuration) == H5Z_FILTER_FLETCHER32;
}

/// Deflate, the densest filter in use, makes at most 1032 bytes out of one.
constexpr std::int64_t most_expansion = 1100;
/// Bytes of an array that has no storage, but one value for all of it.
constexpr double most_uniform = 1 << 28;

}  // namespace

/// Locks may be nested in one thread: only the outermost one exchanges the printer.
QuietLibrary::QuietLibrary() : lock_(library().mutex) {
  // At the end of the process HDF5 would complain on stderr about what it lost track of in a damaged file. All files
  // are closed by their owners, so there is nothing left for it to do.
  static const bool once = H5dont_atexit() >= 0;
  static_cast<void>(once);
  Library& locked = library();
  if (locked.depth++ > 0) return;  // asking for the printer would clear the reason of a failure
  H5Eget_auto2(H5E_DEFAULT, &locked.printer, &locked.printer_data);
  H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
}

QuietLibrary::~QuietLibrary() {
  Library& locked = library();
  if (--locked.depth == 0) H5Eset_auto2(H5E_DEFAULT, locked.printer, locked.printer_data);
}

/// Also used by the destructor, where a failure cannot be reported.
bool Handle::close() {
  if (!ok()) return true;
  const QuietLibrary quiet;
  return close_(std::exchange(id_, -1)) >= 0;
}

File::File(const std::filesystem::path& path) : path_(path), bytes_(InputFile(path).size()) {
  const QuietLibrary quiet;
  file_ = Handle(H5Fopen(path.c_str(), H5F_ACC_RDONLY, file_access().id()), H5Fclose);
  if (!file_.ok()) fail_reading("is a truncated or damaged HDF5 file");
}

File::File(const std::filesystem::path& temporary, const std::filesystem::path& path) : path_(path) {
  const QuietLibrary quiet;
  const Handle access = file_access();
  // From HDF5 1.10 on all metadata carry a checksum.
  H5Pset_libver_bounds(access.id(), H5F_LIBVER_V110, H5F_LIBVER_V110);
  file_ =
      Handle(H5Fcreate(temporary.c_str(), H5F_ACC_TRUNC, without_times(H5P_FILE_CREATE).id(), access.id()), H5Fclose);
  if (!file_.ok()) fail_writing();
}

/// The message: file, what is wrong, and HDF5's own reason if there is one.
void File::fail_reading(const std::string& what) const {
  const std::string reason = innermost_reason();
  throw Error(ErrorKind::input,
              fmt::format("{}: {}{}", path_.string(), what, reason.empty() ? "" : fmt::format(" (HDF5: {})", reason)));
}

/// An errno in HDF5's reason (a full disk) gives the same error as a failed write of any other file.
void File::fail_writing() const {
  const std::string reason = innermost_reason();
  if (const int number = errno_of(reason)) throw_write_error(path_, number);
  throw Error(ErrorKind::system, fmt::format("{}: cannot be written (HDF5: {})", path_.string(), reason));
}

/// Asks for each part of the path, because HDF5 reports an error if a group on the way is missing.
bool File::has(const std::string& object) const {
  const QuietLibrary quiet;
  if (object == "/") return true;
  for (std::size_t end = object.find('/'); end != std::string::npos; end = object.find('/', end + 1))
    if (H5Lexists(file_.id(), object.substr(0, end).c_str(), H5P_DEFAULT) <= 0) return false;
  return H5Lexists(file_.id(), object.c_str(), H5P_DEFAULT) > 0 &&
         H5Oexists_by_name(file_.id(), object.c_str(), H5P_DEFAULT) > 0;
}

bool File::has_attribute(const std::string& object, const std::string& name) const {
  const QuietLibrary quiet;
  return has(object) && H5Aexists_by_name(file_.id(), object.c_str(), name.c_str(), H5P_DEFAULT) > 0;
}

/// In the order of names, so that results do not depend on how the file was written.
std::vector<std::string> File::members(const std::string& group) const {
  const QuietLibrary quiet;
  std::vector<std::string> names;
  const auto take = [](hid_t, const char* name, const H5L_info_t*, void* data) -> herr_t {
    static_cast<std::vector<std::string>*>(data)->emplace_back(name);
    return 0;
  };
  if (H5Literate_by_name(file_.id(), group.c_str(), H5_INDEX_NAME, H5_ITER_INC, nullptr, take, &names, H5P_DEFAULT) < 0)
    fail_reading(fmt::format("{} cannot be listed", group));
  return names;
}

bool File::is_group(const std::string& object) const {
  const QuietLibrary quiet;
  H5O_info_t info;
  return has(object) && H5Oget_info_by_name(file_.id(), object.c_str(), &info, H5P_DEFAULT) >= 0 &&
         info.type == H5O_TYPE_GROUP;
}

/// The members of a group that are datasets.
std::vector<std::string> File::datasets(const std::string& group) const {
  const QuietLibrary quiet;
  std::vector<std::string> names = members(group);
  std::erase_if(names, [&](const std::string& name) {
    H5O_info_t info;
    return H5Oget_info_by_name(file_.id(), (group + "/" + name).c_str(), &info, H5P_DEFAULT) < 0 ||
           info.type != H5O_TYPE_DATASET;
  });
  return names;
}

namespace {

/// An attribute of 1 to 64 numbers.
struct OpenAttribute {
  Handle handle;
  std::size_t count = 0;
};

template <class Fail>
OpenAttribute open_attribute(hid_t file, const std::string& object, const std::string& name, const Fail& fail) {
  OpenAttribute attribute;
  attribute.handle = Handle(H5Aopen_by_name(file, object.c_str(), name.c_str(), H5P_DEFAULT, H5P_DEFAULT), H5Aclose);
  if (!attribute.handle.ok()) fail("is missing");
  const Handle type(H5Aget_type(attribute.handle.id()), H5Tclose), space(H5Aget_space(attribute.handle.id()), H5Sclose);
  const H5T_class_t kind = H5Tget_class(type.id());
  if (kind != H5T_INTEGER && kind != H5T_FLOAT) fail("is not a number");
  const hssize_t count = H5Sget_simple_extent_npoints(space.id());
  if (count < 1 || count > 64) fail(fmt::format("has {} values, expected 1 to 64", count));
  attribute.count = static_cast<std::size_t>(count);
  return attribute;
}

/// HDF5 would cut what stands behind the point, and what does not fit, without a word.
template <class Fail>
void check_whole(hid_t attribute, std::size_t count, const Fail& fail) {
  const Handle type(H5Aget_type(attribute), H5Tclose);
  const bool is_unsigned = H5Tget_class(type.id()) == H5T_INTEGER && H5Tget_sign(type.id()) == H5T_SGN_NONE;
  if (H5Tget_class(type.id()) != H5T_FLOAT && !(is_unsigned && H5Tget_size(type.id()) >= 8)) return;
  std::vector<double> values(count);
  if (H5Aread(attribute, H5T_NATIVE_DOUBLE, values.data()) < 0) fail("cannot be read");
  for (const double value : values)
    if (!(std::abs(value) < 0x1p63) || value != std::floor(value))
      fail(fmt::format("is {}, expected a whole number below 2^63", to_text(value)));
}

}  // namespace

std::vector<double> File::reals(const std::string& object, const std::string& name) const {
  const QuietLibrary quiet;
  const auto fail = [&](const std::string& what) { fail_reading(fmt::format("{}/{} {}", object, name, what)); };
  const auto attribute = open_attribute(file_.id(), object, name, fail);
  std::vector<double> values(attribute.count);
  if (H5Aread(attribute.handle.id(), H5T_NATIVE_DOUBLE, values.data()) < 0) fail("cannot be read");
  return values;
}

/// Attributes of real numbers are taken too, if they are whole.
std::vector<std::int64_t> File::integers(const std::string& object, const std::string& name) const {
  const QuietLibrary quiet;
  const auto fail = [&](const std::string& what) { fail_reading(fmt::format("{}/{} {}", object, name, what)); };
  const auto attribute = open_attribute(file_.id(), object, name, fail);
  check_whole(attribute.handle.id(), attribute.count, fail);
  std::vector<std::int64_t> values(attribute.count);
  if (H5Aread(attribute.handle.id(), H5T_NATIVE_INT64, values.data()) < 0) fail("cannot be read");
  return values;
}

/// A size that is larger than the file could hold is refused: reading it would take any amount of memory.
void File::check_storage(hid_t dataset, const std::string& name, const std::string& size, double bytes) const {
  const QuietLibrary quiet;
  const Handle properties(H5Dget_create_plist(dataset), H5Pclose);
  const H5D_layout_t layout = H5Pget_layout(properties.id());
  if ((layout != H5D_CONTIGUOUS && layout != H5D_CHUNKED && layout != H5D_COMPACT) ||
      H5Pget_external_count(properties.id()) != 0)
    fail_reading(fmt::format("{} keeps its data in another file, expected it in this one", name));
  H5D_fill_value_t filled = H5D_FILL_VALUE_UNDEFINED;
  const bool uniform = H5Dget_storage_size(dataset) == 0 && H5Pfill_value_defined(properties.id(), &filled) >= 0 &&
                       filled == H5D_FILL_VALUE_USER_DEFINED;
  if (uniform && bytes <= most_uniform) return;
  const std::int64_t expansion = H5Pget_nfilters(properties.id()) > 0 ? most_expansion : 1;
  const double stored = static_cast<double>(std::min<hsize_t>(H5Dget_storage_size(dataset), hsize_t(bytes_)));
  if (bytes > stored * static_cast<double>(expansion))
    fail_reading(fmt::format("{} claims {}, but the file holds {:.0f} bytes of it", name, size, stored));
}

/// Opens a table of at most 64 columns. `slab_rows` is how many rows are best read at a time; `checked_chunk_rows` is
/// set if chunks are stored as Pergola writes them, which hdf5_chunks.hpp can read without the library's filters.
Dataset File::dataset(const std::string& name) const {
  const QuietLibrary quiet;
  const auto fail = [&](const std::string& what) { fail_reading(fmt::format("{} {}", name, what)); };
  Dataset dataset;
  dataset.name = name;
  dataset.handle = Handle(H5Dopen2(file_.id(), name.c_str(), H5P_DEFAULT), H5Dclose);
  if (!dataset.handle.ok()) fail("cannot be opened as a dataset");
  const hid_t id = dataset.handle.id();
  const Handle type(H5Dget_type(id), H5Tclose), space(H5Dget_space(id), H5Sclose);
  const Handle properties(H5Dget_create_plist(id), H5Pclose);
  const H5T_class_t kind = H5Tget_class(type.id());
  if (kind != H5T_INTEGER && kind != H5T_FLOAT) fail("does not hold numbers");
  dataset.integer = kind == H5T_INTEGER;
  dataset.is_signed = dataset.integer && H5Tget_sign(type.id()) == H5T_SGN_2;
  dataset.value_bytes = H5Tget_size(type.id());
  std::array<hsize_t, 2> extent{1, 1};
  const int rank = H5Sget_simple_extent_ndims(space.id());
  if (rank != 1 && rank != 2) fail(fmt::format("has {} dimensions, expected 1 or 2", rank));
  if (H5Sget_simple_extent_dims(space.id(), extent.data(), nullptr) < 0) fail("has no readable size");

  const double claimed =
      static_cast<double>(extent[0]) * static_cast<double>(extent[1]) * static_cast<double>(dataset.value_bytes);
  const std::string size = fmt::format("{} x {} values of {} bytes", extent[0], extent[1], dataset.value_bytes);
  check_storage(id, name, size, extent[1] > 64 ? std::numeric_limits<double>::infinity() : claimed);
  dataset.rank = rank;
  dataset.rows = static_cast<std::int64_t>(extent[0]);
  dataset.columns = static_cast<std::int64_t>(extent[1]);
  std::array<hsize_t, 2> chunk{1, 1};
  dataset.stored = stored_as(type.id());
  if (H5Pget_layout(properties.id()) == H5D_CHUNKED && H5Pget_chunk(properties.id(), rank, chunk.data()) == rank) {
    dataset.slab_rows = whole_chunks(static_cast<std::int64_t>(chunk[0]), dataset.rows);
    if (chunk[1] == extent[1] && only_checked(properties.id()))
      dataset.checked_chunk_rows = static_cast<std::int64_t>(chunk[0]);
  }
  return dataset;
}

/// Rows [first, first + count) into `in`, or from `out`; one of the two is null.
void File::transfer(const Dataset& dataset, std::int64_t first, std::int64_t count, hid_t memory_type, void* in,
                    const void* out) const {
  const QuietLibrary quiet;
  if (count == 0) return;
  const Handle space(H5Dget_space(dataset.handle.id()), H5Sclose);
  const std::array<hsize_t, 2> start{hsize_t(first), 0}, extent{hsize_t(count), hsize_t(dataset.columns)};
  const Handle memory(H5Screate_simple(dataset.rank, extent.data(), nullptr), H5Sclose);
  herr_t status = H5Sselect_hyperslab(space.id(), H5S_SELECT_SET, start.data(), nullptr, extent.data(), nullptr);
  if (status >= 0 && in)
    status = H5Dread(dataset.handle.id(), memory_type, memory.id(), space.id(), H5P_DEFAULT, in);
  else if (status >= 0)
    status = H5Dwrite(dataset.handle.id(), memory_type, memory.id(), space.id(), H5P_DEFAULT, out);
  if (status >= 0) return;
  if (in) fail_reading(fmt::format("{} cannot be read", dataset.name));
  fail_writing();
}

/// The library converts from the file's type.
void File::read_rows(const Dataset& dataset, std::int64_t first, std::int64_t count, double* values) const {
  transfer(dataset, first, count, H5T_NATIVE_DOUBLE, values, nullptr);
}

void File::read_rows(const Dataset& dataset, std::int64_t first, std::int64_t count, std::uint64_t* values) const {
  const QuietLibrary quiet;
  if (!dataset.is_signed) return transfer(dataset, first, count, H5T_NATIVE_UINT64, values, nullptr);
  // HDF5 would turn a negative number into 0 without a word.
  auto* signed_values = reinterpret_cast<std::int64_t*>(values);
  transfer(dataset, first, count, H5T_NATIVE_INT64, signed_values, nullptr);
  for (std::int64_t i = 0; i < count * dataset.columns; ++i)
    if (signed_values[i] < 0)
      fail_reading(fmt::format("{} holds {}, expected 0 or more", dataset.name, signed_values[i]));
}

/// The stored bytes of a chunk with its checksum behind them; false if it has another size or skipped a filter.
bool File::read_chunk(const Dataset& dataset, std::int64_t first, void* bytes, std::size_t size) const {
  const QuietLibrary quiet;
  const std::array<hsize_t, 2> offset{hsize_t(first), 0};
  hsize_t stored = 0;
  std::uint32_t skipped_filters = 0;
  return H5Dget_chunk_storage_size(dataset.handle.id(), offset.data(), &stored) >= 0 && stored == size &&
         H5Dread_chunk(dataset.handle.id(), H5P_DEFAULT, offset.data(), &skipped_filters, bytes) >= 0 &&
         skipped_filters == 0;
}

void File::create_group(const std::string& name) {
  const QuietLibrary quiet;
  Handle group(H5Gcreate2(file_.id(), name.c_str(), H5P_DEFAULT, without_times(H5P_GROUP_CREATE).id(), H5P_DEFAULT),
               H5Gclose);
  if (!group.ok() || !group.close()) fail_writing();
}

/// `scalar`: a single value without dimensions, as other programs expect of numbers in headers.
void File::write_values(const std::string& object, const std::string& name, hid_t file_type, hid_t memory_type,
                        const void* values, std::size_t count, bool scalar) {
  const QuietLibrary quiet;
  const hsize_t extent = count;
  const Handle space(scalar ? H5Screate(H5S_SCALAR) : H5Screate_simple(1, &extent, nullptr), H5Sclose);
  Handle attribute(H5Acreate_by_name(file_.id(), object.c_str(), name.c_str(), file_type, space.id(), H5P_DEFAULT,
                                     H5P_DEFAULT, H5P_DEFAULT),
                   H5Aclose);
  if (!attribute.ok() || H5Awrite(attribute.id(), memory_type, values) < 0 || !attribute.close()) fail_writing();
}

void File::write_attribute(const std::string& object, const std::string& name, double value) {
  write_values(object, name, H5T_IEEE_F64LE, H5T_NATIVE_DOUBLE, &value, 1, true);
}
void File::write_attribute(const std::string& object, const std::string& name, std::int32_t value) {
  write_values(object, name, H5T_STD_I32LE, H5T_NATIVE_INT32, &value, 1, true);
}
void File::write_attribute(const std::string& object, const std::string& name, const std::vector<double>& values) {
  write_values(object, name, H5T_IEEE_F64LE, H5T_NATIVE_DOUBLE, values.data(), values.size(), false);
}
void File::write_attribute(const std::string& object, const std::string& name,
                           const std::vector<std::uint32_t>& values) {
  write_values(object, name, H5T_STD_U32LE, H5T_NATIVE_UINT32, values.data(), values.size(), false);
}
void File::write_attribute(const std::string& object, const std::string& name,
                           const std::vector<std::uint64_t>& values) {
  write_values(object, name, H5T_STD_U64LE, H5T_NATIVE_UINT64, values.data(), values.size(), false);
}

/// A table: one column makes an array of one dimension, as other programs expect of masses and ids.
Dataset File::create_dataset(const std::string& name, hid_t type, std::int64_t rows, std::int64_t columns) {
  if (columns == 1) return create_chunked(name, type, {hsize_t(rows)}, {chunk_rows(rows)});
  return create_chunked(name, type, {hsize_t(rows), hsize_t(columns)}, {chunk_rows(rows), hsize_t(columns)});
}

Dataset File::create_chunked(const std::string& name, hid_t type, const std::vector<hsize_t>& extent,
                             const std::vector<hsize_t>& chunk) {
  const QuietLibrary quiet;
  Dataset dataset;
  dataset.name = name;
  dataset.rank = static_cast<int>(extent.size());
  dataset.rows = static_cast<std::int64_t>(extent[0]);
  for (std::size_t axis = 1; axis < extent.size(); ++axis) dataset.columns *= static_cast<std::int64_t>(extent[axis]);
  dataset.slab_rows = static_cast<std::int64_t>(chunk[0]);
  const Handle space(H5Screate_simple(dataset.rank, extent.data(), nullptr), H5Sclose);
  const Handle properties = without_times(H5P_DATASET_CREATE);
  H5Pset_chunk(properties.id(), dataset.rank, chunk.data());
  H5Pset_fletcher32(properties.id());  // a checksum per chunk
  dataset.handle = Handle(
      H5Dcreate2(file_.id(), name.c_str(), type, space.id(), H5P_DEFAULT, properties.id(), H5P_DEFAULT), H5Dclose);
  if (!dataset.handle.ok()) fail_writing();
  return dataset;
}

void File::write_rows(const Dataset& dataset, std::int64_t first, std::int64_t count, const double* values) {
  transfer(dataset, first, count, H5T_NATIVE_DOUBLE, nullptr, values);
}
void File::write_rows(const Dataset& dataset, std::int64_t first, std::int64_t count, const float* values) {
  transfer(dataset, first, count, H5T_NATIVE_FLOAT, nullptr, values);
}
void File::write_rows(const Dataset& dataset, std::int64_t first, std::int64_t count, const std::uint64_t* values) {
  transfer(dataset, first, count, H5T_NATIVE_UINT64, nullptr, values);
}

/// `bytes` already carry their checksum: the library puts them into the file as they are.
void File::write_chunk(const Dataset& dataset, std::int64_t first, const void* bytes, std::size_t size) {
  const QuietLibrary quiet;
  const std::array<hsize_t, 2> offset{hsize_t(first), 0};
  if (H5Dwrite_chunk(dataset.handle.id(), H5P_DEFAULT, 0, offset.data(), size, bytes) < 0) fail_writing();
}

void File::close(Dataset& dataset) {
  const QuietLibrary quiet;
  if (!dataset.handle.close()) fail_writing();
}

void File::close() {
  const QuietLibrary quiet;
  if (!file_.close()) fail_writing();
}

}  // namespace pergola::hdf5
