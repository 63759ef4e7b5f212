/* What clients do beside the usual order of calls, and what the library promises then. */
#include <fenv.h>
#include <g6.h>
#include <string.h>

#include "naive.h"

static int index_[ni], nearest[ni], list[n];
static double x[ni][3], v[ni][3], acc[ni][3], jerk[ni][3], pot[ni], h2[ni];

static void send(int id) {
  for (int j = 0; j < n; j++) {
    Particle* p = particles + j;
    EXPECT(g6_set_j_particle(id, j, p->index, p->t, 0.1, p->m, p->k18, p->j6, p->a2, p->v, p->x) == 0);
  }
}
static void ask_for(int first) {
  for (int i = 0; i < ni; i++) {
    index_[i] = particles[first + i].index;
    h2[i] = 0;
    for (int k = 0; k < 3; k++) x[i][k] = particles[first + i].x[k] + 0.01, v[i][k] = particles[first + i].v[k];
  }
}
static void check(double ti, double eps2, int line) {
  expect_close(ni, n, ti, index_, x, v, eps2, acc, jerk, pot, line);
}

static void pipes_are_known_before_opening(void) {
  EXPECT(g6_npipes() == 48);
  setenv("PERGOLA_G6_PIPES", "16384", 1);
  EXPECT(g6_npipes() == 16384);
  setenv("PERGOLA_G6_PIPES", "many", 1);
  EXPECT(g6_npipes() == 48); /* and a line on stderr: a client that reads 0 goes its own way */
  unsetenv("PERGOLA_G6_PIPES");
}

static void ids_need_no_opening_and_do_not_mix(void) {
  static double other_acc[ni][3], other_jerk[ni][3], other_pot[ni];
  Particle kept[n];
  EXPECT(g6_open(0) == 0);
  send(7); /* opened 0, uses 7: its rank */
  memcpy(kept, particles, sizeof kept);
  for (int j = 0; j < n; j++) particles[j].m *= 2, particles[j].t = 0.1;
  send(8);
  g6_set_ti(7, 0.25), g6_set_ti(8, 0.5);
  ask_for(0);
  g6calc_firsthalf(7, n, ni, index_, x, v, acc, jerk, pot, 0.01, h2);
  g6calc_firsthalf(8, n, ni, index_, x, v, other_acc, other_jerk, other_pot, 0, h2);
  EXPECT(g6calc_lasthalf(8, n, ni, index_, x, v, 0, h2, other_acc, other_jerk, other_pot) == 0);
  EXPECT(g6calc_lasthalf(7, n, ni, index_, x, v, 0.01, h2, acc, jerk, pot) == 0);
  expect_close(ni, n, 0.5, index_, x, v, 0, other_acc, other_jerk, other_pot, __LINE__);
  memcpy(particles, kept, sizeof kept);
  check(0.25, 0.01, __LINE__);
  EXPECT(g6_close(7) == 0 && g6_close(8) == 0 && g6_close(0) == 0 && g6_close(0) == 0);
}

/* Fortran programs warn at STOP of what is raised. */
static void floating_point_flags_are_the_clients(void) {
  Particle kept[n];
  memcpy(kept, particles, sizeof kept);
  for (int j = 0; j < n; j++) particles[j].m = 1e-41; /* no normal number in fp32 */
  send(4);
  ask_for(0);
  feclearexcept(FE_ALL_EXCEPT);
  feraiseexcept(FE_DIVBYZERO);
  g6calc_firsthalf(4, n, ni, index_, x, v, acc, jerk, pot, 0.01, h2);
  const int result = g6calc_lasthalf(4, n, ni, index_, x, v, 0.01, h2, acc, jerk, pot);
  EXPECT(fetestexcept(FE_ALL_EXCEPT) == FE_DIVBYZERO);
#if defined(__x86_64__)
  EXPECT((__builtin_ia32_stmxcsr() & 2) == 0); /* IEEE_DENORMAL */
#endif
  EXPECT(result == 0 && g6_close(4) == 0);
  memcpy(particles, kept, sizeof kept);
}

