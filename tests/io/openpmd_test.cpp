#include "io/openpmd.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <numeric>
#include <set>
#include <utility>

#include "base/error.hpp"
#include "io/hdf5_file.hpp"
#include "io/temporary_directory.hpp"
#include "plasma/particles.hpp"

namespace pergola {
namespace {

namespace fs = std::filesystem;

class OpenPmd : public FileTest {
 protected:
  fs::path path(const std::string& name = "plasma_007.h5") const { return at(name); }
};

PlasmaParticles some_electrons(std::int64_t count, std::uint64_t first_id, int dimensions, int velocities) {
  PlasmaParticles particles;
  for (std::int64_t i = 0; i < count; ++i) {
    const double t = static_cast<double>(i);
    particles.id.push_back(first_id + static_cast<std::uint64_t>(i));
    particles.x.push_back(std::fmod(0.37 * t, 4));
    particles.y.push_back(std::fmod(0.21 * t, 3));
    if (dimensions == 3) particles.z.push_back(std::fmod(0.11 * t, 2));
    particles.vx.push_back(0.5 - 0.01 * t);
    particles.vy.push_back(0.02 * t);
    if (velocities == 3) particles.vz.push_back(-0.03 * t);
  }
  return particles;
}

PlasmaSnapshot some_plasma(int dimensions) {
  PlasmaSnapshot snapshot;
  auto& options = snapshot.options;
  options.dimensions = dimensions;
  options.velocities = dimensions;
  options.cells = {4, 3, dimensions == 3 ? 2 : 1};
  options.species = {{"electrons", -1, 1, 0.25}, {"ions", 2, 1836, 0.125}};
  snapshot.units.dimensions = dimensions;
  snapshot.step = 120;
  snapshot.time = 6;
  snapshot.dt = 0.05;
  const auto cells = static_cast<std::size_t>(options.cell_count());
  const auto ramp = [&](double from) {
    std::vector<double> values(cells);
    std::iota(values.begin(), values.end(), from);
    return values;
  };
  snapshot.fields.density = ramp(0);
  snapshot.fields.potential = ramp(100);
  for (int axis = 0; axis < dimensions; ++axis) snapshot.fields.electric[axis] = ramp(200 + 100 * axis);
  snapshot.particles = {some_electrons(20, 1, dimensions, dimensions), some_electrons(10, 21, dimensions, dimensions)};
  return snapshot;
}

TEST_F(OpenPmd, FieldsAndParticlesComeBackInTheFilesUnits) {
  for (const int dimensions : {2, 3}) {
    PlasmaSnapshot snapshot = some_plasma(dimensions);
    snapshot.units.lengths = PlasmaLengths::debye;
    snapshot.units.cell = 0.5;
    snapshot.units.cell_m *= 0.5;
    write_openpmd(path(), snapshot);
    ASSERT_TRUE(is_openpmd(path()));
    const OpenPmdSummary summary = inspect_openpmd(path());
    EXPECT_EQ(summary.version, "1.1.0");
    EXPECT_EQ(summary.step, 120);
    EXPECT_EQ(summary.time, 6);
    EXPECT_EQ(summary.time_unit, "1/omega_p");
    EXPECT_EQ(summary.length_unit, "Debye length");
    EXPECT_EQ(summary.dimensions, dimensions);
    EXPECT_EQ(summary.cells,
              dimensions == 2 ? std::vector<std::int64_t>({4, 3}) : std::vector<std::int64_t>({4, 3, 2}));
    EXPECT_EQ(summary.spacing[0], 0.5);
    ASSERT_EQ(summary.meshes.size(), 3u);
    ASSERT_EQ(summary.species.size(), 2u);
    EXPECT_EQ(summary.species[1].name, "ions");
    EXPECT_EQ(summary.species[1].count, 10);
    EXPECT_DOUBLE_EQ(summary.species[1].charge_c, 2 * elementary_charge_c);
    EXPECT_DOUBLE_EQ(summary.species[1].mass_kg, 1836 * electron_mass_kg);

    EXPECT_EQ(read_openpmd_mesh(path(), "rho"), snapshot.fields.density);
    const auto potential = read_openpmd_mesh(path(), "phi"), field = read_openpmd_mesh(path(), "E/y");
    for (std::size_t i = 0; i < potential.size(); ++i) {
      EXPECT_DOUBLE_EQ(potential[i], snapshot.fields.potential[i] * 0.25);
      EXPECT_DOUBLE_EQ(field[i], snapshot.fields.electric[1][i] * 0.5);
    }
    const auto x = read_openpmd_coordinate(path(), "ions", "x"), vy = read_openpmd_coordinate(path(), "ions", "vy");
    for (std::size_t i = 0; i < x.size(); ++i) {
      EXPECT_DOUBLE_EQ(x[i], snapshot.particles[1].x[i] * 0.5);
      EXPECT_NEAR(vy[i], snapshot.particles[1].vy[i] * 0.5, 1e-14);
    }
  }
}

TEST_F(OpenPmd, SampleIsTheSameInEveryFileAndStandsForAll) {
  PlasmaSnapshot snapshot = some_plasma(2);
  snapshot.particles[0] = some_electrons(1000, 1, 2, 2);
  const auto speeds = [&] {
    write_openpmd(path(), snapshot, {100, false});
    const auto values = read_openpmd_coordinate(path(), "electrons", "vx");
    return std::set<double>(values.begin(), values.end());
  };
  const auto first = speeds();
  EXPECT_EQ(first.size(), 100u);
  const double sampled = inspect_openpmd(path()).species[0].weighting;
  // Another order of the same particles.
  std::reverse(snapshot.particles[0].id.begin(), snapshot.particles[0].id.end());
  std::reverse(snapshot.particles[0].vx.begin(), snapshot.particles[0].vx.end());
  EXPECT_EQ(speeds(), first);
  write_openpmd(path(), snapshot);
  const OpenPmdSummary whole = inspect_openpmd(path());
  EXPECT_EQ(whole.species[0].count, 1000);
  EXPECT_NEAR(sampled * 100, whole.species[0].weighting * 1000, 1e-9 * sampled * 100);
}

// Places: the standard's "position" of Yee's grid. Units: J is a charge density times a velocity.
TEST_F(OpenPmd, LightHasThreeComponentsAtYeesPlaces) {
  PlasmaSnapshot snapshot = some_plasma(2);
  snapshot.options.field = "electromagnetic";
  snapshot.options.magnetic_field = {0, 0, 1};
  snapshot.particles.clear();
  snapshot.units.lengths = PlasmaLengths::debye, snapshot.units.cell = 0.5;
  snapshot.fields.potential.clear();
  for (int k = 0; k < 9; ++k) {
    snapshot.fields[component_of(PlasmaFieldPart::electric_x, k)] = snapshot.fields.density;
    snapshot.fields[component_of(PlasmaFieldPart::electric_x, k)][0] = k;
  }
  write_openpmd(path(), snapshot);
  EXPECT_EQ(inspect_openpmd(path()).meshes.size(), 4u);
  EXPECT_EQ(read_openpmd_mesh(path(), "E/z")[0], 2 * 0.5);
  EXPECT_EQ(read_openpmd_mesh(path(), "B/x")[0], 3);
  EXPECT_EQ(read_openpmd_mesh(path(), "J/y")[0], 7 * 0.5);
  const hdf5::File file(path());
  using Place = std::vector<double>;
  const auto place = [&](const char* mesh) { return file.reals("/data/120/fields/" + std::string(mesh), "position"); };
  EXPECT_EQ(place("rho"), (Place{0, 0}));
  EXPECT_EQ(place("E/x"), (Place{0.5, 0}));
  EXPECT_EQ(place("J/y"), (Place{0, 0.5}));
  EXPECT_EQ(place("E/z"), (Place{0, 0}));
  EXPECT_EQ(place("B/x"), (Place{0, 0.5}));
  EXPECT_EQ(place("B/z"), (Place{0.5, 0.5}));
}

TEST_F(OpenPmd, FieldsAloneMakeAFile) {
  PlasmaSnapshot snapshot = some_plasma(2);
  snapshot.particles.clear();
  write_openpmd(path("last.h5"), snapshot);
  const OpenPmdSummary summary = inspect_openpmd(path("last.h5"));
  EXPECT_TRUE(summary.species.empty());
  EXPECT_EQ(summary.step, 120);
  EXPECT_THROW(read_openpmd_coordinate(path("last.h5"), "ions", "x"), Error);
  EXPECT_THROW(read_openpmd_mesh(path("last.h5"), "B/x"), Error);
}

// Reference: openPMD 1.1.0, iterationEncoding fileBased: %T in the name stands for the iteration, as below /data.
TEST_F(OpenPmd, IterationIsTheStepAndStandsInTheName) {
  for (const auto& [name, format] : {std::pair{"plasma_000120.h5", "plasma_%T.h5"},
                                     {"120.h5", "%T.h5"},
                                     {"plasma_007.h5", "plasma_007_%T.h5"},
                                     {"last.h5", "last_%T.h5"}}) {
    write_openpmd(path(name), some_plasma(2));
    const hdf5::File file(path(name));
    EXPECT_EQ(file.members("data"), std::vector<std::string>{"120"});
    EXPECT_EQ(file.texts("/", "iterationFormat")[0], format);
    EXPECT_EQ(inspect_openpmd(path(name)).step, 120);
  }
}

TEST_F(OpenPmd, AUniformMagneticFieldTakesNoSpace) {
  PlasmaSnapshot snapshot = some_plasma(3);
  snapshot.options.cells = {32, 32, 32};
  const std::vector<double> zeros(32 * 32 * 32);
  snapshot.fields = {zeros, zeros, {zeros, zeros, zeros}};
  write_openpmd(path("without.h5"), snapshot);
  snapshot.options.magnetic_field = {0.25, 0, -2};
  write_openpmd(path(), snapshot);
  EXPECT_EQ(read_openpmd_mesh(path(), "B/x"), std::vector<double>(zeros.size(), 0.25));
  EXPECT_EQ(read_openpmd_mesh(path(), "B/y"), zeros);
  EXPECT_EQ(read_openpmd_mesh(path(), "B/z"), std::vector<double>(zeros.size(), -2));
  EXPECT_LT(fs::file_size(path()), fs::file_size(path("without.h5")) + 16384);  // one component: 262144
  EXPECT_EQ(inspect_openpmd(path()).meshes.size(), 4u);
  EXPECT_EQ(inspect_openpmd(path("without.h5")).meshes.size(), 3u);
}

// yt looks for the positions of every species at the root of the file, and takes their number for that of the species.
TEST_F(OpenPmd, PositionsStandAtTheRootWhereSpeciesHaveTheSameSize) {
  const auto positions_at_root = [&](const PlasmaSnapshot& snapshot, const OpenPmdOptions& options) -> std::int64_t {
    write_openpmd(path(), snapshot, options);
    const hdf5::File file(path());
    return file.has("position/x") ? file.dataset("position/x").rows : 0;
  };
  PlasmaSnapshot snapshot = some_plasma(2);  // 20 electrons and 10 ions
  EXPECT_EQ(positions_at_root(snapshot, {}), 0);
  EXPECT_EQ(positions_at_root(snapshot, {7, false}), 7);
  snapshot.particles[0] = some_electrons(10, 1, 2, 2);
  EXPECT_EQ(positions_at_root(snapshot, {}), 10);
  snapshot.particles[0] = {};  // no electrons at all
  EXPECT_EQ(positions_at_root(snapshot, {}), 10);
}

TEST_F(OpenPmd, TheSamePlasmaMakesTheSameBytes) {
  write_openpmd(path(), some_plasma(2));
  const std::string first = read_bytes(path());
  write_openpmd(path(), some_plasma(2));
  EXPECT_EQ(read_bytes(path()), first);
}

/// All fields, so many planes at a time.
void append_fields(OpenPmdWriter& writer, const PlasmaSnapshot& snapshot, int most) {
  const auto& cells = snapshot.options.cells;
  for (const PlasmaFieldPart part : plasma_field_parts(snapshot.options))
    for (int first = 0; first < cells[0]; first += most) {
      std::vector<double> piece;
      for (int row = 0; row < cells[1] * cells[2]; ++row)
        for (int x = first; x < std::min(first + most, cells[0]); ++x)
          piece.push_back(snapshot.fields[part][static_cast<std::size_t>(row * cells[0] + x)]);
      writer.append(part, piece);
    }
}

/// Rows `first` … `end` − 1.
PlasmaParticles piece_of(const PlasmaParticles& all, std::int64_t first, std::int64_t end) {
  PlasmaParticles piece;
  piece.id.assign(all.id.begin() + first, all.id.begin() + end);
  for (const auto values : plasma_coordinates)
    if (!(all.*values).empty()) (piece.*values).assign((all.*values).begin() + first, (all.*values).begin() + end);
  return piece;
}

// Reference: the file that is written at once. More particles than a chunk of a dataset has, and a sample.
TEST_F(OpenPmd, PiecesOfAnySizeMakeTheSameBytes) {
  PlasmaSnapshot all = some_plasma(2);
  all.particles[0] = some_electrons(150000, 1, 2, 2);
  PlasmaSnapshot head = all;
  head.particles.clear();
  for (const OpenPmdOptions& options : {OpenPmdOptions{0, true}, OpenPmdOptions{1000, false}}) {
    write_openpmd(path(), all, options);
    const std::string whole = read_bytes(path());
    for (const std::int64_t size : {1009, 65536, 149999}) {
      OpenPmdWriter writer(path(), head, {150000, 10}, options);
      append_fields(writer, all, 3);
      for (std::int64_t first = 0; first < 150000; first += size)
        writer.append(0, piece_of(all.particles[0], first, std::min<std::int64_t>(first + size, 150000)));
      writer.append(1, all.particles[1]);
      writer.commit();
      EXPECT_TRUE(read_bytes(path()) == whole) << size << " of " << options.particles_most;
    }
  }
}

// The same of fields: planes that have parts of a chunk, one, and several.
TEST_F(OpenPmd, ColumnsOfFieldsMakeTheSameBytes) {
  for (const std::array<int, 3> cells : {std::array{50, 1500, 1}, std::array{3, 300, 230}, std::array{40, 30, 20}}) {
    PlasmaSnapshot all = some_plasma(cells[2] > 1 ? 3 : 2);
    all.options.cells = cells;
    const auto values = [&](double step) {
      std::vector<double> ramp(static_cast<std::size_t>(all.options.cell_count()));
      for (std::size_t k = 0; k < ramp.size(); ++k) ramp[k] = step * static_cast<double>(k);
      return ramp;
    };
    all.fields = {values(1), values(2), {values(3), values(4), values(5)}};
    write_openpmd(path(), all);
    EXPECT_EQ(read_openpmd_mesh(path(), "rho"), all.fields.density);
    const std::string whole = read_bytes(path());
    for (const int most : {1, 30}) {
      OpenPmdWriter writer(path(), all, {20, 10});
      append_fields(writer, all, most);
      for (std::size_t s = 0; s < 2; ++s) writer.append(s, all.particles[s]);
      writer.commit();
      EXPECT_TRUE(read_bytes(path()) == whole) << cells[0] << " columns, " << most << " at a time";
    }
  }
}

TEST_F(OpenPmd, AFileThatLacksFieldsIsNotWritten) {
  const PlasmaSnapshot all = some_plasma(2);
  OpenPmdWriter writer(path(), all, {20, 10});
  const std::vector<double> plane(3, 1.0);
  writer.append(PlasmaFieldPart::density, plane);
  const auto words = [&](const auto& action) { return error_of(ErrorKind::input, action); };
  EXPECT_NE(words([&] { writer.append(PlasmaFieldPart::potential, plane); }).find("of field 0"), std::string::npos);
  EXPECT_NE(words([&] { writer.append(PlasmaFieldPart::density, {1.0}); }).find("planes of 3"), std::string::npos);
  EXPECT_NE(words([&] { writer.append(0, all.particles[0]); }).find("rho to write, expected 4"), std::string::npos);
  EXPECT_NE(words([&] { writer.commit(); }).find("1 planes of"), std::string::npos);
  EXPECT_FALSE(fs::exists(path()));
}

TEST_F(OpenPmd, AFileThatLacksParticlesIsNotWritten) {
  PlasmaSnapshot head = some_plasma(2);
  const std::vector<PlasmaParticles> particles = std::exchange(head.particles, {});
  OpenPmdWriter writer(path(), head, {20, 10});
  append_fields(writer, head, 4);
  EXPECT_NE(error_of(ErrorKind::input, [&] { writer.append(1, particles[1]); }).find("species 0"), std::string::npos);
  writer.append(0, piece_of(particles[0], 0, 19));
  EXPECT_NE(error_of(ErrorKind::input, [&] { writer.commit(); }).find("expected 20"), std::string::npos);
  EXPECT_NE(error_of(ErrorKind::input, [&] { writer.append(0, particles[0]); }).find("more than"), std::string::npos);
  writer.append(0, piece_of(particles[0], 19, 20));
  EXPECT_NE(error_of(ErrorKind::input, [&] { writer.commit(); }).find("no particles of species 1"), std::string::npos);
  EXPECT_FALSE(fs::exists(path()));
}

TEST_F(OpenPmd, DamagedFileIsRefused) {
  write_openpmd(path(), some_plasma(2));
  fs::resize_file(path(), fs::file_size(path()) / 2);
  const std::string message = error_of(ErrorKind::input, [&] { inspect_openpmd(path()); });
  EXPECT_NE(message.find("damaged"), std::string::npos) << message;
  write_bytes(path("text.h5"), "no HDF5 at all");
  EXPECT_FALSE(is_openpmd(path("text.h5")));
}

}  // namespace
}  // namespace pergola
