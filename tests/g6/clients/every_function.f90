! Every Fortran spelling, from Fortran; results against a naive sum in double precision.
program every_function
  implicit none
  integer, parameter :: n = 200, ni = 30
  integer, external :: g6_open, g6_close, g6_reinitialize, g6_reset, g6_reset_fofpga, g6_npipes, &
      g6_get_number_of_pipelines, g6_set_tunit, g6_set_xunit, g6_set_ti, g6_set_j_particle, g6_setup_njdata, &
      g6_initialize_jp_buffer, g6_flush_jp_buffer, get_j_part_data, g6calc_lasthalf, g6calc_lasthalf2, &
      g6calc_lasthalf2p, g6calc_lasthalfn, g6calc_lasthalf2n, g6calc_lasthalf2np, g6_read_neighbour_list, &
      g6_read_neighbour_list_old, g6_get_neighbour_list, g6_get_neighbour_list_sort_mode, &
      g6_set_overflow_flag_test_mode
  external :: g6calc_firsthalf, force_j_particle_send, g6_set_neighbour_list_sort_mode
  integer :: id = 2, failures = 0, index(n), nearest(ni), list(n), length, i, k
  real(8) :: t(n), m(n), x(3, n), v(3, n), a2(3, n), j6(3, n), k18(3, n), h2(ni), seen(3, 6)
  real(8) :: acc(3, ni), jerk(3, ni), pot(ni), eps2 = 0.001d0, ti = 0.25d0
  real(4) :: distance(ni)
  integer(8) :: seed = 99

  do i = 1, n
    index(i) = 2 * i + 16777216
    t(i) = -0.1d0 * uniform()
    m(i) = 1d0 / n
    do k = 1, 3
      x(k, i) = uniform(); v(k, i) = uniform() - 0.5d0; a2(k, i) = uniform() - 0.5d0
      j6(k, i) = uniform() - 0.5d0; k18(k, i) = uniform() - 0.5d0
    end do
  end do
  h2 = 0.05d0

  call expect(g6_npipes() > 0 .and. g6_get_number_of_pipelines() == g6_npipes(), 'pipes')
  call expect(g6_open(id) == 0, 'open')
  call expect(g6_reset(id) == 0 .and. g6_reset_fofpga(id) == 0 .and. g6_reinitialize(id) == 0, 'reset')
  call expect(g6_set_tunit(51) == 0 .and. g6_set_xunit(51) == 0, 'units')
  call expect(g6_setup_njdata(id, n) == 0 .and. g6_initialize_jp_buffer(id, n) == 0, 'buffers')
  do i = 1, n
    call expect(g6_set_j_particle(id, i - 1, index(i), t(i), 0.1d0, m(i), k18(1, i), j6(1, i), a2(1, i), v(1, i), &
                                  x(1, i)) == 0, 'set_j_particle')
  end do
  call expect(g6_flush_jp_buffer(id) == 0, 'flush')
  call force_j_particle_send()
  call expect(g6_set_ti(id, ti) == 0, 'set_ti')
  call expect(g6_set_overflow_flag_test_mode(0, 0, 0) == 0, 'test mode')

  call start()
  call expect(g6calc_lasthalf(id, n, ni, index, x, v, eps2, h2, acc, jerk, pot) == 0, 'lasthalf')
  call check('lasthalf')
  call start()
  call expect(g6calc_lasthalf2(id, n, ni, index, x, v, eps2, h2, acc, jerk, pot, nearest) == 0, 'lasthalf2')
  call check('lasthalf2')
  call start()
  call expect(g6calc_lasthalf2p(id, n, ni, index, x, v, eps2, h2, acc, jerk, pot, nearest, distance) == 0, 'lasthalf2p')
  call check('lasthalf2p')
  call start()
  call expect(g6calc_lasthalfn(id, n, ni, index, x, v, eps2, h2, acc, jerk, pot) == 0, 'lasthalfn')
  call check('lasthalfn')
  call start()
  call expect(g6calc_lasthalf2n(id, n, ni, index, x, v, eps2, h2, acc, jerk, pot, nearest) == 0, 'lasthalf2n')
  call check('lasthalf2n')
  call start()
  call expect(g6calc_lasthalf2np(id, n, ni, index, x, v, eps2, h2, acc, jerk, pot, nearest, distance) == 0, 'lasthalf2np')
  call check('lasthalf2np')
  call check_neighbours()

  call g6_set_neighbour_list_sort_mode(1)
  call expect(g6_get_neighbour_list_sort_mode() == 1, 'sort mode')
  call g6_set_neighbour_list_sort_mode(0)
  call expect(get_j_part_data(4, n, seen(1, 1), seen(1, 2), seen(1, 3), seen(1, 4), seen(1, 5), seen(1, 6)) == 0, 'j data')
  call expect(all(seen(:, 1) == x(:, 5)), 'j data')
  call expect(g6_close(id) == 0, 'close')
  print '(i0, a)', failures, ' failures'
  if (failures > 0) error stop 1

