/* A star cluster with the GRAPE-6 library: fourth-order Hermite integrator with block time steps.
 *
 *   cc -O2 hermite.c -o hermite $(pkg-config --cflags --libs g6) -lm        shared
 *   cc -O2 hermite.c -o hermite $(pkg-config --cflags --static --libs g6)   static, where only libg6.a is found
 *   ./hermite [number of stars] [end time]
 *
 * The library knows the stars as j-particles, each with the time of its last step, and predicts them to the present
 * time. The program predicts and corrects only the stars whose step ends now. hermite.f90 is the same program. */
#include <g6.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { cluster = 0, most = 4096 };

static const double eps2 = 1.0 / (64.0 * 64.0), eta = 0.01, longest_step = 1.0 / 16;

static int n;
static double m[most], x[most][3], v[most][3], a[most][3], j[most][3], snap[most][3], pot[most], t[most], dt[most];

/* Random numbers that the Fortran program makes as well: Park & Miller 1988. */
static double uniform(void) {
  static long long seed = 1;
  seed = seed * 16807 % 2147483647;
  return (double)seed / 2147483647.0;
}

static void random_direction(double length, double vector[3]) {
  double z = 2 * uniform() - 1, angle = 2 * M_PI * uniform();
  vector[0] = length * sqrt(1 - z * z) * cos(angle);
  vector[1] = length * sqrt(1 - z * z) * sin(angle);
  vector[2] = length * z;
}

/* A Plummer sphere in N-body units. Aarseth, Henon & Wielen 1974. */
static void make_plummer_sphere(void) {
  const double scale = 3 * M_PI / 16;
  for (int i = 0; i < n; i++) {
    double r, q, chance;
    do r = 1 / sqrt(pow(uniform(), -2.0 / 3.0) - 1);
    while (r > 10);
    do q = uniform(), chance = 0.1 * uniform();
    while (chance > q * q * pow(1 - q * q, 3.5));
    m[i] = 1.0 / n;
    random_direction(r * scale, x[i]);
    random_direction(q * sqrt(2.0) * pow(1 + r * r, -0.25) / sqrt(scale), v[i]);
  }
}

static double norm(const double vector[3]) {
  return sqrt(vector[0] * vector[0] + vector[1] * vector[1] + vector[2] * vector[2]);
}

/* Tells the library where star i is at its own time t[i], and how it moves. */
static void send(int i) {
  double a2[3], j6[3], k18[3];
  for (int k = 0; k < 3; k++) a2[k] = a[i][k] / 2, j6[k] = j[i][k] / 6, k18[k] = snap[i][k] / 18;
  if (g6_set_j_particle(cluster, i, i + 1, t[i], dt[i], m[i], k18, j6, a2, v[i], x[i])) exit(1);
}

/* Forces on `count` stars at the given positions, in blocks as large as the library takes. */
static void forces(int count, int index[], double xi[][3], double vi[][3], double acc[][3], double jerk[][3],
                   double potential[]) {
  static double h2[most];
  const int pipes = g6_npipes();
  for (int b = 0; b < count; b += pipes) {
    const int ni = count - b < pipes ? count - b : pipes;
    g6calc_firsthalf(cluster, n, ni, index + b, xi + b, vi + b, acc + b, jerk + b, potential + b, eps2, h2);
    if (g6calc_lasthalf(cluster, n, ni, index + b, xi + b, vi + b, eps2, h2, acc + b, jerk + b, potential + b)) exit(1);
  }
}

/* The longest step 2^-k that is not longer than wanted and that a block step at this time may have. */
static double block_step(double wanted, double time) {
  double step = longest_step;
  while (step > wanted || fmod(time, step) != 0) step /= 2;
  return step;
}

static double energy(void) {
  static int index[most];
  double e = 0;
  for (int i = 0; i < n; i++) index[i] = i + 1;
  g6_set_ti(cluster, t[0]);
  forces(n, index, x, v, a, j, pot);
  for (int i = 0; i < n; i++) e += 0.5 * m[i] * (norm(v[i]) * norm(v[i]) + pot[i]);
  return e;
}

/* Corrects star i with the force at its predicted place, and chooses its next step. Makino & Aarseth 1992. */
static void correct(int i, double time, const double acc[3], const double jerk[3]) {
  const double h = time - t[i];
  double crackle[3];
  for (int k = 0; k < 3; k++) {
    const double da = a[i][k] - acc[k], v0 = v[i][k];
    const double s0 = (-6 * da - h * (4 * j[i][k] + 2 * jerk[k])) / (h * h);
    crackle[k] = (12 * da + 6 * h * (j[i][k] + jerk[k])) / (h * h * h);
    snap[i][k] = s0 + h * crackle[k];
    v[i][k] = v0 + h / 2 * (a[i][k] + acc[k]) + h * h / 12 * (j[i][k] - jerk[k]);
    x[i][k] += h / 2 * (v0 + v[i][k]) + h * h / 12 * (a[i][k] - acc[k]);
    a[i][k] = acc[k];
    j[i][k] = jerk[k];
  }
  t[i] = time;
  dt[i] = block_step(sqrt(eta * (norm(acc) * norm(snap[i]) + norm(jerk) * norm(jerk)) /
                          (norm(jerk) * norm(crackle) + norm(snap[i]) * norm(snap[i]))),
                     time);
}

/* One block step: all stars whose step ends first. Returns the time that it reaches. */
static double step(void) {
  static int who[most], index[most];
  static double xp[most][3], vp[most][3], acc[most][3], jerk[most][3], potential[most];
  double time = t[0] + dt[0];
  int count = 0;
  for (int i = 1; i < n; i++) time = fmin(time, t[i] + dt[i]);
  for (int i = 0; i < n; i++) {
    if (t[i] + dt[i] != time) continue;
    const double h = time - t[i];
    for (int k = 0; k < 3; k++) {
      xp[count][k] = x[i][k] + h * (v[i][k] + h / 2 * (a[i][k] + h / 3 * j[i][k]));
      vp[count][k] = v[i][k] + h * (a[i][k] + h / 2 * j[i][k]);
    }
    who[count] = i;
    index[count++] = i + 1;
  }
  g6_set_ti(cluster, time);
  forces(count, index, xp, vp, acc, jerk, potential);
  for (int c = 0; c < count; c++) {
    correct(who[c], time, acc[c], jerk[c]);
    send(who[c]);
  }
  return time;
}

int main(int argc, char** argv) {
  n = argc > 1 ? atoi(argv[1]) : 256;
  const double end = argc > 2 ? atof(argv[2]) : 1.0;
  if (n < 2 || n > most) return fprintf(stderr, "hermite: expected 2 to %d stars\n", most), 2;
  if (g6_open(cluster)) return 1;
  make_plummer_sphere();
  for (int i = 0; i < n; i++) send(i);
  const double start_energy = energy();
  for (int i = 0; i < n; i++) dt[i] = block_step(0.1 * eta * norm(a[i]) / norm(j[i]), 0), send(i);
  long steps = 0;
  for (double time = 0; time < end; steps++) time = step();
  const double error = (energy() - start_energy) / fabs(start_energy);
  printf("%d stars, %ld block steps, energy %.6f, relative error %.2e\n", n, steps, start_energy, error);
  return g6_close(cluster);
}
