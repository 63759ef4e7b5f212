"""Particles on the host: made, read, written; forces on them."""
# Particles is the compiled class: its arrays are views of its memory. What they mean (units, time, box, cosmology) lies
# beside them in attributes that every function here passes on. Snapshot adds what else a file says.
import os
import warnings

import numpy

from . import _core
from ._core import Particles
from ._settings import configured, error, force_config, is_quantity, lines, settings
from ._units import Units, as_units, require_same_units

_init = Particles.__init__
_COLUMNS = ("id", "species", "mass", "x", "y", "z", "vx", "vy", "vz")
_ROWS = {"position": ("x", "y", "z"), "velocity": ("vx", "vy", "vz")}


# The conversion of the compiled class would say its signatures.
def _array(name, value, kind, what="numbers"):
    if value is None:
        return None
    try:
        return numpy.asarray(value, kind)
    except (TypeError, ValueError, OverflowError):
        raise error(f"{name}: expected {what}, found {value!r:.60}") from None


def require_particles(name, value):
    if not isinstance(value, Particles):
        raise error(f"{name}: expected Particles, found {type(value).__name__}")


# The arrays go to the compiled class; what the numbers mean lies beside them, in attributes.
def _new(self, position, velocity=None, mass=None, id=None, species=None, check=True, *, units=None, time=0.0, box_size=0.0,
         cosmology=None):
    """``position`` and ``velocity`` (0) are rows of three numbers, ``mass`` (0) one number for each particle or one for all, ``id`` whole
    numbers that differ (1, 2, …), ``species`` (1) 0 to 5: gas, halo, disc, bulge, stars, boundary. ``check=False`` leaves out the
    look at all numbers. ``units``, ``time``, ``box_size`` and ``cosmology`` are carried along."""
    _init(self, _array("position", position, float), _array("velocity", velocity, float), _array("mass", mass, float),
          _array("id", id, numpy.uint64, "whole numbers"), _array("species", species, numpy.uint8, "numbers from 0 to 5"), check)
    self.units, self.time, self.box_size, self.cosmology = as_units(units), time, box_size, cosmology


def _copy(self):
    """The same particles with what they carry, in memory of their own."""
    made = self.copy_arrays()
    made.__dict__.update(self.__dict__)
    return made


def _append(self, other):
    """Adds particles, which must be in the same units; those without units are taken to be in the units of the others."""
    require_particles("append", other)
    require_same_units("append", other.units, self.units)
    self.append_arrays(other)
    self.units = self.units or other.units


# `p.vx += 1` ends with an assignment of the array to itself.
def _set(self, name, value):
    """Writes into the arrays, or sets what the particles carry; other names are an error."""
    try:
        if name in _COLUMNS:
            getattr(self, name)[...] = value
        elif name in _ROWS:
            for column, one in zip(_ROWS[name], numpy.broadcast_to(value, (len(self), 3)).T):
                getattr(self, column)[...] = one
        elif name in ("units", "time", "box_size", "cosmology") or name in type(self).__dict__:
            object.__setattr__(self, name, as_units(value) if name == "units" else value)
        else:
            raise error(f"Particles.{name}: expected one of {', '.join((*_COLUMNS, *_ROWS))}, units, time, box_size and cosmology, found {name}")
    except (TypeError, ValueError):
        expected = "rows of 3" if name in _ROWS else "numbers"
        raise error(f"Particles.{name}: expected {len(self)} {expected} or one for all, found {value!r:.60}") from None


def _repr(self):
    kinds = ", ".join(f"{count} {_core.species_names[kind]}" for kind, count in enumerate(numpy.bincount(self.species)) if count)
    extent = [f"{axis} {values.min():.4g} to {values.max():.4g}" for axis, values in zip("xyz", (self.x, self.y, self.z)) if len(values)]
    units = _core.units_text(self.units["length_cm"], self.units["mass_g"], self.units["velocity_cm_per_s"]) if self.units else "plain numbers, G = 1"
    return f"<pergola.{type(self).__name__}: {'; '.join([kinds or 'none', *([', '.join(extent)] if extent else []), units])}; time {self.time:g}>"


Particles.__init__, Particles.copy, Particles.append = _new, _copy, _append
Particles.__setattr__, Particles.__repr__ = _set, _repr
Particles.units, Particles.time, Particles.box_size, Particles.cosmology = None, 0.0, 0.0, None
Particles.__doc__ = """Particles on the host, in the order of their input.

``x``, ``y``, ``z``, ``vx``, ``vy``, ``vz``, ``mass``, ``id`` and ``species`` are NumPy arrays over this object's memory:
writing to them changes it. ``position`` and ``velocity`` are copies with one row of three per particle.

They carry ``units`` (None: plain numbers with G = 1; ``units=`` takes the name of a system too), ``time``, ``box_size`` (0: open
space) and ``cosmology`` (None, or a dict with omega_matter, omega_lambda, omega_baryon and h; ``time`` is then the scale
factor). read(), make() and Simulation.particles set them; Simulation, forces(), analyze() and write() go by them.

>>> import numpy, pergola
>>> pair = pergola.Particles(position=[[-1, 0, 0], [1, 0, 0]], velocity=[[0, -.5, 0], [0, .5, 0]], mass=[1, 1])
>>> len(pair), pair.x
(2, array([-1.,  1.]))
>>> pair.vx += 0.5
>>> pair.velocity[0]
array([ 0.5, -0.5,  0. ])
>>> pergola.make("plummer", n=10, units="stellar").units.length_cm
3.08567758149136...e+18
"""


