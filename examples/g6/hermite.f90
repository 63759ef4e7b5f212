! A star cluster with the GRAPE-6 library: fourth-order Hermite integrator with block time steps. The same program as hermite.c.
!
!   gfortran -O2 hermite.f90 -o hermite $(pkg-config --libs g6)            shared
!   gfortran -O2 hermite.f90 -o hermite $(pkg-config --static --libs g6)   static, where only libg6.a is found
!   ./hermite [number of stars] [end time]
program hermite
  implicit none
  integer, parameter :: real8 = kind(1d0), cluster = 0, most = 4096
  real(real8), parameter :: eps2 = 1d0 / 64d0**2, eta = 0.01d0, longest_step = 1d0 / 16, pi = acos(-1d0)
  integer, external :: g6_open, g6_close, g6_npipes, g6_set_j_particle, g6_set_ti, g6calc_lasthalf
  external :: g6calc_firsthalf

  integer :: n, i, status, steps
  integer(8) :: seed = 1
  real(real8) :: m(most), x(3, most), v(3, most), a(3, most), j(3, most), snap(3, most), pot(most), t(most), dt(most)
  real(real8) :: end_time, time, start_energy, error
  character(32) :: argument

  n = 256
  end_time = 1
  if (command_argument_count() >= 1) then
    call get_command_argument(1, argument)
    read (argument, *) n
  end if
  if (command_argument_count() >= 2) then
    call get_command_argument(2, argument)
    read (argument, *) end_time
  end if
  if (n < 2 .or. n > most) error stop 'hermite: expected 2 to 4096 stars'
  if (g6_open(cluster) /= 0) error stop 1
  m = 0; x = 0; v = 0; a = 0; j = 0; snap = 0; t = 0; dt = 0
  call make_plummer_sphere()
  do i = 1, n
    call send(i)
  end do
  start_energy = energy()
  do i = 1, n
    dt(i) = block_step(0.1d0 * eta * norm2(a(:, i)) / norm2(j(:, i)), 0d0)
    call send(i)
  end do
  time = 0
  steps = 0
  do while (time < end_time)
    time = step()
    steps = steps + 1
  end do
  error = (energy() - start_energy) / abs(start_energy)
  write (*, '(i0, a, i0, a, f9.6, a, es9.2)') n, ' stars, ', steps, ' block steps, energy', start_energy, &
      ', relative error ', error
  status = g6_close(cluster)

