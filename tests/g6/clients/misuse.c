/* Calls that are wrong: what the library says, once and at the call that is wrong, and what it answers. */
#include <g6.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "naive.h"

static int index_[ni], nearest[ni], list[n];
static double x[ni][3], v[ni][3], acc[ni][3], jerk[ni][3], pot[ni], h2[ni];
static FILE* errors;

/* What has been written to stderr since the last call. */
static const char* said(void) {
  static char text[4096];
  fflush(stderr);
  rewind(errors);
  text[fread(text, 1, sizeof text - 1, errors)] = 0;
  rewind(errors);
  if (ftruncate(fileno(errors), 0)) exit(3);
  return text;
}
static int lines(const char* text) {
  int count = 0;
  for (; *text; text++) count += *text == '\n';
  return count;
}
/* One line that begins with the library and the function and holds a word. */
static void expect_said(const char* function, const char* word, int line) {
  const char* const text = said();
  char begin[80];
  snprintf(begin, sizeof begin, "pergola: %s: ", function);
  if (strncmp(text, begin, strlen(begin)) == 0 && strstr(text, word) && lines(text) == 1) return;
  printf("line %d: expected one line \"%s... %s\", found \"%s\"\n", line, begin, word, text);
  failures++;
}
#define EXPECT_SAID(function, word) expect_said(function, word, __LINE__)

static void send(int id) {
  for (int j = 0; j < n; j++) {
    Particle* p = particles + j;
    EXPECT(g6_set_j_particle(id, j, p->index, p->t, 0.1, p->m, p->k18, p->j6, p->a2, p->v, p->x) == 0);
  }
}
static void ask(int id, int nj) { g6calc_firsthalf(id, nj, ni, index_, x, v, acc, jerk, pot, 0.01, h2); }
static int answer(int id, int nj) {
  return g6calc_lasthalf2(id, nj, ni, index_, x, v, 0.01, h2, acc, jerk, pot, nearest);
}
static void forget(void) { memset(acc, 0, sizeof acc), memset(jerk, 0, sizeof jerk), memset(pot, 0, sizeof pot); }
static void expect_nan(int line) {
  for (int i = 0; i < ni; i++)
    if (!isnan(acc[i][0]) || !isnan(acc[i][2]) || !isnan(jerk[i][1]) || !isnan(pot[i]) || nearest[i] != -1) {
      printf("line %d: expected NaN, found %g %g %g\n", line, acc[i][0], jerk[i][1], pot[i]);
      failures++;
      return;
    }
}

