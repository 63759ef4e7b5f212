#pragma once
#include <cstdint>
#include <memory>
#include <vector>

#include "comm/communicator.hpp"
#include "mesh/grid.hpp"
#include "mesh/slab_planes.hpp"

namespace pergola {

/// What a particle and a cell of the planes that are worked on cost a rank, in one unit. Measured on CPUs: 26 and 16 ns
/// in a step, 12 to 24 and 16 to 36 bytes. On GPUs it is what travels and is kept: 20 and up to 32 bytes.
struct RowCosts {
  std::int64_t particle = 1, cell = 1;
  static RowCosts of(bool on_gpu) { return on_gpu ? RowCosts{1, 2} : RowCosts{}; }
};

/// Which rank works on the particles of a mesh, by the row in which their clouds begin; rows are counted plane by
/// plane. Every rank has a range of rows with about the same work, whichever planes it owns. Used where most particles
/// are in few planes (a disc): slabs would then give them to few ranks.
/// No result depends on the division: masses on a mesh are whole numbers, and all else is found for each particle.
class RowDomains {
 public:
  /// Instead of a rank, for a row that is in no rank's planes.
  static constexpr std::uint32_t nobody = 0xffffffffu;

  RowDomains(int rows_in_plane, int row_cells, int ranks, const std::vector<std::int64_t>& particles,
             const RowCosts& costs = {});
  /// By row, for all planes of the mesh. Rows of planes without particles have no rank (`nobody`), except a few next to
  /// planes with particles.
  const std::vector<std::uint32_t>& owners() const { return owner_; }
  /// The planes of a rank's rows. Two ranks may both have one.
  const std::vector<PlaneRange>& planes() const { return planes_; }
  /// What the busiest rank has to do.
  std::int64_t most_work() const { return most_work_; }

 private:
  static std::vector<std::int64_t> cut(int rows_in_plane, int row_cells, int ranks,
                                       const std::vector<std::int64_t>& particles, const RowCosts& costs);

  std::vector<std::uint32_t> owner_;
  std::vector<PlaneRange> planes_;
  std::int64_t most_work_ = 0;
};

/// Decides when the particles of a mesh in slabs are to be divided by rows: while the slabs have about as many
/// particles each, it leaves them there. It looks at counts only, so that the decision is the same in every run. Use:
/// should_count() after every routing; if it says so, count particles by row and call divide(). Calls of all ranks.
class RowDivision {
 public:
  RowDivision(std::shared_ptr<Communicator> ranks, const Grid& grid, const RowCosts& costs = {});
  /// Null: by slabs.
  const std::shared_ptr<const RowDomains>& domains() const { return domains_; }
  std::int64_t rows() const { return std::int64_t{rows_in_plane_} * planes_; }

  /// After `kept` particles have been listed by rank, and `arriving` for this one: whether they should be counted.
  /// `uncovered`: some are in rows without a rank.
  bool should_count(std::int64_t kept, std::int64_t arriving, bool uncovered);
  /// Whether the work of the busiest rank is much more than the least that it might be, and whether these would help.
  static bool is_lopsided(std::int64_t most, std::int64_t least);
  static bool pays(std::int64_t most, std::int64_t least, const RowDomains& domains);
  /// By the particles of this rank in each row; these become those of all. Whether there are other domains now.
  bool divide(std::vector<std::int64_t>& particles);

 private:
  std::shared_ptr<Communicator> ranks_;
  RowCosts costs_;
  int planes_, rows_in_plane_, row_cells_;
  std::shared_ptr<const RowDomains> domains_;
  bool uncovered_ = false;
  std::int64_t kept_ = -1, total_ = 0;  // particles of this rank, and of all
  std::int64_t most_ = 0;               // work of the busiest rank now
  std::int64_t best_ = 0;               // the least that seemed possible when particles were counted last; 0: never
};

}  // namespace pergola
