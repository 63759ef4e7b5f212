# The types of the package's interface, for editors and type checkers. Explanations are in the docstrings of the
# sources. Only names of __all__ belong here, with the types that they need; tests/python/test_docs.py compares them.
# Arrays are doubles unless their type says otherwise. Arguments that end in `= ...` have defaults in the sources.
import os
from types import TracebackType
from typing import Any, Callable, Iterable, Iterator, Mapping, NamedTuple, Optional, Sequence, Type, Union, overload

import numpy
from numpy.typing import ArrayLike, NDArray

from . import plot as plot

__version__: str
__all__: list[str]

_Path = Union[str, os.PathLike[str]]
_Numbers = NDArray[numpy.float64]

class Error(RuntimeError):
    """What the program would say; ``kind`` is input, numerics, system, device or interrupted."""
    kind: str

# The compiled class (src/python/particles.cpp): columns are views of its memory, position and velocity are copies.
class Particles:
    units: Optional[Units]
    time: float
    box_size: float
    cosmology: Optional[dict[str, float]]
    def __init__(self, position: ArrayLike, velocity: Optional[ArrayLike] = ..., mass: Optional[ArrayLike] = ...,
                 id: Optional[ArrayLike] = ..., species: Optional[ArrayLike] = ..., check: bool = ..., *,
                 units: Union[None, str, Mapping[str, float]] = ..., time: float = ..., box_size: float = ...,
                 cosmology: Optional[dict[str, float]] = ...) -> None: ...
    def __len__(self) -> int: ...
    def append(self, other: Particles) -> None: ...
    def copy(self) -> Particles: ...
    @property
    def id(self) -> NDArray[numpy.uint64]: ...
    @property
    def species(self) -> NDArray[numpy.uint8]: ...
    @property
    def mass(self) -> _Numbers: ...
    @property
    def x(self) -> _Numbers: ...
    @property
    def y(self) -> _Numbers: ...
    @property
    def z(self) -> _Numbers: ...
    @property
    def vx(self) -> _Numbers: ...
    @property
    def vy(self) -> _Numbers: ...
    @property
    def vz(self) -> _Numbers: ...
    @property
    def position(self) -> _Numbers: ...
    @property
    def velocity(self) -> _Numbers: ...

# Factors in cgs; the properties are units of astropy, hence Any: astropy need not be installed.
class Units(dict[str, float]):
    length_cm: float
    mass_g: float
    velocity_cm_per_s: float
    time_s: float
    @property
    def length(self) -> Any: ...
    @property
    def mass(self) -> Any: ...
    @property
    def velocity(self) -> Any: ...
    @property
    def time(self) -> Any: ...
    def number(self, quantity: Any) -> Any: ...

def units(system: str) -> Units: ...

class Snapshot(Particles):
    header: dict[str, Any]
    format: str

# Three arrays, or three numbers: components are stored apart.
class Vector(NamedTuple):
    x: Any
    y: Any
    z: Any

class Energies(NamedTuple):
    kinetic: float
    potential: float
    total: float
    momentum: tuple[float, float, float]
    angular_momentum: tuple[float, float, float]

# NumPy arrays on a CPU, DeviceArray objects on a GPU: Any, as no common type exists.
class Arrays:
    time: float
    x: Any
    y: Any
    z: Any
    vx: Any
    vy: Any
    vz: Any
    mass: Any
    species: Any
    id: Any
    @property
    def position(self) -> Vector: ...
    @property
    def velocity(self) -> Vector: ...
    def __enter__(self) -> Arrays: ...
    def __exit__(self, kind: Optional[Type[BaseException]], value: Optional[BaseException],
                 trace: Optional[TracebackType]) -> None: ...

# A force, or one with its jerk.
_Force = Union[Callable[[Any], Any], tuple[Callable[[Any], Any], Callable[[Any], Any]]]

# Keywords that are not listed are keys of the configuration or options of the model.
class Simulation:
    hooks: list[Callable[[Simulation], Any]]
    def __init__(self, config: Union[None, _Path, Mapping[str, Any]] = ..., *, particles: Optional[Particles] = ...,
                 time: Optional[float] = ..., forces: Iterable[_Force] = ...,
                 hooks: Iterable[Callable[[Simulation], Any]] = ..., **keywords: Any) -> None: ...
    def __len__(self) -> int: ...
    @property
    def time(self) -> float: ...
    @property
    def steps(self) -> int: ...
    @property
    def device(self) -> str: ...
    @property
    def choices(self) -> list[str]: ...
    @property
    def remark(self) -> str: ...
    @property
    def config(self) -> str: ...
    @property
    def units(self) -> Optional[Units]: ...
    @property
    def energies(self) -> Energies: ...
    @property
    def particles(self) -> Particles: ...
    @particles.setter
    def particles(self, particles: Particles) -> None: ...
    def add(self, particles: Particles) -> None: ...
    def arrays(self, write: bool = ...) -> Arrays: ...
    def step(self) -> None: ...
    def run(self, until: Union[float, str, Any], every: Union[None, float, str, Any] = ..., callback: Optional[Callable[[Simulation], Any]] = ...,
            progress: bool = ...) -> None: ...
    def save(self, directory: _Path) -> str: ...
    @classmethod
    def load(cls, directory: _Path, forces: Iterable[_Force] = ...,
             hooks: Iterable[Callable[[Simulation], Any]] = ...) -> Simulation: ...

class _Models(Mapping[str, dict[str, Any]]): ...

models: _Models

def read(path: _Path) -> Snapshot: ...
def write(path: _Path, particles: Particles, time: Optional[float] = ..., box_size: Optional[float] = ...,
          units: Union[None, str, Mapping[str, float]] = ...) -> None: ...
def make(model: str, n: Optional[int] = ..., seed: int = ..., **options: Any) -> Particles: ...
def forces(positions: Union[ArrayLike, Particles], masses: Optional[ArrayLike] = ..., solver: str = ..., softening: Any = ...,
           potential: bool = ..., box_size: Optional[float] = ..., **keywords: Any) -> Any: ...
class Analysis:
    name: str
    findings: dict[str, Any]
    table: dict[str, Any]
    figures: list[dict[str, Any]]
    def __getitem__(self, column: str) -> Any: ...
    def plot(self, axes: Any = ..., number: int = ...) -> Any: ...

def analyze(name: str, source: Union[Particles, Simulation, Sequence[Union[Particles, Simulation]]],
            box_size: Optional[float] = ..., device: str = ..., threads: int = ..., **options: Any) -> Analysis: ...
def analyses() -> dict[str, dict[str, Any]]:
    """The analyses of particles by name: ``summary``, ``details`` and ``options`` with their help."""
def run(config: Union[_Path, Mapping[str, Any]], output: _Path, resume: bool = ..., overwrite: bool = ..., progress: bool = ...,
        **keywords: Any) -> dict[str, Any]: ...
def solvers() -> dict[str, dict[str, Any]]:
    """The solvers by name: their ``summary``, whether they give a ``jerk`` and know a ``periodic`` box."""
def devices() -> list[dict[str, Any]]:
    """What this machine has to compute on: ``spec`` (the word for ``device``), ``name``, ``usable`` and ``why_not``."""
