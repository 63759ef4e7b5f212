// The Fortran spellings: every argument by reference, a trailing underscore. They never call a C spelling, which may be
// the program's own, made on top of these.
#pragma GCC visibility push(default)
#include "g6/g6.h"
#pragma GCC visibility pop

#include "g6/interface.hpp"

namespace {

/// A scalar argument; 0 for NULL, which some clients pass.
template <class T>
T value(const T* argument) {
  return argument ? *argument : T{};
}

}  // namespace

int g6_open_(int* id) { return pergola::g6::open(value(id)); }
int g6_close_(int* id) { return pergola::g6::close(value(id)); }
int g6_reinitialize_(int*) { return 0; }
int g6_reset_(int*) { return 0; }
int g6_reset_fofpga_(int*) { return 0; }
int g6_npipes_() { return pergola::g6::npipes(); }
int g6_get_number_of_pipelines_() { return pergola::g6::npipes(); }
int g6_set_tunit_(const void*) { return 0; }
int g6_set_xunit_(const void*) { return 0; }
int g6_set_ti_(int* id, double* ti) { return pergola::g6::set_ti(value(id), value(ti)); }
int g6_set_j_particle_(int* id, int* address, int* index, double* tj, double*, double* mass, double k18[3],
                       double j6[3], double a2[3], double v[3], double x[3]) {
  return pergola::g6::set_j_particle(value(id), value(address), value(index), value(tj), value(mass), k18, j6, a2, v,
                                     x);
}
int g6_setup_njdata_(int*, int*) { return 0; }
int g6_initialize_jp_buffer_(int*, int*) { return 0; }
int g6_flush_jp_buffer_(int*) { return 0; }
void force_j_particle_send_() {}
int get_j_part_data_(int* address, int*, double* pos, double* vel, double* acc, double* jerk, double* predicted_pos,
                     double* predicted_vel) {
  return pergola::g6::get_j_part_data(value(address), pos, vel, acc, jerk, predicted_pos, predicted_vel);
}
void g6calc_firsthalf_(int* id, int* nj, int* ni, int index[], double xi[][3], double vi[][3], double[][3], double[][3],
                       double[], double* eps2, double h2[]) {
  pergola::g6::firsthalf(value(id), {value(nj), value(ni), index, xi, vi, value(eps2), h2});
}
int g6calc_lasthalf_(int* id, int*, int* ni, int[], double[][3], double[][3], double*, double[], double acc[][3],
                     double jerk[][3], double pot[]) {
  return pergola::g6::lasthalf(value(id), {value(ni), acc, jerk, pot});
}
int g6calc_lasthalf2_(int* id, int*, int* ni, int[], double[][3], double[][3], double*, double[], double acc[][3],
                      double jerk[][3], double pot[], int nnbindex[]) {
  return pergola::g6::lasthalf(value(id), {value(ni), acc, jerk, pot, nnbindex});
}
int g6calc_lasthalf2p_(int* id, int*, int* ni, int[], double[][3], double[][3], double*, double[], double acc[][3],
                       double jerk[][3], double pot[], int nnbindex[], float rnnb[]) {
  return pergola::g6::lasthalf(value(id), {value(ni), acc, jerk, pot, nnbindex, rnnb});
}
int g6calc_lasthalfn_(int* id, int*, int* ni, int[], double[][3], double[][3], double*, double[], double acc[][3],
                      double jerk[][3], double pot[]) {
  return pergola::g6::lasthalf(value(id), {value(ni), acc, jerk, pot});
}
int g6calc_lasthalf2n_(int* id, int*, int* ni, int[], double[][3], double[][3], double*, double[], double acc[][3],
                       double jerk[][3], double pot[], int nnbindex[]) {
  return pergola::g6::lasthalf(value(id), {value(ni), acc, jerk, pot, nnbindex});
}
int g6calc_lasthalf2np_(int* id, int*, int* ni, int[], double[][3], double[][3], double*, double[], double acc[][3],
                        double jerk[][3], double pot[], int nnbindex[], float rnnb[]) {
  return pergola::g6::lasthalf(value(id), {value(ni), acc, jerk, pot, nnbindex, rnnb});
}
int g6_read_neighbour_list_(int* id) { return pergola::g6::read_neighbour_list(value(id)); }
int g6_read_neighbour_list_old_(int* id) { return pergola::g6::read_neighbour_list(value(id)); }
int g6_get_neighbour_list_(int* id, int* ipipe, int* maxlength, int* n, int list[]) {
  return pergola::g6::get_neighbour_list(value(id), value(ipipe), value(maxlength), n, list);
}
void g6_set_neighbour_list_sort_mode_(int* mode) { pergola::g6::set_neighbour_list_sort_mode(value(mode)); }
int g6_get_neighbour_list_sort_mode_() { return pergola::g6::get_neighbour_list_sort_mode(); }
int g6_set_overflow_flag_test_mode_(const void*, const void*, const void*) { return 0; }
