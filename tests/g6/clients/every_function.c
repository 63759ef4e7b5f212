/* Every function of g6.h in both spellings. Compiled as C and as C++, and linked with both forms of the library. */
#include <g6.h>
#include <string.h>

#include "naive.h"

static int index_[ni], nearest[ni], list[n];
static double x[ni][3], v[ni][3], acc[ni][3], jerk[ni][3], pot[ni], h2[ni];
static float distance[ni];
static double eps2 = 1e-4, ti = 0.125;
static int id = 3, nj = n, count = ni;

static void ask_for(int first) {
  for (int i = 0; i < ni; i++) {
    index_[i] = particles[first + i].index;
    for (int k = 0; k < 3; k++) x[i][k] = particles[first + i].x[k] + 0.01, v[i][k] = particles[first + i].v[k];
    h2[i] = 0.01;
  }
  memset(acc, 0, sizeof acc);
  memset(jerk, 0, sizeof jerk);
  memset(pot, 0, sizeof pot);
  memset(nearest, 0, sizeof nearest);
  memset(distance, 0, sizeof distance);
}
static void check(int line) { expect_close(ni, nj, ti, index_, x, v, eps2, acc, jerk, pot, line); }
static void check_nearest(int line) {
  for (int i = 0; i < ni; i++)
    expect(nearest[i] == naive(nj, ti, index_[i], x[i], v[i], 0, 0).nearest, "nearest", line);
}
static void check_distance(int line) {
  for (int i = 0; i < ni; i++)
    expect(fabs(distance[i] - sqrt(naive(nj, ti, index_[i], x[i], v[i], 0, 0).nearest2)) < 1e-5, "distance", line);
}
static void check_lists(int line, int status, int length, int i) {
  expect(status == 0, "list status", line);
  expect(length == naive(nj, ti, index_[i], x[i], v[i], 0, h2[i]).neighbours, "list length", line);
}

static void c_spellings(void) {
  double seen[6][3];
  EXPECT(g6_npipes() > 0);
  EXPECT(g6_get_number_of_pipelines() == g6_npipes());
  EXPECT(g6_open(id) == 0);
  EXPECT(g6_reset(id) == 0 && g6_reset_fofpga(id) == 0 && g6_reinitialize(id) == 0);
  EXPECT(g6_set_tunit(51) == 0 && g6_set_xunit(51) == 0);
  EXPECT(g6_setup_njdata(id, nj) == 0 && g6_initialize_jp_buffer(id, 100) == 0);
  for (int j = 0; j < n; j++) {
    Particle* p = particles + j;
    EXPECT(g6_set_j_particle(id, j, p->index, p->t, 0.1, p->m, p->k18, p->j6, p->a2, p->v, p->x) == 0);
  }
  EXPECT(g6_flush_jp_buffer(id) == 0);
  force_j_particle_send();
  EXPECT(g6_set_ti(id, ti) == 0);
  EXPECT(g6_set_overflow_flag_test_mode(0, 0, 0) == 0);

  ask_for(0);
  g6calc_firsthalf(id, nj, ni, index_, x, v, acc, jerk, pot, eps2, h2);
  EXPECT(g6calc_lasthalf(id, nj, ni, index_, x, v, eps2, h2, acc, jerk, pot) == 0);
  check(__LINE__);
  g6calc_firsthalf(id, nj, ni, index_, x, v, acc, jerk, pot, eps2, h2);
  EXPECT(g6calc_lasthalf2(id, nj, ni, index_, x, v, eps2, h2, acc, jerk, pot, nearest) == 0);
  check(__LINE__), check_nearest(__LINE__);
  ask_for(100);
  g6calc_firsthalf(id, nj, ni, index_, x, v, acc, jerk, pot, eps2, h2);
  EXPECT(g6calc_lasthalf2p(id, nj, ni, index_, x, v, eps2, h2, acc, jerk, pot, nearest, distance) == 0);
  check(__LINE__), check_nearest(__LINE__), check_distance(__LINE__);
  ask_for(50);
  g6calc_firsthalf(id, nj, ni, index_, x, v, acc, jerk, pot, eps2, h2);
  EXPECT(g6calc_lasthalfn(id, nj, ni, index_, x, v, eps2, h2, acc, jerk, pot) == 0);
  check(__LINE__);
  EXPECT(g6_read_neighbour_list(id) == 0);
  for (int i = 0; i < ni; i++) {
    int length = -1;
    const int status = g6_get_neighbour_list(id, i, n, &length, list);
    check_lists(__LINE__, status, length, i);
  }
  EXPECT(g6calc_lasthalf2n(id, nj, ni, index_, x, v, eps2, h2, acc, jerk, pot, nearest) == 0);
  check_nearest(__LINE__);
  EXPECT(g6calc_lasthalf2np(id, nj, ni, index_, x, v, eps2, h2, acc, jerk, pot, nearest, distance) == 0);
  check_distance(__LINE__);
  EXPECT(g6_read_neighbour_list_old(id) == 0);

  for (int mode = 0; mode < 2; mode++)
    g6_set_neighbour_list_sort_mode(mode), EXPECT(g6_get_neighbour_list_sort_mode() == mode);
  g6_set_neighbour_list_sort_mode(0);
  EXPECT(get_j_part_data(7, nj, seen[0], seen[1], seen[2], seen[3], seen[4], seen[5]) == 0);
  EXPECT(seen[0][1] == particles[7].x[1] && seen[2][2] == 2 * particles[7].a2[2]);
  EXPECT(g6_close(id) == 0);
  EXPECT(g6_open_special(0, NULL) == 0 && g6_close(0) == 0);
}

