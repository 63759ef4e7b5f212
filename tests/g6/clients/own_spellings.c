/* A program that defines C spellings itself, on top of the Fortran ones, as clients do. The library must not call them,
 * and must not get into their way. */
#include <g6.h>

#include "naive.h"

static int own_calls = 0, depth = 0;

int g6_open(int id) {
  int status;
  own_calls++;
  if (++depth > 1) exit(3); /* the library came back to us */
  status = g6_open_(&id);
  depth--;
  return status;
}
int g6_npipes(void) {
  own_calls++;
  if (++depth > 1) exit(3);
  const int pipes = g6_npipes_();
  depth--;
  return pipes;
}
int g6_set_ti(int id, double ti) {
  own_calls++;
  if (++depth > 1) exit(3);
  const int status = g6_set_ti_(&id, &ti);
  depth--;
  return status;
}
void g6calc_firsthalf(int id, int nj, int count, int index[], double xi[][3], double vi[][3], double aold[][3],
                      double j6old[][3], double phiold[], double eps2, double h2[]) {
  own_calls++;
  if (++depth > 1) exit(3);
  g6calc_firsthalf_(&id, &nj, &count, index, xi, vi, aold, j6old, phiold, &eps2, h2);
  depth--;
}
int g6calc_lasthalf(int id, int nj, int count, int index[], double xi[][3], double vi[][3], double eps2, double h2[],
                    double acc[][3], double jerk[][3], double pot[]) {
  own_calls++;
  if (++depth > 1) exit(3);
  const int status = g6calc_lasthalf_(&id, &nj, &count, index, xi, vi, &eps2, h2, acc, jerk, pot);
  depth--;
  return status;
}
#ifdef ALL_THAT_IS_USED
int g6_set_j_particle(int id, int address, int index, double tj, double dtj, double mass, double k18[3], double j6[3],
                      double a2[3], double v[3], double x[3]) {
  own_calls++;
  return g6_set_j_particle_(&id, &address, &index, &tj, &dtj, &mass, k18, j6, a2, v, x);
}
int g6_close(int id) {
  own_calls++;
  return g6_close_(&id);
}
#endif

int main(void) {
  static int index[ni];
  static double x[ni][3], v[ni][3], acc[ni][3], jerk[ni][3], pot[ni], h2[ni];
  make_particles(1);
  EXPECT(g6_npipes() > 0 && g6_open(0) == 0);
  for (int j = 0; j < n; j++) {
    Particle* p = particles + j;
    EXPECT(g6_set_j_particle(0, j, p->index, p->t, 0.1, p->m, p->k18, p->j6, p->a2, p->v, p->x) == 0);
  }
  for (int i = 0; i < ni; i++) {
    index[i] = particles[i].index;
    for (int k = 0; k < 3; k++) x[i][k] = particles[i].x[k], v[i][k] = particles[i].v[k];
  }
  EXPECT(g6_set_ti(0, 0.5) == 0);
  g6calc_firsthalf(0, n, ni, index, x, v, acc, jerk, pot, 0.01, h2);
  EXPECT(g6calc_lasthalf(0, n, ni, index, x, v, 0.01, h2, acc, jerk, pot) == 0);
  expect_close(ni, n, 0.5, index, x, v, 0.01, acc, jerk, pot, __LINE__);
  EXPECT(g6_close(0) == 0);
  EXPECT(own_calls >= 5);
  printf("%d failures\n", failures);
  return failures > 0;
}
