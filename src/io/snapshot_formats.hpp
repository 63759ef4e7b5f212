#pragma once
// What snapshot.cpp shares with the files that know one format each.
#include <array>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "io/snapshot.hpp"

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

void write_hdf5(const std::filesystem::path& path, const Snapshot& snapshot, const WriteOptions& options);
void write_gadget(const std::filesystem::path& path, const Snapshot& snapshot, const WriteOptions& options);
void write_csv(const std::filesystem::path& path, const Snapshot& snapshot, const WriteOptions& options);

/// Places of the particles of each species, in their order.
std::array<std::vector<std::int64_t>, species_count> places_by_species(const Particles& particles);

/// `value` in single precision; Error(input) when it is too large for that.
float to_single(double value, const std::filesystem::path& path);

/// Like Particles::append, without a copy where `to` is empty.
void join(Particles& to, Particles&& from);

}  // namespace pergola
