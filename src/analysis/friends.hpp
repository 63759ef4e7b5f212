#pragma once
#include <array>
#include <cmath>
#include <cstdint>
#include <vector>

#include "base/host_device.hpp"
#include "base/vec.hpp"
#include "comm/communicator.hpp"
#include "device/device.hpp"
#include "particles/box.hpp"
#include "particles/particles.hpp"

// Friends of friends: groups of particles in which each is within a linking length of another member. Davis et al.
// 1985, ApJ 292, 371.
// Method: cells so small that all particles of one cell are friends. Particles are sorted by cell; cells within reach
// of each other are compared and joined in a union-find forest; a set of joined cells is a group. The loop bodies below
// run on CPU and CUDA; `Key` is a whole number that holds the number of a cell.
// What always holds: the groups and their order depend only on positions, ids and the length. They do not depend on
// the order of particles, threads or the device.
namespace pergola {

/// Groups of friends. In a periodic box distances are to the nearest image.
struct FriendGroups {
  /// Members of each group as places in the particle arrays, by rising id. Groups below `least` members are left out.
  /// The largest group is first; of equal ones, the one with the lowest id.
  std::vector<std::vector<std::size_t>> groups;
};

/// Finds the groups. Throws Error(input) for a length that is not above 0 or exceeds a quarter of a periodic box.
PERGOLA_API FriendGroups friends_of_friends(const Particles& particles, const Box& box, double length,
                                            std::int64_t least, const Device& device);

/// The cells. A side is length/√3, or less in a periodic box, which has a whole number of cells. Cells are numbered by
/// z, then y, then x: the cells of a row follow each other.
struct FriendFrame {
  Box box;
  double length = 0;
  double corner[3] = {}, side[3] = {}, cell[3] = {};
  std::int64_t count[3] = {1, 1, 1};  // of cells along an axis
  std::int64_t reach = 2;             // cells whose particles may be friends

  /// `low` and `high`: bounds of all positions, in open space.
  FriendFrame(const Box& of, double linking, const std::array<double, 3>& low, const std::array<double, 3>& high);
  double cells() const {
    return static_cast<double>(count[0]) * static_cast<double>(count[1]) * static_cast<double>(count[2]);
  }

  PERGOLA_HD std::int64_t around(std::int64_t place, int axis) const {
    if (!box.periodic()) return place;
    const std::int64_t n = count[axis];
    return place < 0 ? place + n : place >= n ? place - n : place;
  }
  PERGOLA_HD std::int64_t place(double x, int axis) const {
    const double at = box.periodic() ? wrap(x, corner[axis], side[axis]) : x;
    return around(static_cast<std::int64_t>(std::floor((at - corner[axis]) / cell[axis])), axis);
  }
  /// As separation(), but without divisions if no image can be nearer.
  PERGOLA_HD Vec3<double> between(const Vec3<double>& from, const Vec3<double>& to) const {
    const Vec3<double> d = physics::separation(from, to);
    const auto is_near = [](double along, double whole) { return 2 * std::abs(along) < whole; };
    if (is_near(d.x, side[0]) && is_near(d.y, side[1]) && is_near(d.z, side[2])) return d;
    return separation(from, to, box);
  }
  template <class Key>
  PERGOLA_HD Key key(double x, double y, double z) const {
    return row<Key>(place(y, 1), place(z, 2)) * static_cast<Key>(count[0]) + static_cast<Key>(place(x, 0));
  }
  template <class Key>
  PERGOLA_HD Key row(std::int64_t y, std::int64_t z) const {
    return static_cast<Key>(z) * static_cast<Key>(count[1]) + static_cast<Key>(y);
  }
};

/// Cells that hold particles, and the particles sorted by cell.
template <class Key>
struct FriendCells {
  std::int64_t cells = 0;
  const Key* key = nullptr;              // rising
  const std::uint32_t* begin = nullptr;  // the first particle of each, and their number
  const std::uint32_t* rows = nullptr;   // the first cell of each row, and their number; null: to be searched for
  const double *x = nullptr, *y = nullptr, *z = nullptr;

  PERGOLA_HD std::int64_t first_from(Key wanted, std::int64_t low, std::int64_t high) const {
    while (low < high) {
      const std::int64_t middle = (low + high) / 2;
      if (key[middle] < wanted)
        low = middle + 1;
      else
        high = middle;
    }
    return low;
  }
};

/// Copies the position of sorted particle i.
struct SortPlaces {
  const double *from_x, *from_y, *from_z;
  const std::uint32_t* order;
  double *x, *y, *z;
  PERGOLA_HD void operator()(std::int64_t i) const {
    const std::uint32_t from = order[i];
    x[i] = from_x[from], y[i] = from_y[from], z[i] = from_z[from];
  }
};

/// Cell i (or the end, i = cells) writes where each row begins since the row of the cell before.
template <class Key>
struct FillRows {
  const Key* key;
  std::int64_t cells, row_cells, rows;
  std::uint32_t* begin;  // rows + 1
  PERGOLA_HD void operator()(std::int64_t i) const {
    const auto row = [this](std::int64_t k) { return static_cast<std::int64_t>(key[k] / static_cast<Key>(row_cells)); };
    const std::int64_t first = i == 0 ? 0 : row(i - 1) + 1, last = i == cells ? rows : row(i);
    for (std::int64_t r = first; r <= last; ++r) begin[r] = static_cast<std::uint32_t>(i);
  }
};

/// Sets of cells that many threads join at once. A cell points at a lower cell of its set, the lowest at itself. So the
/// sets and their roots do not depend on the order of joins. `Links`: `load`, `store` and `swap_if` of a number that
/// other threads may change.
template <class Links>
struct FriendSets {
  Links links;

