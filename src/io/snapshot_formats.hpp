#pragma once
// What snapshot.cpp shares with the files that know one format each.
#include <array>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "io/snapshot.hpp"
#include "io/snapshot_writer.hpp"

namespace pergola {

using SpeciesCounts = std::array<std::int64_t, species_count>;

/// One file of a snapshot.
struct SnapshotPiece {
  SnapshotHeader header;  // header.files as the file states it
  SpeciesCounts counts{};
  std::optional<SpeciesCounts> totals;  // over all files, where the file states them
  std::array<double, species_count> mass_table{};
  std::vector<std::string> fields;
  Particles particles;  // empty when only the header was asked for
};

enum class ReadPart { header, all };

SnapshotPiece read_hdf5_piece(const std::filesystem::path& path, ReadPart part);
SnapshotPiece read_gadget_piece(const std::filesystem::path& path, ReadPart part);
SnapshotPiece read_csv_piece(const std::filesystem::path& path, ReadPart part);

std::unique_ptr<SnapshotWriter> make_hdf5_writer(const std::filesystem::path& path, const SnapshotHeader& header,
                                                 const SnapshotContents& contents, WriteOptions options);
std::unique_ptr<SnapshotWriter> make_gadget_writer(const std::filesystem::path& path, const SnapshotHeader& header,
                                                   const SnapshotContents& contents, WriteOptions options);
std::unique_ptr<SnapshotWriter> make_csv_writer(const std::filesystem::path& path, const SnapshotContents& contents,
                                                WriteOptions options);

/// `value` in single precision; Error(input) when it is too large for that.
float to_single(double value, const std::filesystem::path& path);

/// Like Particles::append, without a copy where `to` is empty.
void join(Particles& to, Particles&& from);

}  // namespace pergola