static void halves_may_be_repeated_or_missing(void) {
  send(1);
  g6_set_ti(1, 0.25);
  ask_for(200);
  g6calc_firsthalf(1, n, ni, index_, x, v, acc, jerk, pot, 0, h2);
  ask_for(20);
  g6calc_firsthalf(1, n, ni, index_, x, v, acc, jerk, pot, 0.1, h2);
  g6calc_firsthalf(1, n, ni, index_, x, v, acc, jerk, pot, 0.01, h2);
  for (int repeat = 0; repeat < 3; repeat++) {
    memset(acc, 0, sizeof acc);
    EXPECT(g6calc_lasthalf(1, n, ni, index_, x, v, 0.01, h2, acc, jerk, pot) == 0);
    check(0.25, 0.01, __LINE__);
  }
  EXPECT(g6calc_lasthalf2(1, n, ni, index_, x, v, 0.01, h2, acc, jerk, pot, nearest) == 0);
  for (int i = 0; i < ni; i++) EXPECT(nearest[i] == naive(n, 0.25, index_[i], x[i], v[i], 0, 0).nearest);
  EXPECT(g6_reset(1) == 0);
  EXPECT(g6calc_lasthalf(1, n, 1, index_, x, v, 0.01, h2, acc, jerk, pot) == 0); /* fewer are fine */
  EXPECT(g6calc_lasthalf(1, n, ni + 1, index_, x, v, 0.01, h2, acc, jerk, pot) != 0);
}

static void arrays_may_be_the_same(void) {
  static double all[ni][3], kept_x[ni][3], kept_v[ni][3], forces[ni][3];
  ask_for(60);
  memcpy(kept_x, x, sizeof x), memcpy(kept_v, v, sizeof v);
  memcpy(all, x, sizeof x);
  g6calc_firsthalf(1, n, ni, index_, all, v, all, all, pot, 0.01, h2);
  EXPECT(g6calc_lasthalf(1, n, ni, index_, all, v, 0.01, h2, all, v, h2) == 0); /* x, v and h2 overwritten */
  memcpy(forces, all, sizeof all);
  memcpy(acc, forces, sizeof acc), memcpy(jerk, v, sizeof v), memcpy(pot, h2, sizeof pot);
  memcpy(x, kept_x, sizeof x), memcpy(v, kept_v, sizeof v);
  check(0.25, 0.01, __LINE__);
}

static void closed_and_opened_again_it_starts_empty(void) {
  EXPECT(g6_close(1) == 0 && g6_open(1) == 0);
  ask_for(0);
  g6calc_firsthalf(1, 0, ni, index_, x, v, acc, jerk, pot, 0.01, h2);
  EXPECT(g6calc_lasthalf(1, 0, ni, index_, x, v, 0.01, h2, acc, jerk, pot) == 0);
  EXPECT(acc[3][0] == 0 && pot[3] == 0);
  g6calc_firsthalf(1, n, ni, index_, x, v, acc, jerk, pot, 0.01, h2);
  EXPECT(g6calc_lasthalf(1, n, ni, index_, x, v, 0.01, h2, acc, jerk, pot) != 0); /* nothing was set */
  send(1);
  g6_set_ti(1, 0.125);
  g6calc_firsthalf(1, n, ni, index_, x, v, acc, jerk, pot, 0.01, h2);
  EXPECT(g6calc_lasthalf(1, n, ni, index_, x, v, 0.01, h2, acc, jerk, pot) == 0);
  check(0.125, 0.01, __LINE__);
}

static void opened_twice_it_keeps_the_particles(void) {
  EXPECT(g6_open(1) == 0);
  g6calc_firsthalf(1, n, ni, index_, x, v, acc, jerk, pot, 0.01, h2);
  EXPECT(g6calc_lasthalf(1, n, ni, index_, x, v, 0.01, h2, acc, jerk, pot) == 0);
  check(0.125, 0.01, __LINE__);
}