contains

  real(8) function uniform()
    seed = mod(seed * 16807_8, 2147483647_8)
    uniform = real(seed, 8) / 2147483647d0
  end function

  subroutine expect(truth, what)
    logical, intent(in) :: truth
    character(*), intent(in) :: what
    if (truth) return
    print '(2a)', 'wrong: ', what
    failures = failures + 1
  end subroutine

  subroutine start()
    acc = 0; jerk = 0; pot = 0
    call g6calc_firsthalf(id, n, ni, index, x, v, acc, jerk, pot, eps2, h2)
  end subroutine

  ! Place and velocity of particle j at ti, relative to where i asks.
  subroutine relative(i, j, d, w)
    integer, intent(in) :: i, j
    real(8), intent(out) :: d(3), w(3)
    real(8) :: dt
    dt = ti - t(j)
    d = x(:, j) + v(:, j) * dt + a2(:, j) * dt**2 + j6(:, j) * dt**3 + 0.75d0 * k18(:, j) * dt**4 - x(:, i)
    w = v(:, j) + 2 * a2(:, j) * dt + 3 * j6(:, j) * dt**2 + 3 * k18(:, j) * dt**3 - v(:, i)
  end subroutine

  subroutine check(what)
    character(*), intent(in) :: what
    real(8) :: d(3), w(3), s, a(3), jk(3), p, size
    integer :: i, j
    do i = 1, ni
      a = 0; jk = 0; p = 0; size = 0
      do j = 1, n
        if (j == i) cycle
        call relative(i, j, d, w)
        s = sqrt(dot_product(d, d) + eps2)
        a = a + m(j) * d / s**3
        jk = jk + m(j) * (w / s**3 - 3 * dot_product(d, w) * d / s**5)
        p = p - m(j) / s
        size = size + m(j) / s**2 * (1 + 4 * norm2(w) / s)
      end do
      call expect(all(abs(acc(:, i) - a) <= 1d-6 * size), what // ': acceleration')
      call expect(all(abs(jerk(:, i) - jk) <= 1d-6 * size), what // ': jerk')
      call expect(abs(pot(i) - p) <= -1d-6 * p, what // ': potential')
    end do
  end subroutine

  subroutine check_neighbours()
    real(8) :: d(3), w(3), r2, least
    integer :: i, j, closest, within
    call expect(g6_read_neighbour_list(id) == 0 .and. g6_read_neighbour_list_old(id) == 0, 'read lists')
    do i = 1, ni
      least = huge(1d0); closest = -1; within = 0
      do j = 1, n
        if (j == i) cycle
        call relative(i, j, d, w)
        r2 = dot_product(d, d)
        if (r2 < h2(i)) within = within + 1
        if (r2 >= least) cycle
        least = r2
        closest = index(j)
      end do
      call expect(nearest(i) == closest, 'nearest')
      call expect(abs(distance(i) - sqrt(least)) < 1e-5, 'distance')
      call expect(g6_get_neighbour_list(id, i - 1, n, length, list) == 0 .and. length == within, 'list')
    end do
  end subroutine

end program
