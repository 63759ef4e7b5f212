// Writing and reading traces: see trace.hpp for the file.
#include "g6/trace.hpp"

#include <fmt/core.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string>
#include <type_traits>
#include <utility>

#include "base/error.hpp"

namespace pergola::g6 {

namespace {

/// The beginning of the file: name, version, and a number that shows the byte order.
constexpr char magic[] = "PergolaG6Trace1\n";
constexpr std::uint32_t byte_order = 0x01020304;
/// No client's call has more values; a file with more is damaged.
constexpr std::uint64_t most_values = std::uint64_t{1} << 32;

/// Appends values to a list of bytes.
struct Packer {
  std::vector<char>& bytes;
  template <class T>
  void value(const T& item) {
    static_assert(std::is_trivially_copyable_v<T>);
    const auto* begin = reinterpret_cast<const char*>(&item);
    bytes.insert(bytes.end(), begin, begin + sizeof item);
  }
  template <class T>
  void list(const std::vector<T>& items) {
    value(static_cast<std::uint64_t>(items.size()));
    const auto* begin = reinterpret_cast<const char*>(items.data());
    bytes.insert(bytes.end(), begin, begin + items.size() * sizeof(T));
  }
};

/// Takes values from a file; `good` becomes false if it ends too soon.
struct Unpacker {
  std::FILE* file;
  bool good = true;
  bool damaged = false;  // a length that no client reaches
  template <class T>
  void value(T& item) {
    good = good && std::fread(&item, sizeof item, 1, file) == 1;
  }
  template <class T>
  void list(std::vector<T>& items) {
    std::uint64_t size = 0;
    value(size);
    items.clear();
    if (good && size > most_values) good = false, damaged = true;
    // Memory grows with the values that are really there.
    constexpr std::uint64_t piece = std::uint64_t{1} << 20;
    for (std::uint64_t done = 0; good && done < size;) {
      const std::uint64_t count = size - done < piece ? size - done : piece;
      items.resize(done + count);
      good = std::fread(items.data() + done, sizeof(T), count, file) == count;
      done += count;
    }
  }
};

/// The members of a call in the order of the file: the one definition for writing and reading.
template <class Archive, class Call>
void members(Archive& archive, Call& call) {
  using Kind = TraceCall::Kind;
  archive.value(call.id);
  archive.value(call.result);
  switch (call.kind) {
    case Kind::open:
    case Kind::close:
    case Kind::read_lists:
    case Kind::count:
      break;
    case Kind::set_time:
      archive.value(call.time);
      break;
    case Kind::set_j_particle:
      archive.value(call.address), archive.value(call.index), archive.value(call.time), archive.value(call.mass);
      archive.value(call.vectors);
      break;
    case Kind::first_half:
      archive.value(call.nj), archive.value(call.epsilon2);
      archive.list(call.indices), archive.list(call.x), archive.list(call.v), archive.list(call.h2);
      break;
    case Kind::last_half:
      archive.list(call.acceleration), archive.list(call.jerk), archive.list(call.potential);
      archive.list(call.indices), archive.list(call.distance);
      break;
    case Kind::get_list:
      archive.value(call.address), archive.value(call.longest), archive.value(call.length);
      archive.list(call.indices);
      break;
  }
}

[[noreturn]] void refuse(const std::string& name) {
  throw Error(ErrorKind::system, fmt::format("{} cannot be written ({}): the program goes on without a trace", name,
                                             std::strerror(errno)));
}

}  // namespace

TraceWriter::TraceWriter(const std::filesystem::path& path)
    : name_(path.string()), file_(std::fopen(path.c_str(), "wb")) {
  if (!file_) refuse(name_);
  Packer packer{bytes_};
  packer.value(magic);
  packer.value(byte_order);
  std::fwrite(bytes_.data(), 1, bytes_.size(), file_);
}

TraceWriter::~TraceWriter() { std::fclose(file_); }

void TraceWriter::write(const TraceCall& call) {
  const std::lock_guard lock(mutex_);
  bytes_.clear();
  Packer packer{bytes_};
  packer.value(call.kind);
  members(packer, call);
  const bool written = std::fwrite(bytes_.data(), 1, bytes_.size(), file_) == bytes_.size();
  if (!written || (call.kind == TraceCall::Kind::close && std::fflush(file_) != 0)) refuse(name_);
}

namespace {

/// Each rank of a program writes its own file: FILE.3. The launchers of Open MPI, MPICH and Slurm set the rank.
std::string file_of_rank(const char* path) {
  constexpr std::pair<const char*, const char*> launchers[] = {{"OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK"},
                                                               {"PMI_SIZE", "PMI_RANK"},
                                                               {"SLURM_STEP_NUM_TASKS", "SLURM_PROCID"}};
  for (const auto& [size, rank] : launchers) {
    const char *const ranks = std::getenv(size), *const own = std::getenv(rank);
    if (ranks && own && std::atoi(ranks) > 1) return fmt::format("{}.{}", path, own);
  }
  return path;
}

}  // namespace

TraceWriter* trace() {
  // Never destroyed: clients call g6_close from their exit handlers.
  static TraceWriter* const writer = [] {
    const char* const path = std::getenv("PERGOLA_G6_TRACE");
    return path && *path ? new TraceWriter(file_of_rank(path)) : nullptr;
  }();
  return writer;
}

TraceReader::TraceReader(const std::filesystem::path& path)
    : name_(path.string()), file_(std::fopen(path.c_str(), "rb")) {
  if (!file_)
    throw Error(errno == EACCES ? ErrorKind::system : ErrorKind::input,
                fmt::format("{}: expected a trace of g6 calls: {}", name_, std::strerror(errno)));
  char begin[sizeof magic] = {};
  std::uint32_t order = 0;
  Unpacker unpacker{file_};
  unpacker.value(begin);
  unpacker.value(order);
  if (!unpacker.good || std::memcmp(begin, magic, sizeof magic) != 0 || order != byte_order) {
    std::fclose(file_);
    throw Error(ErrorKind::input, fmt::format("{}: expected a trace written with PERGOLA_G6_TRACE on a machine of this "
                                              "byte order, found another file",
                                              name_));
  }
}

std::uintmax_t TraceReader::bytes() const {
  std::error_code pipe;
  const auto size = std::filesystem::file_size(name_, pipe);
  return pipe ? 0 : size;
}

TraceReader::~TraceReader() { std::fclose(file_); }

bool TraceReader::next(TraceCall& call) {
  const int kind = std::fgetc(file_);
  if (kind == EOF) return false;
  if (kind >= static_cast<int>(TraceCall::Kind::count))
    throw Error(ErrorKind::input, fmt::format("{}: expected a call, found byte {} at {}: the trace is damaged", name_,
                                              kind, std::ftell(file_) - 1));
  call.kind = static_cast<TraceCall::Kind>(kind);
  Unpacker unpacker{file_};
  members(unpacker, call);
  if (unpacker.damaged)
    throw Error(ErrorKind::input, fmt::format("{}: expected a list of at most {} values, found a longer one before "
                                              "byte {}: the trace is damaged",
                                              name_, most_values, std::ftell(file_)));
  truncated_ = !unpacker.good;
  return unpacker.good;
}

}  // namespace pergola::g6
