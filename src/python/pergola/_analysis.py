"""The analyses of `pergola analyze` on particles that Python holds."""
# _core.analyze() does the work. This file checks names before it, so that errors can suggest the nearest one, and turns
# sources (Particles, Snapshot, Simulation) into moments.
from . import _core
from ._settings import did_you_mean, error, expecting
from .plot import figure


# Figures stay plain data until plot() is called, so that analyses work without matplotlib.
class Analysis:
    """What an analysis found: ``findings`` by name, ``table`` with one array per column, and plot()."""

    def __init__(self, name, findings, table, figures):
        self.name, self.findings, self.table, self.figures = name, findings, table, figures

    # A column of the table by its name, as in the CSV file of `pergola analyze`.
    def __getitem__(self, column):
        return self.table[column]

    def __repr__(self):
        return f"<pergola.Analysis {self.name}: {', '.join(self.table)}>"

    def plot(self, axes=None, number=0):
        """The figure that `pergola analyze --plot` draws, into matplotlib axes; ``number`` where there are several."""
        return figure(self.figures[number], axes)


# Raises the library's error for an unknown name, with the nearest known one.
def _require(name, known, sentence):
    if name not in known:
        raise error(f"{sentence}, found {name}" + did_you_mean(name, known))


# One source as particles, time, box and units. Files of an expanding universe are refused: their velocities are not
# those of a space at rest.
def _moment(source, box_size):
    if getattr(source, "cosmology", None) or "[cosmology]" in getattr(source, "config", "").split("\n"):
        raise error("analyze: expected particles of a space at rest, found those of an expanding universe, whose velocities "
                    "have another meaning; `pergola analyze` takes its files")
    units = getattr(source, "units", None)
    time, box = getattr(source, "time", 0.0), getattr(source, "box_size", 0.0) if box_size is None else box_size
    particles = getattr(source, "particles", source)
    if not isinstance(particles, _core.Particles):
        raise error(f"analyze: expected Particles, a Snapshot or a Simulation, found {type(source).__name__}")
    return _core.Moment(particles, float(time), float(box), units)


# Options are checked by name here and by value in the library.
def analyze(name, source, box_size=None, device="cpu", threads=0, **options):
    """An analysis (``pergola.analyses()`` lists them) of Particles, a Snapshot or a Simulation, or of a list of them through
    time, with the options of `pergola analyze NAME`. ``box_size`` is the side of a periodic box, where the particles are in
    one and no file says so.

    >>> import pergola
    >>> stars = pergola.make("plummer", n=2000)
    >>> found = pergola.analyze("radii", stars)
    >>> 0.6 < found["r50"][0] < 0.9                     # about 0.77 in N-body units
    True
    >>> pergola.analyze("profile", stars, bins=8)["density"].shape
    (8,)
    """
    known = _core.analyses()
    _require(name, known, "analyze: expected an analysis of particles")
    for option in options:
        _require(option, known[name]["options"], f"analyze: {name}: expected one of its options")
    moments = [_moment(one, box_size) for one in (source if isinstance(source, (list, tuple)) else [source])]
    with expecting(f"analyze: {name}: expected numbers, words, True or False as options, a word as device and a number of threads"):
        return Analysis(name, *_core.analyze(name, moments, options, device, threads))
