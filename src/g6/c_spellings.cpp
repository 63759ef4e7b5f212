// The C spellings: scalars by value. In the archive they are an object of their own and weak (PERGOLA_G6_SPELLING, set
// by CMake): a program may define any of them itself.
#pragma GCC visibility push(default)
#include "g6/g6.h"
#pragma GCC visibility pop

#include "g6/interface.hpp"

PERGOLA_G6_SPELLING int g6_open(int id) { return pergola::g6::open(id); }
PERGOLA_G6_SPELLING int g6_close(int id) { return pergola::g6::close(id); }
PERGOLA_G6_SPELLING int g6_open_special(int ndev, int* list) { return pergola::g6::open_special(ndev, list); }
PERGOLA_G6_SPELLING int g6_reinitialize(int) { return 0; }
PERGOLA_G6_SPELLING int g6_reset(int) { return 0; }
PERGOLA_G6_SPELLING int g6_reset_fofpga(int) { return 0; }
PERGOLA_G6_SPELLING int g6_npipes() { return pergola::g6::npipes(); }
PERGOLA_G6_SPELLING int g6_get_number_of_pipelines() { return pergola::g6::npipes(); }
PERGOLA_G6_SPELLING int g6_set_tunit(double) { return 0; }
PERGOLA_G6_SPELLING int g6_set_xunit(double) { return 0; }
PERGOLA_G6_SPELLING int g6_set_ti(int id, double ti) { return pergola::g6::set_ti(id, ti); }
PERGOLA_G6_SPELLING int g6_set_j_particle(int id, int address, int index, double tj, double, double mass, double k18[3],
                                          double j6[3], double a2[3], double v[3], double x[3]) {
  return pergola::g6::set_j_particle(id, address, index, tj, mass, k18, j6, a2, v, x);
}
PERGOLA_G6_SPELLING int g6_setup_njdata(int, int) { return 0; }
PERGOLA_G6_SPELLING int g6_initialize_jp_buffer(int, int) { return 0; }
PERGOLA_G6_SPELLING int g6_flush_jp_buffer(int) { return 0; }
PERGOLA_G6_SPELLING void force_j_particle_send() {}
PERGOLA_G6_SPELLING int get_j_part_data(int address, int, double* pos, double* vel, double* acc, double* jerk,
                                        double* predicted_pos, double* predicted_vel) {
  return pergola::g6::get_j_part_data(address, pos, vel, acc, jerk, predicted_pos, predicted_vel);
}
PERGOLA_G6_SPELLING void g6calc_firsthalf(int id, int nj, int ni, int index[], double xi[][3], double vi[][3],
                                          double[][3], double[][3], double[], double eps2, double h2[]) {
  pergola::g6::firsthalf(id, {nj, ni, index, xi, vi, eps2, h2});
}
PERGOLA_G6_SPELLING int g6calc_lasthalf(int id, int, int ni, int[], double[][3], double[][3], double, double[],
                                        double acc[][3], double jerk[][3], double pot[]) {
  return pergola::g6::lasthalf(id, {ni, acc, jerk, pot});
}
PERGOLA_G6_SPELLING int g6calc_lasthalf2(int id, int, int ni, int[], double[][3], double[][3], double, double[],
                                         double acc[][3], double jerk[][3], double pot[], int nnbindex[]) {
  return pergola::g6::lasthalf(id, {ni, acc, jerk, pot, nnbindex});
}
PERGOLA_G6_SPELLING int g6calc_lasthalf2p(int id, int, int ni, int[], double[][3], double[][3], double, double[],
                                          double acc[][3], double jerk[][3], double pot[], int nnbindex[],
                                          float rnnb[]) {
  return pergola::g6::lasthalf(id, {ni, acc, jerk, pot, nnbindex, rnnb});
}
PERGOLA_G6_SPELLING int g6calc_lasthalfn(int id, int, int ni, int[], double[][3], double[][3], double, double[],
                                         double acc[][3], double jerk[][3], double pot[]) {
  return pergola::g6::lasthalf(id, {ni, acc, jerk, pot});
}
PERGOLA_G6_SPELLING int g6calc_lasthalf2n(int id, int, int ni, int[], double[][3], double[][3], double, double[],
                                          double acc[][3], double jerk[][3], double pot[], int nnbindex[]) {
  return pergola::g6::lasthalf(id, {ni, acc, jerk, pot, nnbindex});
}
PERGOLA_G6_SPELLING int g6calc_lasthalf2np(int id, int, int ni, int[], double[][3], double[][3], double, double[],
                                           double acc[][3], double jerk[][3], double pot[], int nnbindex[],
                                           float rnnb[]) {
  return pergola::g6::lasthalf(id, {ni, acc, jerk, pot, nnbindex, rnnb});
}
PERGOLA_G6_SPELLING int g6_read_neighbour_list(int id) { return pergola::g6::read_neighbour_list(id); }
PERGOLA_G6_SPELLING int g6_read_neighbour_list_old(int id) { return pergola::g6::read_neighbour_list(id); }
PERGOLA_G6_SPELLING int g6_get_neighbour_list(int id, int ipipe, int maxlength, int* n, int list[]) {
  return pergola::g6::get_neighbour_list(id, ipipe, maxlength, n, list);
}
PERGOLA_G6_SPELLING void g6_set_neighbour_list_sort_mode(int mode) { pergola::g6::set_neighbour_list_sort_mode(mode); }
PERGOLA_G6_SPELLING int g6_get_neighbour_list_sort_mode() { return pergola::g6::get_neighbour_list_sort_mode(); }
PERGOLA_G6_SPELLING int g6_set_overflow_flag_test_mode(int, int, int) { return 0; }
