"""Particles that move in the field they make: gravity by direct sums, trees and meshes, on CPUs and GPUs.

>>> import pergola
>>> sim = pergola.Simulation(model="plummer", n=256, solver="tree", accuracy=1e-3, step=1/64, softening=0.05)
>>> sim.run(until=0.25)
>>> sim.time, len(sim)
(0.25, 256)
>>> abs(sim.energies.total + 0.25) < 0.01
True
"""
# The package is a thin layer over the compiled module _core: it checks names and units, and wraps results. Nothing here
# computes forces or steps; names that begin with _ are no interface.
from ._core import Error, version as __version__
from ._particles import Particles, Snapshot, forces, make, models, read, write
from ._analysis import Analysis, analyze
from ._simulation import Arrays, Energies, Simulation
from ._run import run
from ._units import Units, units
from . import plot
from ._core import analyses, devices, solvers

# What users may rely on; everything else may change.
__all__ = ["Analysis", "Arrays", "Energies", "Error", "Particles", "Simulation", "Snapshot", "Units", "analyses", "analyze", "devices", "forces", "make", "models",
           "plot", "read", "run", "solvers", "units", "write"]