/* ipipe 0 asks with h2 = 0, ipipe 1 for all, the others for some. */
static void neighbour_lists(int with_self) {
  int length = -1;
  if (with_self) setenv("PERGOLA_G6_PIPES", "64", 1);
  EXPECT(g6_close(1) == 0 && g6_open(1) == 0);
  send(1);
  g6_set_ti(1, 0.125);
  ask_for(0);
  for (int i = 0; i < ni; i++) {
    const Particle* p = particles + i;
    const double dt = 0.125 - p->t;
    h2[i] = i == 0 ? 0 : i == 1 ? 1e6 : 0.02;
    for (int k = 0; k < 3; k++)
      x[i][k] = p->x[k] + dt * (p->v[k] + dt * (p->a2[k] + dt * (p->j6[k] + 0.75 * dt * p->k18[k])));
  }
  g6calc_firsthalf(1, n, ni, index_, x, v, acc, jerk, pot, 0.01, h2);
  EXPECT(g6calc_lasthalf2(1, n, ni, index_, x, v, 0.01, h2, acc, jerk, pot, nearest) == 0);
  EXPECT(g6_read_neighbour_list(1) == 0);
  EXPECT(g6_get_neighbour_list(1, 0, n, &length, list) == 0 && length == 0);
  EXPECT(g6_get_neighbour_list(1, 1, n, &length, list) == 0 && length == n - 1 + with_self);
  EXPECT(g6_get_neighbour_list(1, 1, 10, &length, list) != 0 && length >= 10);
  for (int i = 2; i < ni; i++) {
    int self = 0;
    EXPECT(g6_get_neighbour_list(1, i, n, &length, list) == 0);
    for (int k = 0; k < length; k++) self += list[k] == index_[i];
    EXPECT(self == with_self);
    EXPECT(length == naive(n, 0.125, index_[i], x[i], v[i], 0, h2[i]).neighbours + with_self);
  }
  g6_set_neighbour_list_sort_mode(1);
  EXPECT(g6_get_neighbour_list(1, 1, n, &length, list) == 0);
  for (int k = 1; k < length; k++) EXPECT(list[k - 1] < list[k]);
  g6_set_neighbour_list_sort_mode(0);
  EXPECT(g6_get_neighbour_list(1, ni, n, &length, list) != 0);
  unsetenv("PERGOLA_G6_PIPES");
}

static void errors_are_returned(void) {
  const char* device = getenv("PERGOLA_DEVICE");
  char kept[64] = "";
  if (device) strncpy(kept, device, sizeof kept - 1);
  setenv("PERGOLA_G6_FAILURE", "nan", 1);
  setenv("PERGOLA_DEVICE", "abacus", 1);
  EXPECT(g6_open(20) != 0);
  EXPECT(g6_set_ti(20, 0) != 0);
  g6calc_firsthalf(20, n, ni, index_, x, v, acc, jerk, pot, 0, h2);
  EXPECT(g6calc_lasthalf(20, n, ni, index_, x, v, 0, h2, acc, jerk, pot) != 0);
  EXPECT(g6_read_neighbour_list(20) < 0);
  unsetenv("PERGOLA_DEVICE");
  if (device) setenv("PERGOLA_DEVICE", kept, 1);
  setenv("PERGOLA_G6_PRECISION", "half", 1);
  EXPECT(g6_open(20) != 0);
  unsetenv("PERGOLA_G6_PRECISION"), unsetenv("PERGOLA_G6_FAILURE");
  EXPECT(g6_open(20) == 0);
  EXPECT(g6calc_lasthalf(20, n, ni, index_, x, v, 0, h2, acc, jerk, pot) != 0); /* nothing was started */
  EXPECT(g6_set_j_particle(20, -1, 0, 0, 0, 0, NULL, NULL, NULL, NULL, NULL) != 0);
  g6calc_firsthalf(20, n, ni, index_, x, v, acc, jerk, pot, -1, h2);
  EXPECT(g6calc_lasthalf(20, n, ni, index_, x, v, -1, h2, acc, jerk, pot) != 0);
  /* two particles in one place, no softening */
  for (int j = 0; j < 2; j++) EXPECT(g6_set_j_particle(20, j, j, 0, 0, 1, NULL, NULL, NULL, NULL, x[0]) == 0);
  index_[0] = 0;
  g6calc_firsthalf(20, 2, 1, index_, x, v, acc, jerk, pot, 0, h2);
  EXPECT(g6calc_lasthalf(20, 2, 1, index_, x, v, 0, h2, acc, jerk, pot) != 0);
  g6calc_firsthalf(20, 2, 1, index_, x, v, acc, jerk, pot, 0.01, h2);
  EXPECT(g6calc_lasthalf(20, 2, 1, index_, x, v, 0.01, h2, acc, jerk, pot) == 0);
  EXPECT(fabs(pot[0] + 10) < 1e-5);
  EXPECT(g6_close(20) == 0);
}

int main(void) {
  make_particles(5);
  if (g6_open(0) || g6_close(0)) return 1;
  pipes_are_known_before_opening();
  ids_need_no_opening_and_do_not_mix();
  floating_point_flags_are_the_clients();
  halves_may_be_repeated_or_missing();
  arrays_may_be_the_same();
  closed_and_opened_again_it_starts_empty();
  opened_twice_it_keeps_the_particles();
  neighbour_lists(0);
  neighbour_lists(1);
  errors_are_returned();
  printf("%d failures\n", failures);
  return failures > 0;
}
