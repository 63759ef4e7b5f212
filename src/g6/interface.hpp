#pragma once
/// The functions of g6.h once, for both spellings: g6/c_spellings.cpp and g6/fortran_spellings.cpp call these and never
/// each other.
///
/// They check arguments, find the cluster of the id and lock it, call it, and record the call in the trace. They do not
/// throw: an error is a line on stderr, printed once, and a return value that is not 0; results are then NaN. A cluster
/// that cannot be opened ends the program (registry.hpp, OnFailure): only this library may do so.

namespace pergola::g6 {

int open(int id) noexcept;
int open_special(int count, const int* devices) noexcept;
int close(int id) noexcept;
int npipes() noexcept;

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
int lasthalf(int id, const LastHalf& results) noexcept;

int read_neighbour_list(int id) noexcept;
int get_neighbour_list(int id, int ipipe, int maxlength, int* n, int* list) noexcept;
void set_neighbour_list_sort_mode(int mode) noexcept;
int get_neighbour_list_sort_mode() noexcept;

/// A j-particle of the id that was used last, also predicted to the last set time.
int get_j_part_data(int address, double* pos, double* vel, double* acc, double* jerk, double* predicted_pos,
                    double* predicted_vel) noexcept;

}  // namespace pergola::g6
