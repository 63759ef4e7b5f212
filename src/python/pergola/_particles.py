"""Particles on the host: made, read, written; forces on them."""
# Particles is the compiled class: its arrays are views of its memory. Snapshot adds what a file says beside them.
import os

from . import _core
from ._core import Particles
from ._settings import error, force_config, is_quantity, lines, settings
from ._units import Units

Particles.__doc__ = """Particles on the host, in the order of their input.

``x``, ``y``, ``z``, ``vx``, ``vy``, ``vz``, ``mass``, ``id`` and ``species`` are NumPy arrays over this object's memory:
writing to them changes it. ``position`` and ``velocity`` are copies with one row of three per particle.

>>> import numpy, pergola
>>> pair = pergola.Particles(position=[[-1, 0, 0], [1, 0, 0]], velocity=[[0, -.5, 0], [0, .5, 0]], mass=[1, 1])
>>> len(pair), pair.x
(2, array([-1.,  1.]))
>>> pair.vx += 0.5
>>> pair.velocity[0]
array([ 0.5, -0.5,  0. ])
"""


class Snapshot(Particles):
    """Particles of a file, with its ``time``, ``box_size``, ``format`` and, where it states them, ``units``."""

    def __init__(self, particles, header):
        super().__init__(particles.position, particles.velocity, particles.mass, particles.id, particles.species)
        self.header = header
        self.time = header["time"]
        self.box_size = header["box_size"]
        self.format = header["format"]
        self.units = Units(header["units"]) if header.get("units") else None


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


# Times and lengths are written as they are given: units are not stated in the file.
def write(path, particles, time=0.0, box_size=0.0):
    """Writes a snapshot; the format is that of the ending (.hdf5, .csv, .g2, .g1). The file appears whole or not at all."""
    _core.write(os.fspath(path), particles, time, box_size)


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
    """The particles of a model, the same numbers on any machine.

    >>> import pergola
    >>> "king" in pergola.models
    True
    >>> len(pergola.make("king", n=500, w0=6))
    500
    """
    config = _core.Config.parse_force(lines(settings({"model": model, "n": n, "seed": seed, **options})))
    return _core.make_model(config)


# Two ways in: Particles are used as they are; plain arrays skip ids and velocities, which cost time for few particles.
def forces(positions, masses=None, solver="direct", softening=0.0, potential=False, box_size=0.0, **keywords):
    """Accelerations, one row of three per particle, for G = 1; with ``potential=True`` also the potentials.

    ``positions`` are rows of three, or Particles. Further keywords as for Simulation: accuracy, precision, device, …

    >>> import pergola
    >>> pergola.forces([[0, 0, 0], [2, 0, 0]], [1, 4])
    array([[ 1.  ,  0.  ,  0.  ],
           [-0.25,  0.  ,  0.  ]])
    """
    if is_quantity(positions) or is_quantity(masses):
        raise error("forces: expected plain numbers, for which G is 1, found quantities with units")
    config = force_config(solver=solver, softening=softening, **keywords)
    if isinstance(positions, Particles):
        if masses is not None:
            raise error("masses: expected none beside particles, which have theirs")
        acceleration, potentials, _ = _core.forces(config, positions, potential, box_size)
    else:
        if masses is None:
            raise error("masses: expected one per particle, or one number for all, found none")
        acceleration, potentials, _ = _core.forces_at(config, positions, masses, potential, box_size)
    return (acceleration, potentials) if potential else acceleration