# What header_dict() (src/python/particles.cpp) says, as attributes.
def with_header(particles, header):
    """The particles, which from now on carry what the header says."""
    particles.time, particles.box_size = header["time"], header["box_size"]
    particles.units = Units(header["units"]) if header.get("units") else None
    particles.cosmology = header.get("cosmology")
    return particles


class Snapshot(Particles):
    """Particles of a file, with its ``header`` and ``format``."""

    header, format = None, ""

    def __init__(self, particles, header):
        super().__init__(particles.position, particles.velocity, particles.mass, particles.id, particles.species)
        self.header, self.format = header, header["format"]
        with_header(self, header)


# The library knows the format from the file's contents, not from its name.
def read(path):
    """A snapshot of any format that Pergola knows (GADGET HDF5, GADGET binary, CSV).

    >>> import pergola, tempfile, os
    >>> path = os.path.join(tempfile.mkdtemp(), "stars.hdf5")
    >>> pergola.write(path, pergola.make("plummer", n=100), time=3)
    >>> snapshot = pergola.read(path)
    >>> snapshot.time, len(snapshot), snapshot.format
    (3.0, 100, 'hdf5')
    """
    particles, header = _core.read(os.fspath(path))
    return Snapshot(particles, header)


# None: what the particles carry.
def write(path, particles, time=None, box_size=None, units=None):
    """Writes a snapshot with the time, box, units and cosmology that the particles carry, or those given; the format is that of
    the ending (.hdf5, .csv, .g2, .g1). The file appears whole or not at all. What the format cannot hold is warned of."""
    require_particles("particles", particles)
    given = particles.units if units is None else as_units(units)
    lost = _core.write(os.fspath(path), particles, particles.time if time is None else time,
                       particles.box_size if box_size is None else box_size, given, particles.cosmology)
    if lost:
        warnings.warn(f"{path}: {lost}", stacklevel=2)


# Reads the list from _core each time: models are entries of the library, and Python keeps no copy of them.
class _Models:
    """The initial conditions that Pergola makes, by name: ``pergola.models["king"]`` has its options."""

    def __iter__(self):
        return iter(one["name"] for one in _core.models())

    def __len__(self):
        return len(_core.models())

    def __getitem__(self, name):
        for one in _core.models():
            if one["name"] == name:
                return one
        raise KeyError(name)

    def __repr__(self):
        return "\n".join(f"{one['name']:<20} {one['summary']}" for one in _core.models())


models = _Models()


# The configuration's own checks apply: n, seed and options mean the same as in a TOML file.
def make(model, n=None, seed=1, **options):
    """The particles of a model, the same numbers on any machine, in ``units`` or in those of the model (N-body units for most).

    >>> import pergola
    >>> "king" in pergola.models
    True
    >>> len(pergola.make("king", n=500, w0=6))
    500
    """
    known = models[model] if model in models else {"units": "nbody", "options": {}}
    if known["units"] != "nbody":
        options.setdefault("units", known["units"])
    own = {name: options.pop(name) for name in list(options) if name in known["options"] and options[name] is not None}
    config = configured(_core.Config.parse_force, lines(settings({"model": model, "n": n, "seed": seed, **options}, {"particles": own})))
    return with_header(*_core.make_model(config))


# Two ways in: Particles are used as they are; plain arrays skip ids and velocities, which cost time for few particles.
def forces(positions, masses=None, solver="direct", softening=0.0, potential=False, box_size=None, **keywords):
    """Accelerations, one row of three per particle, with ``potential=True`` also the potentials. G is 1, or that of the units
    that Particles carry.

    ``positions`` are rows of three, or Particles. Further keywords as for Simulation: accuracy, precision, device, …

    >>> import pergola
    >>> pergola.forces([[0, 0, 0], [2, 0, 0]], [1, 4])
    array([[ 1.  ,  0.  ,  0.  ],
           [-0.25,  0.  ,  0.  ]])
    """
    if is_quantity(positions) or is_quantity(masses):
        raise error("forces: expected plain numbers, for which G is 1, found quantities with units")
    units = None if "units" in keywords else getattr(positions, "units", None)
    config = force_config(tuple(_core.units_keys(units).items()) if units else (), solver=solver, softening=softening, **keywords)
    if isinstance(positions, Particles):
        if masses is not None:
            raise error("masses: expected none beside particles, which have theirs")
        box = positions.box_size if box_size is None else box_size
        acceleration, potentials, _ = _core.forces(config, positions, potential, box, positions.units)
    else:
        if masses is None:
            raise error("masses: expected one per particle, or one number for all, found none")
        acceleration, potentials, _ = _core.forces_at(config, _array("positions", positions, float), _array("masses", masses, float),
                                                      potential, box_size or 0.0)
    return (acceleration, potentials) if potential else acceleration
