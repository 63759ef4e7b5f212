#pragma once
// Chunks of HDF5 datasets on several threads.
//
// The HDF5 library is not thread-safe, and its checksum is slow. So one thread takes raw chunks from the library, a
// batch at a time; then all threads form the checksums and convert the columns. If a chunk is not as Pergola writes it,
// the library reads the rows, and reports damage in its own words.
#include <cstddef>
#include <cstdint>
#include <vector>

#include "io/hdf5_file.hpp"

namespace pergola::hdf5 {

/// Rows first … first + n − 1 of a dataset, each column into an array of its own. Where the file is as Pergola writes
/// it, threads check and sort out the chunks; else the library does.
void read_columns(const File& file, const Dataset& dataset, std::int64_t first, std::int64_t n,
                  const std::vector<double*>& to, int threads);
void read_columns(const File& file, const Dataset& dataset, std::int64_t first, std::int64_t n,
                  const std::vector<std::uint64_t*>& to, int threads);

/// The checksum that HDF5's filter fletcher32 puts after a chunk, lowest byte first. Several times faster than the
/// library's, and callable from any thread. `bytes` is a multiple of 4.
std::uint32_t fletcher32(const void* data, std::size_t bytes);

}  // namespace pergola::hdf5
