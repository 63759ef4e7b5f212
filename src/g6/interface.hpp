#pragma once
/// The functions of g6.h once, for both spellings: g6/c_spellings.cpp and g6/fortran_spellings.cpp call these and never
/// each other.
///
/// They check arguments, find the cluster of the id and lock it, call it, and record the call in the trace. They do not
/// throw: an error is a line on stderr, printed once, and a return value that is not 0; results are then NaN. A cluster
/// that cannot be opened ends the program (registry.hpp, OnFailure): only this library may do so.

namespace pergola::g6 {

/// Opens a cluster; an open one keeps its particles. open_special() also chooses the CUDA devices of the ids, and opens
/// 0.
int open(int id) noexcept;
int open_special(int count, const int* devices) noexcept;
int close(int id) noexcept;
/// The number of i-particles that a client should send per block (PERGOLA_G6_PIPES). Works before open().
int npipes() noexcept;

/// The time to which j-particles are predicted, and one j-particle at an address. k18, j6 and a2 are snap/18, jerk/6
/// and a/2, as GRAPE-6 takes them. Both count for the next firsthalf().
int set_ti(int id, double ti) noexcept;
int set_j_particle(int id, int address, int index, double tj, double mass, const double k18[3], const double j6[3],
                   const double a2[3], const double v[3], const double x[3]) noexcept;

/// The arguments of a block; see g6.h.
struct FirstHalf {
  int nj, ni;
  const int* index;
  const double (*xi)[3];
  const double (*vi)[3];
  double eps2;
  const double* h2;
};
/// Starts the forces on a block and returns without waiting for a GPU. An error shows in lasthalf().
void firsthalf(int id, const FirstHalf& block) noexcept;

/// The arrays for results, NaN after an error. Nearest neighbours are searched only if nnb or rnnb is given.
struct LastHalf {
  int ni;
  double (*acc)[3];
  double (*jerk)[3];
  double* pot;
  int* nnb = nullptr;
  float* rnnb = nullptr;
};
/// Waits for the block of firsthalf() and copies its results. Not 0: the results are NaN.
int lasthalf(int id, const LastHalf& results) noexcept;

/// Makes the lists of the last block: 1 if they are too long. get_neighbour_list() copies one; 1 if it was cut to
/// maxlength.
int read_neighbour_list(int id) noexcept;
int get_neighbour_list(int id, int ipipe, int maxlength, int* n, int* list) noexcept;
/// Not 0: lists are sorted by index. For all clusters of the process.
void set_neighbour_list_sort_mode(int mode) noexcept;
int get_neighbour_list_sort_mode() noexcept;

/// A j-particle of the id that was used last, also predicted to the last set time.
int get_j_part_data(int address, double* pos, double* vel, double* acc, double* jerk, double* predicted_pos,
                    double* predicted_vel) noexcept;

}  // namespace pergola::g6
