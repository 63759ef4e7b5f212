"""A simulation that Python drives."""
# Simulation drives a compiled Driver (src/python/simulation.cpp). Order of calls: construct, then run(), step() and
# reading in any order. Configuration and device cannot change afterwards; particles can. Times, lengths and velocities
# are in the units of the configuration, N-body units (G = 1) without any.
import json
import os
import warnings
from collections import namedtuple

from . import _core
from ._particles import Particles, require_particles
from ._run import Progress, hold, warn_of_others
from ._settings import configured, error, lines, settings
from ._units import as_units, of_config, plain_time, require_same_units

# Keys that are given stay: they have priority over what particles carry.
def _take_from(particles, found):
    """Adds the units and the cosmology that particles carry to the keys of a configuration."""
    if particles.units and "units.system" not in found:
        found.update(_core.units_keys(particles.units))
    if particles.cosmology and not any(key.startswith("cosmology.") for key in found):
        found.update({f"cosmology.{name}": value for name, value in particles.cosmology.items()})
        found.setdefault("run.end_time", 1.0)

# Before there is a configuration, which needs the end of the run.
def _longest_step(found):
    step = found.get("time.step_max", 0.125)
    return plain_time("step_max", step, as_units(found.get("units.system"))) if isinstance(step, str) else float(step)


Energies = namedtuple("Energies", "kinetic potential total momentum angular_momentum")
Vector = namedtuple("Vector", "x y z")


# `p.ax += a` ends with an assignment of the same object to p.ax; any other assignment would change nothing but the name.
class Lent:
    """Arrays by name, to be changed in place: what a force gets, and what Arrays is."""

    def __init__(self, **named):
        self.__dict__.update(named)

    def __setattr__(self, name, value):
        if name not in self.__dict__:
            names = [one for one in self.__dict__ if not one.startswith("_")]
            raise error(f"p.{name} = …: expected one of {', '.join(names)}, found {name}")
        if self.__dict__[name] is not value:
            raise error(f"p.{name} = …: expected a change of the array in place, `p.{name} += …` or `p.{name}[:] = …`, found another value "
                        "for the name, which reaches no particle")


# Entering borrows the arrays and leaving ends that, also after an error in the block.
class Arrays(Lent):
    """The particles where they live, inside ``with sim.arrays() as p:``, at ``p.time``, without a copy.

    ``p.x``, ``p.y``, ``p.z``, ``p.vx``, ``p.vy``, ``p.vz``, ``p.mass``, ``p.species`` and ``p.id``, in the order of memory:
    on the CPU NumPy arrays, on a GPU objects with ``__cuda_array_interface__`` and ``__dlpack__``. ``p.position`` and
    ``p.velocity`` are tuples of three of them. With ``write=True`` places and velocities may be changed; the forces are
    found anew when the block ends. An array that is kept beyond the block keeps the values of then: it is no longer the
    simulation's, which goes on with memory of its own.
    """

    def __init__(self, driver, write):
        super().__init__(_driver=driver, _write=write, _names=[])

    def __enter__(self):
        arrays, time = self._driver.lend(self._write)
        self.__dict__.update(arrays, time=time)
        self._names.extend(arrays)
        return self

    @property
    def position(self):
        return Vector(self.x, self.y, self.z)

    @property
    def velocity(self):
        return Vector(self.vx, self.vy, self.vz)

    # The names go first: an array that the user has kept then shows as kept, and gets memory of its own.
    def __exit__(self, kind, value, trace):
        while self._names:
            self.__dict__.pop(self._names.pop(), None)
        self._driver.take_back(self._write)