/* Runs in a process of its own, whose exit code it returns. What it says is then in said(). */
static int in_child(void (*body)(void)) {
  int status = 0;
  fflush(NULL);
  const pid_t child = fork();
  if (child == 0) {
    body();
    _exit(0);
  }
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void open_on_no_device(void) {
  setenv("PERGOLA_DEVICE", "abacus", 1);
  g6_open(0);
}
static void use_on_no_device(void) {
  setenv("PERGOLA_DEVICE", "abacus", 1);
  g6_set_ti(3, 0);
}
static void open_with_a_wrong_setting(void) {
  setenv("PERGOLA_G6_PRECISION", "half", 1);
  g6_open(0);
}
static void open_with_a_wrong_failure(void) {
  setenv("PERGOLA_G6_FAILURE", "ignore", 1);
  g6_open(0);
}
static void a_cluster_that_cannot_be_opened_ends_the_program(void) {
  EXPECT(in_child(open_on_no_device) == 2);
  EXPECT_SAID("g6_open", "PERGOLA_DEVICE: expected auto, cpu, cuda or cuda:K, found \"abacus\"");
  EXPECT(in_child(use_on_no_device) == 2);
  EXPECT_SAID("g6_set_ti", "abacus");
  EXPECT(in_child(open_with_a_wrong_setting) == 2);
  EXPECT_SAID("g6_open", "PERGOLA_G6_PRECISION");
  EXPECT(in_child(open_with_a_wrong_failure) == 2);
  EXPECT_SAID("g6_open", "PERGOLA_G6_FAILURE");
}

static void go_on_without_a_device(void) {
  setenv("PERGOLA_DEVICE", "abacus", 1), setenv("PERGOLA_G6_FAILURE", "nan", 1);
  EXPECT(g6_open(5) != 0);
  for (int step = 0; step < 1000; step++) {
    EXPECT(g6_set_j_particle(5, 0, 0, 0, 0, 1, x[0], x[0], x[0], x[0], x[0]) != 0);
    forget();
    ask(5, 1);
    EXPECT(answer(5, 1) != 0);
    expect_nan(__LINE__);
  }
  fflush(stdout);
  if (failures) _exit(1);
}
static void or_answers_nan_and_says_so_once(void) {
  EXPECT(in_child(go_on_without_a_device) == 0);
  EXPECT_SAID("g6_open", "abacus");
}

static const char* trace_of(int rank) {
  static char path[80];
  snprintf(path, sizeof path, "misuse_%d.g6%s", (int)getpid(), rank < 0 ? "" : rank ? ".1" : ".0");
  return path;
}
static void record(void) {
  g6_open(0);
  g6_close(0);
}
static void each_rank_writes_a_trace_of_its_own(void) {
  setenv("PERGOLA_G6_TRACE", trace_of(-1), 1);
  setenv("OMPI_COMM_WORLD_SIZE", "2", 1);
  setenv("OMPI_COMM_WORLD_RANK", "0", 1);
  EXPECT(in_child(record) == 0);
  setenv("OMPI_COMM_WORLD_RANK", "1", 1);
  EXPECT(in_child(record) == 0);
  EXPECT(access(trace_of(-1), F_OK) != 0);
  for (int rank = 0; rank < 2; rank++) EXPECT(access(trace_of(rank), R_OK) == 0 && unlink(trace_of(rank)) == 0);
  unsetenv("PERGOLA_G6_TRACE"), unsetenv("OMPI_COMM_WORLD_SIZE"), unsetenv("OMPI_COMM_WORLD_RANK");
}

/* A file that cannot be made, and one on a full disk. */
static void a_trace_that_cannot_be_written_is_said_once(void) {
  setenv("PERGOLA_G6_TRACE", "no_such_folder/run.g6", 1);
  EXPECT(in_child(record) == 0);
  EXPECT_SAID("PERGOLA_G6_TRACE",
              "no_such_folder/run.g6 cannot be written (No such file or directory): the program goes on");
  setenv("PERGOLA_G6_TRACE", "/dev/full", 1);
  EXPECT(in_child(record) == 0);
  EXPECT_SAID("PERGOLA_G6_TRACE", "/dev/full cannot be written (No space left on device): the program goes on");
  unsetenv("PERGOLA_G6_TRACE");
}

static void ids_below_zero(void) {
  EXPECT(g6_open(-1) != 0);
  EXPECT_SAID("g6_open", "-1");
  EXPECT(g6_set_ti(-2, 0) != 0);
  EXPECT_SAID("g6_set_ti", "-2");
  ask(-3, n);
  EXPECT_SAID("g6calc_firsthalf", "-3");
  EXPECT(answer(-3, n) != 0);
  expect_nan(__LINE__);
  EXPECT(g6_close(-4) != 0);
  EXPECT_SAID("g6_close", "-4");
}

static void use_after_close(void) {
  EXPECT(g6_open(2) == 0);
  send(2);
  EXPECT(g6_close(2) == 0);
  ask(2, n);
  EXPECT_SAID("g6calc_firsthalf", "closed");
  forget();
  EXPECT(answer(2, n) != 0);
  expect_nan(__LINE__);
  EXPECT(g6_set_ti(2, 0) != 0 && lines(said()) == 0); /* said once */
  EXPECT(g6_open(2) == 0);
  send(2);
  ask(2, n);
  EXPECT(answer(2, n) == 0 && g6_close(2) == 0);
}

static void arrays_that_are_null(void) {
  int length = -1;
  EXPECT(g6_open(1) == 0);
  EXPECT(g6_set_j_particle(1, 0, 7, 0, 0, 1, NULL, NULL, NULL, NULL, NULL) != 0);
  EXPECT_SAID("g6_set_j_particle", "x: expected an array, found NULL");
  send(1);
  g6calc_firsthalf(1, n, ni, index_, NULL, v, acc, jerk, pot, 0.01, h2);
  EXPECT_SAID("g6calc_firsthalf", "positions");
  EXPECT(answer(1, n) != 0);
  ask(1, n);
  EXPECT(g6calc_lasthalf(1, n, ni, index_, x, v, 0.01, h2, NULL, jerk, pot) != 0);
  EXPECT_SAID("g6calc_lasthalf", "acc: expected an array, found NULL");
  EXPECT(answer(1, n) == 0);
  EXPECT(g6_get_neighbour_list(1, 0, n, NULL, list) != 0);
  EXPECT_SAID("g6_get_neighbour_list", "n: expected an array, found NULL");
  EXPECT(g6_get_neighbour_list(1, 0, n, &length, NULL) != 0);
  EXPECT_SAID("g6_get_neighbour_list", "list: expected an array, found NULL");
}

static void numbers_that_are_none(void) {
  double place[3] = {0, NAN, 0}, fast[3] = {0, 0, INFINITY};
  EXPECT(g6_set_j_particle(1, 0, 77, 0, 0, 1, NULL, NULL, NULL, NULL, place) != 0);
  EXPECT_SAID("g6_set_j_particle", "x of the particle with index 77");
  EXPECT(g6_set_j_particle(1, 0, 78, 0, 0, 1, NULL, NULL, NULL, fast, x[0]) != 0);
  EXPECT_SAID("g6_set_j_particle", "v of the particle with index 78");
  EXPECT(g6_set_j_particle(1, 0, 79, 0, 0, NAN, NULL, NULL, NULL, NULL, x[0]) != 0);
  EXPECT_SAID("g6_set_j_particle", "mass of the particle with index 79");
  EXPECT(g6_set_ti(1, NAN) != 0);
  EXPECT_SAID("g6_set_ti", "ti");
  const double kept = x[5][2];
  x[5][2] = NAN, index_[5] = 4321;
  ask(1, n);
  EXPECT_SAID("g6calc_firsthalf", "index 4321");
  forget();
  EXPECT(answer(1, n) != 0);
  expect_nan(__LINE__);
  x[5][2] = kept, index_[5] = particles[5].index;
  ask(1, n);
  EXPECT(answer(1, n) == 0);
  EXPECT(lines(said()) == 0);
}

static void more_sources_than_were_sent(void) {
  ask(1, n + 1);
  EXPECT_SAID("g6calc_firsthalf", "nj");
  forget();
  EXPECT(answer(1, n + 1) != 0);
  expect_nan(__LINE__);
  ask(1, n);
  EXPECT(answer(1, n) == 0);
  expect_close(ni, n, 0, index_, x, v, 0.01, acc, jerk, pot, __LINE__);
}

int main(void) {
  errors = tmpfile();
  if (!errors || dup2(fileno(errors), STDERR_FILENO) < 0) return 1;
  make_particles(3);
  for (int i = 0; i < ni; i++) {
    index_[i] = particles[i].index;
    for (int k = 0; k < 3; k++) x[i][k] = particles[i].x[k] + 0.01, v[i][k] = particles[i].v[k];
  }
  /* first what needs processes of its own: the threads of the library do not follow a fork */
  a_cluster_that_cannot_be_opened_ends_the_program();
  or_answers_nan_and_says_so_once();
  each_rank_writes_a_trace_of_its_own();
  a_trace_that_cannot_be_written_is_said_once();
  ids_below_zero();
  use_after_close();
  arrays_that_are_null();
  numbers_that_are_none();
  more_sources_than_were_sent();
  printf("%d failures\n", failures);
  return failures > 0;
}