static void fortran_spellings(void) {
  double seen[6][3], unit = 51;
  int size = 100, address, mode, most = n, int_unit = 51;
  EXPECT(g6_npipes_() > 0);
  EXPECT(g6_get_number_of_pipelines_() == g6_npipes_());
  EXPECT(g6_open_(NULL) == 0 && g6_open_(&id) == 0);
  EXPECT(g6_reset_(&id) == 0 && g6_reset_fofpga_(&id) == 0 && g6_reinitialize_(&id) == 0);
  EXPECT(g6_set_tunit_(&unit) == 0 && g6_set_xunit_(&int_unit) == 0);
  EXPECT(g6_setup_njdata_(&id, &nj) == 0 && g6_initialize_jp_buffer_(&id, &size) == 0);
  for (address = 0; address < n; address++) {
    Particle* p = particles + address;
    double step = 0.1;
    EXPECT(g6_set_j_particle_(&id, &address, &p->index, &p->t, &step, &p->m, p->k18, p->j6, p->a2, p->v, p->x) == 0);
  }
  EXPECT(g6_flush_jp_buffer_(&id) == 0);
  force_j_particle_send_();
  EXPECT(g6_set_ti_(&id, &ti) == 0);
  EXPECT(g6_set_overflow_flag_test_mode_(&nj, &nj, &nj) == 0);

  ask_for(10);
  g6calc_firsthalf_(&id, &nj, &count, index_, x, v, acc, jerk, pot, &eps2, h2);
  EXPECT(g6calc_lasthalf_(&id, &nj, &count, index_, x, v, &eps2, h2, acc, jerk, pot) == 0);
  check(__LINE__);
  g6calc_firsthalf_(&id, &nj, &count, index_, x, v, acc, jerk, pot, &eps2, h2);
  EXPECT(g6calc_lasthalf2_(&id, &nj, &count, index_, x, v, &eps2, h2, acc, jerk, pot, nearest) == 0);
  check_nearest(__LINE__);
  ask_for(110);
  g6calc_firsthalf_(&id, &nj, &count, index_, x, v, acc, jerk, pot, &eps2, h2);
  EXPECT(g6calc_lasthalf2p_(&id, &nj, &count, index_, x, v, &eps2, h2, acc, jerk, pot, nearest, distance) == 0);
  check(__LINE__), check_nearest(__LINE__), check_distance(__LINE__);
  EXPECT(g6calc_lasthalfn_(&id, &nj, &count, index_, x, v, &eps2, h2, acc, jerk, pot) == 0);
  EXPECT(g6calc_lasthalf2n_(&id, &nj, &count, index_, x, v, &eps2, h2, acc, jerk, pot, nearest) == 0);
  EXPECT(g6calc_lasthalf2np_(&id, &nj, &count, index_, x, v, &eps2, h2, acc, jerk, pot, nearest, distance) == 0);
  check(__LINE__), check_nearest(__LINE__), check_distance(__LINE__);
  EXPECT(g6_read_neighbour_list_(&id) == 0);
  for (int i = 0; i < ni; i++) {
    int length = -1;
    const int status = g6_get_neighbour_list_(&id, &i, &most, &length, list);
    check_lists(__LINE__, status, length, i);
  }
  EXPECT(g6_read_neighbour_list_old_(&id) == 0);
  mode = 1;
  g6_set_neighbour_list_sort_mode_(&mode);
  EXPECT(g6_get_neighbour_list_sort_mode_() == 1);
  mode = 0;
  g6_set_neighbour_list_sort_mode_(&mode);
  address = 9;
  EXPECT(get_j_part_data_(&address, &nj, seen[0], seen[1], seen[2], seen[3], seen[4], seen[5]) == 0);
  EXPECT(seen[0][1] == particles[9].x[1] && seen[3][2] == 6 * particles[9].j6[2]);
  EXPECT(g6_close_(&id) == 0 && g6_close_(NULL) == 0);
}

int main(void) {
  make_particles(1 << 24 | 1);
  c_spellings();
  fortran_spellings();
  printf("%d failures\n", failures);
  return failures > 0;
}
