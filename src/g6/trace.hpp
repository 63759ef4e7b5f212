#pragma once
/// A trace: a file with the calls of a client, their arguments and results, in the machine's byte order.
///
/// PERGOLA_G6_TRACE names the file; under mpirun each rank adds its number. `pergola g6-replay` reads it. The file has
/// a head (a word and the byte order), then the calls; which members a call has depends on its kind (members() in
/// trace.cpp, one definition for writing and reading). Lists have their length before them. Calls of several threads
/// are written whole, one after the other.
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/host_device.hpp"

namespace pergola::g6 {

/// A call of the interface with arguments and results; which members are used depends on the kind.
struct TraceCall {
  enum class Kind : std::uint8_t {
    open,
    close,
    set_time,
    set_j_particle,
    first_half,
    last_half,
    read_lists,
    get_list,
    count  // not a kind
  };
  Kind kind = Kind::open;
  int id = 0;
  int result = 0;

  double time = 0;               // set_time, set_j_particle
  int address = 0, index = 0;    // set_j_particle; get_list: address = ipipe
  double mass = 0;               //
  double vectors[15] = {};       // k18, j6, a2, v, x
  int nj = 0;                    // first_half
  double epsilon2 = 0;           //
  std::vector<int> indices;      // first_half: of the i-particles; last_half: nearest; get_list: the list
  std::vector<double> x, v, h2;  // first_half, three numbers to a particle; v and h2 may be empty
  std::vector<double> acceleration, jerk, potential;  // last_half; empty: not wanted
  std::vector<float> distance;                        // last_half: to the nearest
  int length = 0, longest = 0;                        // get_list: n and maxlength
};

/// Writes calls to a file. A program that is killed loses the last few; the rest can be replayed.
class TraceWriter {
 public:
  /// Throws Error(system) if the file cannot be made.
  explicit TraceWriter(const std::filesystem::path& path);
  ~TraceWriter();
  TraceWriter(const TraceWriter&) = delete;
  TraceWriter& operator=(const TraceWriter&) = delete;
  /// For any thread. Throws Error(system) if the file cannot be written.
  void write(const TraceCall& call);

 private:
  std::mutex mutex_;
  std::string name_;
  std::FILE* file_;
  std::vector<char> bytes_;
};

/// The writer for PERGOLA_G6_TRACE, made on first use; null: none. Throws if the file cannot be made.
TraceWriter* trace();

/// Reads the calls of a trace one by one.
class PERGOLA_API TraceReader {
 public:
  /// Throws Error(input) if the file is no trace.
  explicit TraceReader(const std::filesystem::path& path);
  ~TraceReader();
  TraceReader(const TraceReader&) = delete;
  TraceReader& operator=(const TraceReader&) = delete;
  /// False at the end.
  bool next(TraceCall& call);
  /// The last call is incomplete: the program that wrote it was killed.
  bool truncated() const { return truncated_; }
  /// Length of the file; 0: not known, a pipe.
  std::uintmax_t bytes() const;

 private:
  std::string name_;
  std::FILE* file_;
  bool truncated_ = false;
};

}  // namespace pergola::g6