contains

  ! Random numbers that the C program makes as well: Park & Miller 1988.
  real(real8) function uniform()
    seed = mod(seed * 16807_8, 2147483647_8)
    uniform = real(seed, real8) / 2147483647d0
  end function

  function random_direction(length) result(vector)
    real(real8), intent(in) :: length
    real(real8) :: vector(3), z, angle
    z = 2 * uniform() - 1
    angle = 2 * pi * uniform()
    vector = length * [sqrt(1 - z * z) * cos(angle), sqrt(1 - z * z) * sin(angle), z]
  end function

  ! A Plummer sphere in N-body units. Aarseth, Henon & Wielen 1974.
  subroutine make_plummer_sphere()
    real(real8), parameter :: scale = 3 * pi / 16
    real(real8) :: r, q, chance
    integer :: star
    do star = 1, n
      do
        r = 1 / sqrt(uniform()**(-2d0 / 3d0) - 1)
        if (r <= 10) exit
      end do
      do
        q = uniform()
        chance = 0.1d0 * uniform()
        if (chance <= q * q * (1 - q * q)**3.5d0) exit
      end do
      m(star) = 1d0 / n
      x(:, star) = random_direction(r * scale)
      v(:, star) = random_direction(q * sqrt(2d0) * (1 + r * r)**(-0.25d0) / sqrt(scale))
    end do
  end subroutine

  ! Tells the library where a star is at its own time, and how it moves.
  subroutine send(star)
    integer, intent(in) :: star
    if (g6_set_j_particle(cluster, star - 1, star, t(star), dt(star), m(star), snap(:, star) / 18, j(:, star) / 6, &
                          a(:, star) / 2, v(:, star), x(:, star)) /= 0) error stop 1
  end subroutine

  ! Forces on stars at the given positions, in blocks as large as the library takes.
  subroutine forces(count, index, xi, vi, acc, jerk, potential)
    integer, intent(in) :: count, index(:)
    real(real8), intent(in) :: xi(:, :), vi(:, :)
    real(real8), intent(inout) :: acc(3, most), jerk(3, most), potential(most)
    real(real8) :: h2(most)
    integer :: pipes, b, ni
    h2 = 0
    pipes = g6_npipes()
    do b = 1, count, pipes
      ni = min(pipes, count - b + 1)
      call g6calc_firsthalf(cluster, n, ni, index(b), xi(1, b), vi(1, b), acc(1, b), jerk(1, b), potential(b), eps2, h2)
      if (g6calc_lasthalf(cluster, n, ni, index(b), xi(1, b), vi(1, b), eps2, h2, acc(1, b), jerk(1, b), &
                          potential(b)) /= 0) error stop 1
    end do
  end subroutine

  ! The longest step 2^-k that is not longer than wanted and that a block step at this time may have.
  real(real8) function block_step(wanted, at)
    real(real8), intent(in) :: wanted, at
    block_step = longest_step
    do while (block_step > wanted .or. mod(at, block_step) /= 0)
      block_step = block_step / 2
    end do
  end function

  real(real8) function energy()
    integer :: star
    status = g6_set_ti(cluster, t(1))
    call forces(n, [(star, star = 1, n)], x, v, a, j, pot)
    energy = 0
    do star = 1, n
      energy = energy + 0.5d0 * m(star) * (dot_product(v(:, star), v(:, star)) + pot(star))
    end do
  end function

  ! Corrects a star with the force at its predicted place, and chooses its next step. Makino & Aarseth 1992.
  subroutine correct(star, now, acc, jerk)
    integer, intent(in) :: star
    real(real8), intent(in) :: now, acc(3), jerk(3)
    real(real8) :: h, da(3), v0(3), crackle(3)
    h = now - t(star)
    da = a(:, star) - acc
    v0 = v(:, star)
    crackle = (12 * da + 6 * h * (j(:, star) + jerk)) / h**3
    snap(:, star) = (-6 * da - h * (4 * j(:, star) + 2 * jerk)) / h**2 + h * crackle
    v(:, star) = v0 + h / 2 * (a(:, star) + acc) + h**2 / 12 * (j(:, star) - jerk)
    x(:, star) = x(:, star) + h / 2 * (v0 + v(:, star)) + h**2 / 12 * da
    a(:, star) = acc
    j(:, star) = jerk
    t(star) = now
    dt(star) = block_step(sqrt(eta * (norm2(acc) * norm2(snap(:, star)) + norm2(jerk)**2) / &
                               (norm2(jerk) * norm2(crackle) + norm2(snap(:, star))**2)), now)
  end subroutine

  ! One block step: all stars whose step ends first. Returns the time that it reaches.
  real(real8) function step()
    integer :: who(most), count, star, c
    real(real8), save :: xp(3, most), vp(3, most), acc(3, most), jerk(3, most), potential(most)
    real(real8) :: h
    step = minval(t(:n) + dt(:n))
    count = 0
    do star = 1, n
      if (t(star) + dt(star) /= step) cycle
      count = count + 1
      who(count) = star
      h = step - t(star)
      xp(:, count) = x(:, star) + h * (v(:, star) + h / 2 * (a(:, star) + h / 3 * j(:, star)))
      vp(:, count) = v(:, star) + h * (a(:, star) + h / 2 * j(:, star))
    end do
    status = g6_set_ti(cluster, step)
    call forces(count, who, xp, vp, acc, jerk, potential)
    do c = 1, count
      call correct(who(c), step, acc(:, c), jerk(:, c))
      call send(who(c))
    end do
  end function

end program
