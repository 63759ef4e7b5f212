#pragma once
// HDF5 files: handles that close themselves, attributes, datasets, whole arrays and texts.
//
// `File` opens a file for reading or writes a new one, with checksums (Fletcher-32) on every chunk and on the metadata.
// hdf5_file.cpp has attributes and tables of rows, which snapshots use; hdf5_arrays.cpp has whole arrays of one to
// three dimensions and texts, which openPMD files and tables use. What always holds: every call of the library is made
// under `QuietLibrary`; no object records the time when it was made, so that the same contents are the same bytes; a
// size is checked against the file before memory is taken for it.
#include <hdf5.h>

#include <array>
#include <cstdint>
#include <filesystem>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace pergola::hdf5 {

/// The first bytes of an HDF5 file, or of its part after a user block.
inline constexpr std::array<unsigned char, 8> signature{0x89, 'H', 'D', 'F', '\r', '\n', 0x1a, '\n'};

/// An HDF5 identifier that is closed with its owner.
class Handle {
 public:
  using Close = herr_t (*)(hid_t);
  Handle() = default;
  Handle(hid_t id, Close closer) : id_(id), close_(closer) {}
  Handle(Handle&& other) noexcept : id_(std::exchange(other.id_, -1)), close_(other.close_) {}
  Handle& operator=(Handle&& other) noexcept {
    close();
    id_ = std::exchange(other.id_, -1);
    close_ = other.close_;
    return *this;
  }
  ~Handle() { close(); }
  hid_t id() const { return id_; }
  bool ok() const { return id_ >= 0; }
  /// Closes now; false when HDF5 reports a failure.
  bool close();

 private:
  hid_t id_ = -1;
  Close close_ = nullptr;
};

/// Locks the HDF5 library, which is not thread-safe, and turns its error printing off, for as long as it lives.
/// Every function that calls the library holds one, or its caller does. Files of several threads may be open at once.
class QuietLibrary {
 public:
  QuietLibrary();
  ~QuietLibrary();
  QuietLibrary(const QuietLibrary&) = delete;
  QuietLibrary& operator=(const QuietLibrary&) = delete;

 private:
  std::unique_lock<std::recursive_mutex> lock_;
};

/// Properties for making an object that does not record when: the same particles make the same bytes.
Handle without_times(hid_t property_class);

/// Numbers that a dataset holds, where they lie in the file as in memory.
enum class Stored { other, float32, float64, uint32, uint64 };

/// A dataset of `rows` × `columns` numbers in an open file.
struct Dataset {
  Handle handle;
  std::string name;  // PartType1/Coordinates
  int rank = 1;
  std::int64_t rows = 0, columns = 1;
  std::int64_t slab_rows = 65536;  // good to read and write at a time: whole chunks
  bool integer = false, is_signed = false;
  std::size_t value_bytes = 0;
  Stored stored = Stored::other;
  std::int64_t checked_chunk_rows = 0;  // of chunks with a Fletcher-32 checksum and no other filter; 0: other chunks
};

/// A whole array of numbers, the last dimension fastest.
struct Array {
  std::vector<std::int64_t> extent;
  std::vector<double> values;
};

/// An HDF5 file. One thread at a time uses it; another thread may continue. What HDF5 cannot read throws Error(input),
/// what it cannot write Error(system), with HDF5's innermost reason.
class File {
 public:
  /// Opens for reading.
  explicit File(const std::filesystem::path& path);
  /// Creates `temporary`; messages speak of `path`.
  File(const std::filesystem::path& temporary, const std::filesystem::path& path);

  const std::filesystem::path& path() const { return path_; }
  std::int64_t bytes() const { return bytes_; }
  /// Whether a group or dataset "a/b" is there.
  bool has(const std::string& object) const;
  bool has_attribute(const std::string& object, const std::string& name) const;
  bool is_group(const std::string& object) const;
  /// The names of the datasets in a group, and of everything in it.
  std::vector<std::string> datasets(const std::string& group) const;
  std::vector<std::string> members(const std::string& group) const;

  /// All values of a numeric attribute; at most 64.
  std::vector<double> reals(const std::string& object, const std::string& name) const;
  std::vector<std::int64_t> integers(const std::string& object, const std::string& name) const;
  /// The texts of an attribute, of fixed or variable length; at most 64.
  std::vector<std::string> texts(const std::string& object, const std::string& name) const;
  /// Checks type, rank and that the file is large enough to hold what the dataset claims.
  Dataset dataset(const std::string& name) const;
  void read_rows(const Dataset& dataset, std::int64_t first, std::int64_t count, double* values) const;
  void read_rows(const Dataset& dataset, std::int64_t first, std::int64_t count, std::uint64_t* values) const;

