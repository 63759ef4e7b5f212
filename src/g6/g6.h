/* The GRAPE-6 library interface, served by Pergola on a CPU or a GPU.
 *
 * Every function has two spellings: name() for C, with scalars by value, and name_() for Fortran, with every argument
 * by reference. A program may define the C spellings itself, on top of the others. Functions return 0, or not 0 after
 * one line on stderr that says what was wrong; answers are then NaN. A cluster that cannot be opened ends the program.
 * Units are the program's own, with G = 1.
 *
 * The environment: PERGOLA_DEVICE (auto, cpu, cuda, cuda:K), PERGOLA_THREADS, PERGOLA_G6_PIPES (48),
 * PERGOLA_G6_PRECISION (mixed, double), PERGOLA_G6_SELF_NEIGHBOUR (0, 1; unset: 1 with more than 48 pipes),
 * PERGOLA_G6_FAILURE (exit, nan), PERGOLA_G6_TRACE (a file).
 */
#ifndef PERGOLA_G6_H
#define PERGOLA_G6_H

#ifdef __cplusplus
extern "C" {
#endif

/* ---- opening and closing.  An id, from 0, that is used and was never opened is opened; one that was closed is not.
 * Opening an id that is open keeps its particles. */
int g6_open(int id);
int g6_open_(int* id); /* NULL: 0 */
int g6_close(int id);
int g6_close_(int* id);
/* The ids use these CUDA devices in turn, where PERGOLA_DEVICE names none. Opens id 0. */
int g6_open_special(int ndev, int* list);
int g6_reinitialize(int id);
int g6_reinitialize_(int* id);
int g6_reset(int id);
int g6_reset_(int* id);
int g6_reset_fofpga(int id);
int g6_reset_fofpga_(int* id);

/* ---- how many i-particles a block should have at most; may be asked before g6_open */
int g6_npipes(void);
int g6_npipes_(void);
int g6_get_number_of_pipelines(void);
int g6_get_number_of_pipelines_(void);

/* ---- scales of GRAPE-6's fixed-point numbers: not needed, not read */
int g6_set_tunit(double unit);
int g6_set_tunit_(const void* unit);
int g6_set_xunit(double unit);
int g6_set_xunit_(const void* unit);

/* ---- j-particles: the particles that act.  Predicted to ti with dt = ti - tj:
 *   x + v dt + a2 dt^2 + j6 dt^3 + 3/4 k18 dt^4,   v + 2 a2 dt + 3 j6 dt^2 + 3 k18 dt^3
 * address: a slot, from 0.  index: the particle's name, any int.  All of k18, j6, a2 and v may be NULL: zero. */
int g6_set_ti(int id, double ti);
int g6_set_ti_(int* id, double* ti);
int g6_set_j_particle(int id, int address, int index, double tj, double dtj, double mass, double k18[3], double j6[3],
                      double a2[3], double v[3], double x[3]);
int g6_set_j_particle_(int* id, int* address, int* index, double* tj, double* dtj, double* mass, double k18[3],
                       double j6[3], double a2[3], double v[3], double x[3]);
int g6_setup_njdata(int id, int nj);
int g6_setup_njdata_(int* id, int* nj);
int g6_initialize_jp_buffer(int id, int size);
int g6_initialize_jp_buffer_(int* id, int* size);
int g6_flush_jp_buffer(int id);
int g6_flush_jp_buffer_(int* id);
void force_j_particle_send(void);
void force_j_particle_send_(void);
/* Looks at the j-particle of an address of the id that was used last; any of the arrays may be NULL. */
int get_j_part_data(int address, int nj, double* pos, double* vel, double* acc, double* jerk, double* predicted_pos,
                    double* predicted_vel);
int get_j_part_data_(int* address, int* nj, double* pos, double* vel, double* acc, double* jerk, double* predicted_pos,
                     double* predicted_vel);

/* ---- forces of the j-particles 0 ... nj - 1, which have been set, on a block of ni i-particles.  firsthalf starts,
 * lasthalf waits. acc = sum m r / (r^2 + eps2)^(3/2),  jerk = its time derivative,  pot = - sum m / sqrt(r^2 + eps2) A
 * j-particle with the index of the i-particle does not act on it. aold, j6old, phiold are not read; vi and h2 may be
 * NULL: zero. The arrays of lasthalf may be those of firsthalf. */
void g6calc_firsthalf(int id, int nj, int ni, int index[], double xi[][3], double vi[][3], double aold[][3],
                      double j6old[][3], double phiold[], double eps2, double h2[]);
void g6calc_firsthalf_(int* id, int* nj, int* ni, int index[], double xi[][3], double vi[][3], double aold[][3],
                       double j6old[][3], double phiold[], double* eps2, double h2[]);
int g6calc_lasthalf(int id, int nj, int ni, int index[], double xi[][3], double vi[][3], double eps2, double h2[],
                    double acc[][3], double jerk[][3], double pot[]);
int g6calc_lasthalf_(int* id, int* nj, int* ni, int index[], double xi[][3], double vi[][3], double* eps2, double h2[],
                     double acc[][3], double jerk[][3], double pot[]);
/* ... and the index of the nearest other particle, by its distance without softening; -1 where there is none */
int g6calc_lasthalf2(int id, int nj, int ni, int index[], double xi[][3], double vi[][3], double eps2, double h2[],
                     double acc[][3], double jerk[][3], double pot[], int nnbindex[]);
int g6calc_lasthalf2_(int* id, int* nj, int* ni, int index[], double xi[][3], double vi[][3], double* eps2, double h2[],
                      double acc[][3], double jerk[][3], double pot[], int nnbindex[]);
/* ... and its distance */
int g6calc_lasthalf2p(int id, int nj, int ni, int index[], double xi[][3], double vi[][3], double eps2, double h2[],
                      double acc[][3], double jerk[][3], double pot[], int nnbindex[], float rnnb[]);
int g6calc_lasthalf2p_(int* id, int* nj, int* ni, int index[], double xi[][3], double vi[][3], double* eps2,
                       double h2[], double acc[][3], double jerk[][3], double pot[], int nnbindex[], float rnnb[]);
/* The same three for programs that read neighbour lists afterwards; any of the functions above serves as well. */
int g6calc_lasthalfn(int id, int nj, int ni, int index[], double xi[][3], double vi[][3], double eps2, double h2[],
                     double acc[][3], double jerk[][3], double pot[]);
int g6calc_lasthalfn_(int* id, int* nj, int* ni, int index[], double xi[][3], double vi[][3], double* eps2, double h2[],
                      double acc[][3], double jerk[][3], double pot[]);
int g6calc_lasthalf2n(int id, int nj, int ni, int index[], double xi[][3], double vi[][3], double eps2, double h2[],
                      double acc[][3], double jerk[][3], double pot[], int nnbindex[]);
int g6calc_lasthalf2n_(int* id, int* nj, int* ni, int index[], double xi[][3], double vi[][3], double* eps2,
                       double h2[], double acc[][3], double jerk[][3], double pot[], int nnbindex[]);
int g6calc_lasthalf2np(int id, int nj, int ni, int index[], double xi[][3], double vi[][3], double eps2, double h2[],
                       double acc[][3], double jerk[][3], double pot[], int nnbindex[], float rnnb[]);
int g6calc_lasthalf2np_(int* id, int* nj, int* ni, int index[], double xi[][3], double vi[][3], double* eps2,
                        double h2[], double acc[][3], double jerk[][3], double pot[], int nnbindex[], float rnnb[]);

/* ---- neighbour lists of the last block: the particles with r^2 < h2[i], by index.
 * read: 0, > 0 when the lists are too long for memory (make h2 smaller and repeat), < 0 after an error.
 * get: not 0 when there are more than maxlength; *n is their number all the same. ipipe: place in the block, from 0. */
int g6_read_neighbour_list(int id);
int g6_read_neighbour_list_(int* id);
int g6_read_neighbour_list_old(int id);
int g6_read_neighbour_list_old_(int* id);
int g6_get_neighbour_list(int id, int ipipe, int maxlength, int* n, int list[]);
int g6_get_neighbour_list_(int* id, int* ipipe, int* maxlength, int* n, int list[]);
/* 0: in the order of the addresses; otherwise by rising index */
void g6_set_neighbour_list_sort_mode(int mode);
void g6_set_neighbour_list_sort_mode_(int* mode);
int g6_get_neighbour_list_sort_mode(void);
int g6_get_neighbour_list_sort_mode_(void);
/* A test of the hardware: not needed, not read */
int g6_set_overflow_flag_test_mode(int aflag, int jflag, int pflag);
int g6_set_overflow_flag_test_mode_(const void* aflag, const void* jflag, const void* pflag);

#ifdef __cplusplus
}
#endif
#endif