# Beside the driver there are the configuration, which save() writes, and hooks and forces, which load() is given.
class Simulation:
    """Particles under gravity with a solver and an integrator.

    From a model: ``Simulation(model="king", n=20000, w0=6, solver="tree", accuracy=1e-3)``; from a TOML file:
    ``Simulation("cluster.toml")``; from a dict that looks like one: ``Simulation({"gravity": {"solver": "tree"}, …})``; from
    Particles, or a snapshot: ``Simulation(particles=pergola.read("snap.hdf5"), solver="tree")``.

    ``forces`` are functions that add accelerations: they get an object with ``time``, the arrays ``x``, ``y``, ``z``, ``vx``,
    ``vy``, ``vz``, ``mass``, ``species`` and, to be added to, ``ax``, ``ay``, ``az``, which hold the other forces already
    (``p.ax = …`` is an error). With ``integrator="hermite"`` a pair ``(force, jerk)`` has a second function, which adds how the
    acceleration changes on the way to ``jx``, ``jy``, ``jz``; without one it is found from differences. ``hooks`` are called with the simulation after every step of run().

    >>> import pergola
    >>> def trap(p):
    ...     p.ax -= 4 * p.x; p.ay -= 4 * p.y; p.az -= 4 * p.z
    >>> ball = pergola.Particles(position=[[1, 0, 0]], mass=0.0)
    >>> sim = pergola.Simulation(particles=ball, step=1/256, forces=[trap])
    >>> sim.run(until=3.14159265)                      # one period of the trap
    >>> abs(sim.particles.x[0] - 1) < 1e-4
    True
    """

    def __init__(self, config=None, *, particles=None, time=None, forces=(), hooks=(), **keywords):
        if isinstance(forces, dict) or callable(forces):
            raise error("forces: expected a list of functions")
        if particles is not None:
            require_particles("particles", particles)
        self.hooks = list(hooks)
        self._forces = list(forces)
        found = settings(keywords, config if isinstance(config, dict) else None, getattr(particles, "units", None))
        file = None if config is None or isinstance(config, dict) else os.fspath(config)
        if self._forces:
            found.setdefault("time.integrator", "leapfrog")  # the configuration does not know of the forces
        if particles is not None and file is None:
            _take_from(particles, found)
        if file is None and "run.end_time" not in found:
            # Block times count to 2^21 of the longest steps; a shorter step must still change the time.
            longest = _longest_step(found) * 2**21
            step = found.get("time.step")
            # Where there are units, the longest step would follow from this end, which was not given.
            others = ("cosmology", "plasma", "particles.file", "particles.parts")
            if "units.system" in found and found.get("particles.model") != "cosmology" and not any(key.startswith(others) for key in found):
                found.setdefault("time.step_max", 0.125)
            found["run.end_time"] = min(longest, float(step) * 2**50) if isinstance(step, (int, float)) and step > 0 else longest
        sets = lines(found)
        self._config = configured(_core.Config.read, file, sets) if file else configured(_core.Config.parse, "", "Simulation", sets)
        if particles is not None:
            self._config.take_units(particles.units)
        self._begin(particles, time)

    # Shared end of construction: forces first, because the driver takes the first forces when it is made.
    def _begin(self, particles, time):
        warn_of_others()
        if self._config.is_plasma:
            raise error("plasma: expected a run under gravity; pergola.run() runs a plasma")
        for force in self._forces:
            self._config.add_force(*(force if isinstance(force, tuple) else (force,)))
        if particles is None:
            if time is not None:
                raise error("time: expected particles with it")
            self._driver = _core.Driver(self._config)
        else:
            self._driver = _core.Driver(self._config, particles, particles.time if time is None else time, particles.box_size)

        # As `pergola run` does at its start.
        for text in self._driver.warnings():
            warnings.warn(text, stacklevel=3)

    # The number of particles.
    def __len__(self):
        return len(self._driver)

    def __repr__(self):
        return f"<pergola.Simulation of {len(self)} particles at time {self.time:g} after {self.steps} steps>"

    @property
    def time(self):
        """The time of ``particles`` and ``energies``."""
        return self._driver.time

    @property
    def steps(self):
        """Steps taken so far."""
        return self._driver.steps

    @property
    def device(self):
        return self._driver.device

    @property
    def choices(self):
        """Automatic choices (the step, a mesh), as sentences."""
        return self._driver.choices

    @property
    def remark(self):
        """A warning about the steps and forces; mostly empty."""
        return self._driver.remark

    @property
    def config(self):
        """The configuration with every default, as TOML."""
        return self._config.text()

    @property
    def units(self):
        """The units; None for N-body units."""
        return of_config(self._config)

    # Computed with each call: one sum over all particles.
    @property
    def energies(self):
        """Kinetic, potential and total energy, momentum and angular momentum, now. User forces are not counted."""
        found = self._driver.energies()
        return Energies(**found)

    @property
    def particles(self):
        """A copy of the particles at ``time``, in the order of their input, with their units, time, box and cosmology. Set it to
        continue with other particles."""
        made = self._driver.particles()
        made.units, made.time, made.box_size, made.cosmology = self.units, self.time, self._driver.box_size, self._config.cosmology
        return made

    @particles.setter
    def particles(self, particles):
        require_particles("particles", particles)
        if particles.units and not self.units:
            raise error("particles: expected plain numbers with G = 1, as the simulation has, found particles with units")
        require_same_units("particles", particles.units, self.units)
        self._driver.set_particles(particles)

    # Copies out, appends, and sets all particles again: the driver then computes forces anew.
    def add(self, particles):
        """Adds particles; if ids collide, the added ones get new ids after the largest."""
        require_particles("add", particles)
        all_of_them = self.particles
        more = particles.copy()
        if set(all_of_them.id.tolist()) & set(more.id.tolist()):
            first = int(all_of_them.id.max()) + 1
            more.id[:] = range(first, first + len(more))
        all_of_them.append(more)
        self.particles = all_of_them

    def arrays(self, write=False):
        """The particles where they live: ``with sim.arrays() as p:``; see Arrays.

        >>> import pergola
        >>> sim = pergola.Simulation(model="plummer", n=64, softening=0.05, integrator="leapfrog", step=1/64)
        >>> with sim.arrays(write=True) as p:
        ...     p.vx += 1.0
        >>> round(sim.energies.momentum[0], 12)
        1.0
        """
        return Arrays(self._driver, write)

    # Hooks come after the step, with the simulation at its new time.
    def step(self):
        """One step; block steps: the next block. The hooks are called."""
        self._driver.step()
        for hook in self.hooks:
            hook(self)

    # Times of callbacks are begin + k every, not sums of steps, so that rounding does not add up.
    def run(self, until, every=None, callback=None, progress=False):
        """Advances to the time ``until``; ``callback(sim)`` at each multiple of ``every`` after the start of the run, and at
        the end. Ctrl-C ends it between two steps; the simulation can go on. Both times are plain numbers, or, where the
        simulation has units, texts such as "5 Myr" or quantities of astropy.

        >>> import pergola
        >>> sim = pergola.Simulation(model="plummer", n=64, softening=0.05)
        >>> times = []
        >>> sim.run(until=0.5, every=0.25, callback=lambda s: times.append(s.time))
        >>> times
        [0.25, 0.5]
        """
        until = self._time("until", until)
        every = None if every is None else self._time("every", every)
        if every is not None and not every > 0:
            raise error(f"every: expected a time > 0, found {every}")
        begin, stop, k = self.time, until, 0
        with Progress(begin, until, enabled=progress) as bar:
            while True:
                if every is not None:
                    k += 1
                    stop = min(begin + k * every, until)
                    if until - stop < 1e-9 * every:
                        stop = until
                self._advance(stop, bar)
                if callback is not None:
                    callback(self)
                if stop >= until:
                    return

    def _time(self, name, value):
        return plain_time(name, value, self.units, bool(self._config.cosmology))

    # With hooks, step by step, since each hook may change the particles; without them one call for all steps.
    def _advance(self, stop, bar):
        tick = bar.show if bar.enabled else None
        if not self.hooks:
            self._driver.run_until(stop, tick)
            return
        while self._driver.step_before(stop):
            for hook in self.hooks:
                hook(self)
            bar.show(self.time)
        self._driver.run_until(stop, None)

    # The description holds the configuration, so that load() needs the directory only.
    def save(self, directory):
        """Writes the state into a directory, where the two newest are kept, with checksums; ``Simulation.load`` goes on from
        it with the same bits. The name of the file is returned."""
        hold(directory)
        return self._driver.save(os.fspath(directory), json.dumps({"pergola": 1, "config": self.config}))

    # The configuration comes from the state itself; no constructor is called.
    @classmethod
    def load(cls, directory, forces=(), hooks=()):
        """Goes on from what save() wrote. Functions are not in files: forces and hooks are given again.

        >>> import pergola, tempfile
        >>> sim = pergola.Simulation(model="plummer", n=64, softening=0.05)
        >>> sim.run(until=0.25)
        >>> place = tempfile.mkdtemp()
        >>> _ = sim.save(place)
        >>> again = pergola.Simulation.load(place)
        >>> again.run(until=0.5); sim.run(until=0.5)
        >>> (again.particles.x == sim.particles.x).all()
        True
        """
        found = _core.load(os.fspath(directory))
        description = json.loads(found.description)
        if "config" not in description or "pergola" not in description:
            raise error(f"{directory}: expected a state that Simulation.save wrote, found the checkpoint of a run")
        made = cls.__new__(cls)
        made.hooks, made._forces = list(hooks), list(forces)
        made._config = _core.Config.parse(description["config"], os.fspath(directory), [])
        for force in made._forces:
            made._config.add_force(force)
        warn_of_others()
        made._driver = _core.Driver.resume(made._config, found)
        return made