  /// A whole chunk as it stands in the file, with its checksum; false if it is missing or has another size.
  bool read_chunk(const Dataset& dataset, std::int64_t first, void* bytes, std::size_t size) const;

  /// A whole dataset of one to three dimensions, the last one fastest.
  Array read_array(const std::string& name) const;
  std::vector<std::int64_t> array_extent(const std::string& name) const;
  /// Reads all datasets in a group and in those below it, one in memory at a time: throws if a checksum is wrong.
  void read_everything(const std::string& group = "/") const;

  void create_group(const std::string& name);
  void write_attribute(const std::string& object, const std::string& name, double value);
  void write_attribute(const std::string& object, const std::string& name, std::int32_t value);
  void write_attribute(const std::string& object, const std::string& name, std::uint32_t value);
  /// Text has a fixed length, as most readers expect it.
  void write_attribute(const std::string& object, const std::string& name, const std::string& text);
  void write_attribute(const std::string& object, const std::string& name, const char* text) {
    write_attribute(object, name, std::string(text));
  }
  void write_attribute(const std::string& object, const std::string& name, const std::vector<std::string>& texts);
  void write_attribute(const std::string& object, const std::string& name, const std::vector<double>& values);
  void write_attribute(const std::string& object, const std::string& name, const std::vector<std::uint32_t>& values);
  void write_attribute(const std::string& object, const std::string& name, const std::vector<std::uint64_t>& values);
  /// `type` is the type in the file; columns = 1 makes a dataset of one dimension; rows ≥ 1.
  Dataset create_dataset(const std::string& name, hid_t type, std::int64_t rows, std::int64_t columns);
  void write_rows(const Dataset& dataset, std::int64_t first, std::int64_t count, const double* values);
  void write_rows(const Dataset& dataset, std::int64_t first, std::int64_t count, const float* values);
  void write_rows(const Dataset& dataset, std::int64_t first, std::int64_t count, const std::uint64_t* values);
  /// A whole chunk as it stands in the file, with its checksum; `first` is its first row.
  void write_chunk(const Dataset& dataset, std::int64_t first, const void* bytes, std::size_t size);
  /// To be called when all rows are written: HDF5 then puts what it still keeps into the file. Throws Error(system) on
  /// failure, which a handle that is only dropped could not report.
  void close(Dataset& dataset);
  /// A dataset of one to three dimensions, the last one fastest; `type` is the type in the file. Its rows are the
  /// places on the first dimension.
  Dataset create_array(const std::string& name, hid_t type, const std::vector<std::int64_t>& extent);
  void write_planes(const Dataset& dataset, std::int64_t first, std::int64_t count, const double* values);
  /// An array that holds one value everywhere. It takes no space, and has no checksums.
  void create_uniform(const std::string& name, hid_t type, const std::vector<std::int64_t>& extent, double value);
  /// Another name for an object "a/b", which need not exist yet.
  void link(const std::string& name, const std::string& object);
  /// All of it at once.
  void write_array(const std::string& name, hid_t type, const Array& array);
  /// Texts in UTF-8, as long as the longest of them.
  void write_texts(const std::string& name, const std::vector<std::string>& texts);
  /// Ends writing; throws if the destructor could not.
  void close();

 private:
  [[noreturn]] void fail_reading(const std::string& what) const;
  [[noreturn]] void fail_writing() const;
  void write_values(const std::string& object, const std::string& name, hid_t file_type, hid_t memory_type,
                    const void* values, std::size_t count, bool scalar);
  /// With chunks of this size, each with a checksum.
  Dataset create_chunked(const std::string& name, hid_t type, const std::vector<hsize_t>& extent,
                         const std::vector<hsize_t>& chunk);
  /// A dataset of numbers of one to three dimensions.
  struct OpenArray {
    Handle handle;
    std::vector<std::int64_t> extent;
    std::int64_t values = 1;
  };
  OpenArray open_array(const std::string& name) const;
  /// Throws if a dataset of this many bytes cannot be in this file.
  void check_storage(hid_t dataset, const std::string& name, const std::string& size, double bytes) const;
  void transfer(const Dataset& dataset, std::int64_t first, std::int64_t count, hid_t memory_type, void* in,
                const void* out) const;

  std::filesystem::path path_;
  Handle file_;
  std::int64_t bytes_ = 0;
};

}  // namespace pergola::hdf5
