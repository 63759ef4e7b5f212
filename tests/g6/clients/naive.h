/* Particles, and what the interface promises for them, in double precision and as simply as can be. C and C++. */
#ifndef TESTS_G6_CLIENTS_NAIVE_H
#define TESTS_G6_CLIENTS_NAIVE_H
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { n = 300, ni = 40 };

typedef struct {
  int index;
  double t, m, x[3], v[3], a2[3], j6[3], k18[3];
} Particle;

static Particle particles[n];
static int failures = 0;

static double uniform(void) {
  static long long seed = 12345;
  seed = seed * 16807 % 2147483647;
  return (double)seed / 2147483647.0;
}

static void make_particles(int first_index) {
  for (int j = 0; j < n; j++) {
    Particle* p = particles + j;
    p->index = first_index + 3 * j;
    p->t = -0.25 * uniform();
    p->m = 1.0 / (int)n;
    for (int k = 0; k < 3; k++) {
      p->x[k] = uniform();
      p->v[k] = uniform() - 0.5;
      p->a2[k] = uniform() - 0.5;
      p->j6[k] = uniform() - 0.5;
      p->k18[k] = uniform() - 0.5;
    }
  }
}

typedef struct {
  double a[3], j[3], pot, a_size, j_size, nearest2;
  int nearest, neighbours;
} Answer;

/* The force at time ti on particle i at x, v. */
static Answer naive(int nj, double ti, int index, const double x[3], const double v[3], double eps2, double h2) {
  Answer f = {{0, 0, 0}, {0, 0, 0}, 0, 0, 0, 1e300, -1, 0};
  for (int j = 0; j < nj; j++) {
    const Particle* p = particles + j;
    const double dt = ti - p->t;
    double d[3], w[3], r2 = 0, dw = 0;
    if (p->index == index) continue;
    for (int k = 0; k < 3; k++) {
      d[k] = p->x[k] + p->v[k] * dt + p->a2[k] * dt * dt + p->j6[k] * dt * dt * dt +
             0.75 * p->k18[k] * dt * dt * dt * dt - x[k];
      w[k] = p->v[k] + 2 * p->a2[k] * dt + 3 * p->j6[k] * dt * dt + 3 * p->k18[k] * dt * dt * dt - v[k];
      r2 += d[k] * d[k];
      dw += d[k] * w[k];
    }
    if (r2 < h2) f.neighbours++;
    if (r2 < f.nearest2) f.nearest2 = r2, f.nearest = p->index;
    const double s2 = r2 + eps2, s = sqrt(s2), s3 = s * s2;
    for (int k = 0; k < 3; k++) {
      f.a[k] += p->m * d[k] / s3;
      f.j[k] += p->m * (w[k] / s3 - 3 * dw * d[k] / (s3 * s2));
    }
    f.pot -= p->m / s;
    f.a_size += p->m * sqrt(r2) / s3;
    f.j_size += 4 * p->m * sqrt(w[0] * w[0] + w[1] * w[1] + w[2] * w[2]) / s3;
  }
  return f;
}

static void expect(int truth, const char* what, int line) {
  if (truth) return;
  printf("line %d: %s\n", line, what);
  failures++;
}
#define EXPECT(truth) expect(truth, #truth, __LINE__)

/* fp32 terms: a few 2^-24 of the sum of the terms' magnitudes. */
static void expect_close(int count, int nj, double ti, int index[], double x[][3], double v[][3], double eps2,
                         double acc[][3], double jerk[][3], double pot[], int line) {
  for (int i = 0; i < count; i++) {
    const Answer f = naive(nj, ti, index[i], x[i], v[i], eps2, 0);
    for (int k = 0; k < 3; k++) {
      expect(fabs(acc[i][k] - f.a[k]) <= 1e-6 * f.a_size, "acceleration", line);
      expect(fabs(jerk[i][k] - f.j[k]) <= 1e-6 * f.j_size, "jerk", line);
    }
    expect(fabs(pot[i] - f.pot) <= -1e-6 * f.pot, "potential", line);
  }
}

#endif