  PERGOLA_HD std::uint32_t root(std::uint32_t i) const {
    while (true) {
      const std::uint32_t above = links.load(i);
      if (above == i) return i;
      const std::uint32_t next = links.load(above);
      if (next != above) links.store(i, next);
      i = above;
    }
  }
  PERGOLA_HD void join(std::uint32_t a, std::uint32_t b) const {
    while (true) {
      a = root(a), b = root(b);
      if (a == b) return;
      const std::uint32_t low = a < b ? a : b, high = a < b ? b : a;
      if (links.swap_if(high, high, low)) return;
    }
  }
};

/// Joins cell i with each later cell that has a particle within the length of one in cell i. Each pair of cells is
/// compared once.
template <class Key, class Links>
struct LinkCells {
  FriendFrame frame;
  FriendCells<Key> cells;
  FriendSets<Links> sets;

  PERGOLA_HD void operator()(std::int64_t i) const {
    const Key width = static_cast<Key>(frame.count[0]);
    const Key own_row = cells.key[i] / width;
    const auto x = static_cast<std::int64_t>(cells.key[i] % width);
    const auto y = static_cast<std::int64_t>(own_row % static_cast<Key>(frame.count[1]));
    const auto z = static_cast<std::int64_t>(own_row / static_cast<Key>(frame.count[1]));
    for (std::int64_t dz = -frame.reach; dz <= frame.reach; ++dz)
      for (std::int64_t dy = -frame.reach; dy <= frame.reach; ++dy) {
        const std::int64_t to_y = frame.around(y + dy, 1), to_z = frame.around(z + dz, 2);
        if (to_y < 0 || to_z < 0 || to_y >= frame.count[1] || to_z >= frame.count[2]) continue;
        const Key row = frame.template row<Key>(to_y, to_z);
        if (row >= own_row) link_row(i, row, x);  // earlier rows have met this one
      }
  }

 private:
  /// The cells of a row within reach: one range, or two if it crosses the edge of the box.
  PERGOLA_HD void link_row(std::int64_t i, Key row, std::int64_t x) const {
    const std::int64_t first = x - frame.reach, last = x + frame.reach, n = frame.count[0];
    if (frame.box.periodic() && 2 * frame.reach + 1 >= n) return link_stretch(i, row, 0, n - 1);
    link_stretch(i, row, first < 0 ? 0 : first, last < n ? last : n - 1);
    if (!frame.box.periodic()) return;
    if (first < 0) link_stretch(i, row, first + n, n - 1);
    if (last >= n) link_stretch(i, row, 0, last - n);
  }
  PERGOLA_HD void link_stretch(std::int64_t i, Key row, std::int64_t first, std::int64_t last) const {
    const Key width = static_cast<Key>(frame.count[0]), end = row * width + static_cast<Key>(last);
    const auto listed = static_cast<std::int64_t>(row);
    const std::int64_t low = cells.rows ? cells.rows[listed] : i + 1;
    const std::int64_t high = cells.rows ? cells.rows[listed + 1] : cells.cells;
    for (std::int64_t k = cells.first_from(row * width + static_cast<Key>(first), low > i ? low : i + 1, high);
         k < cells.cells && cells.key[k] <= end; ++k) {
      const auto a = static_cast<std::uint32_t>(i), b = static_cast<std::uint32_t>(k);
      if (sets.root(a) != sets.root(b) && touch(i, k)) sets.join(a, b);
    }
  }
  PERGOLA_HD bool touch(std::int64_t a, std::int64_t b) const {
    for (std::uint32_t i = cells.begin[a]; i < cells.begin[a + 1]; ++i)
      for (std::uint32_t j = cells.begin[b]; j < cells.begin[b + 1]; ++j) {
        const Vec3<double> from{cells.x[i], cells.y[i], cells.z[i]}, to{cells.x[j], cells.y[j], cells.z[j]};
        const Vec3<double> d = frame.between(from, to);
        if (dot(d, d) <= frame.length * frame.length) return true;
      }
    return false;
  }
};

/// Particles by cell, and for each cell the lowest cell of its set.
struct LinkedCells {
  std::vector<std::uint32_t> order;  // of the particles
  std::vector<std::uint32_t> begin;  // the first of each cell in it, and their number
  std::vector<std::uint32_t> root;
};

/// Joins all friends among the particles, on the CPU.
LinkedCells link_friends(const Device& cpu, const Particles& particles, const FriendFrame& frame);

/// The cells for distributed particles. Throws Error(input) for a length that is not above 0 or exceeds a quarter of a
/// periodic box. Collective.
FriendFrame friend_frame(Communicator& ranks, const Particles& own, const Box& box, double length);

/// Whether 64 bits hold the numbers of all cells.
bool has_narrow_keys(const FriendFrame& frame);

/// The number of rows if a table of all rows is not much larger than the list of cells; else 0, for no table.
std::int64_t rows_to_list(const FriendFrame& frame, std::int64_t cells);

/// As link_friends(), but frees each array of positions after it is sorted. `places` needs positions only.
LinkedCells link_places(const Device& cpu, Particles&& places, const FriendFrame& frame);

}  // namespace pergola
