/* Opens and closes again and again, and looks whether memory grows.  open_close CYCLES CYCLES_WITH_WORK */
#include <g6.h>
#include <unistd.h>

#include "naive.h"

static long resident_kib(void) {
  long pages = 0, total = 0;
  FILE* file = fopen("/proc/self/statm", "r");
  if (!file || fscanf(file, "%ld %ld", &total, &pages) != 2) exit(2);
  fclose(file);
  return pages * (sysconf(_SC_PAGESIZE) / 1024);
}

static void cycle(int with_work) {
  static int index[ni];
  static double x[ni][3], v[ni][3], acc[ni][3], jerk[ni][3], pot[ni], h2[ni];
  if (g6_open(0)) exit(1);
  for (int j = 0; with_work && j < n; j++) {
    Particle* p = particles + j;
    if (g6_set_j_particle(0, j, p->index, p->t, 0.1, p->m, p->k18, p->j6, p->a2, p->v, p->x)) exit(1);
  }
  if (with_work) {
    for (int i = 0; i < ni; i++) index[i] = particles[i].index, h2[i] = 0.01;
    g6calc_firsthalf(0, n, ni, index, x, v, acc, jerk, pot, 0.01, h2);
    if (g6calc_lasthalf(0, n, ni, index, x, v, 0.01, h2, acc, jerk, pot) || g6_read_neighbour_list(0)) exit(1);
  }
  if (g6_close(0)) exit(1);
}

int main(int argc, char** argv) {
  const int cycles = argc > 1 ? atoi(argv[1]) : 100000, with_work = argc > 2 ? atoi(argv[2]) : 2000;
  make_particles(0);
  for (int k = 0; k < 200; k++) cycle(1);
  const long before = resident_kib();
  for (int k = 0; k < with_work; k++) cycle(1);
  for (int k = 0; k < cycles; k++) cycle(0);
  const long grown = resident_kib() - before;
  printf("%d cycles, %d of them with work: memory grew by %ld KiB\n", cycles + with_work, with_work, grown);
  return grown > 1024;
}
