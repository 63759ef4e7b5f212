#pragma once

// The functions of g6.h once, without a spelling: g6/c_spellings.cpp and g6/fortran_spellings.cpp call these, and never
// each other. They do not throw: an error is a line on stderr and a return value that is not 0. A cluster that cannot
// be opened ends the program (settings.hpp, OnFailure): this is the one library of the house that may.
namespace pergola::g6 {

int open(int id) noexcept;
int open_special(int count, const int* devices) noexcept;
int close(int id) noexcept;
int npipes() noexcept;

int set_ti(int id, double ti) noexcept;
int set_j_particle(int id, int address, int index, double tj, double mass, const double k18[3], const double j6[3],
                   const double a2[3], const double v[3], const double x[3]) noexcept;

/// What a block asks for; see g6.h.
struct FirstHalf {
  int nj, ni;
  const int* index;
  const double (*xi)[3];
  const double (*vi)[3];
  double eps2;
  const double* h2;
};
void firsthalf(int id, const FirstHalf& block) noexcept;

/// Where the answers go: NaN where there are none. Nearest neighbours are looked for only where nnb or rnnb is given.
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

/// A j-particle of the id that was used last, and predicted to the time that was set last.
int get_j_part_data(int address, double* pos, double* vel, double* acc, double* jerk, double* predicted_pos,
                    double* predicted_vel) noexcept;

}  // namespace pergola::g6
