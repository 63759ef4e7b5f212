"""Plots into matplotlib axes, if matplotlib is installed."""
# Functions take matplotlib axes, or draw into the present ones, and return them. matplotlib is imported on first use:
# the package works without it. Numbers are drawn as they are, in the units of the particles.
import numpy as np


# The given axes, or those of pyplot.
def _axes(axes):
    if axes is not None:
        return axes
    from matplotlib import pyplot
    return pyplot.gca()


def particles(particles, axes=None, plane="xy", **keywords):
    """Dots at the places of particles (Particles, a Snapshot, a Simulation), seen along the third axis."""
    particles = getattr(particles, "particles", particles)
    axes = _axes(axes)
    first, second = plane
    keywords = {"marker": ".", "linestyle": "", "markersize": 1, **keywords}
    axes.plot(getattr(particles, first), getattr(particles, second), **keywords)
    axes.set(xlabel=first, ylabel=second, aspect="equal")
    return axes


def density(particles, axes=None, bins=40, centre=None, **keywords):
    """Density by radius about the centre of mass, in shells of equal numbers."""
    particles = getattr(particles, "particles", particles)
    axes = _axes(axes)
    radius, value = density_profile(particles, bins, centre)
    axes.loglog(radius, value, **keywords)
    axes.set(xlabel="r", ylabel="density")
    return axes


# Shells have equal numbers of particles, so noise is about the same in all of them.
def density_profile(particles, bins=40, centre=None):
    """Radii and densities of shells that hold the same number of particles each."""
    place = particles.position
    mass = np.asarray(particles.mass)
    if centre is None:
        centre = (mass[:, None] * place).sum(axis=0) / mass.sum()
    radius = np.sqrt(((place - centre) ** 2).sum(axis=1))
    order = np.argsort(radius)
    shells = [shell for shell in np.array_split(order, min(bins, len(order))) if len(shell)]
    edges = np.array([0.0, *(radius[shell[-1]] for shell in shells)])
    volume = 4 / 3 * np.pi * np.diff(edges**3)
    inside = np.array([mass[shell].sum() for shell in shells])
    middle = np.array([np.median(radius[shell]) for shell in shells])
    return middle, inside / np.where(volume > 0, volume, np.inf)


# A dashed line without a name belongs to the line before it and gets its colour.
def figure(described, axes=None):
    """A figure of an Analysis, with its lines and the names of its axes."""
    axes = _axes(axes)
    drawn = None
    for line in described["lines"]:
        beside = {"color": drawn.get_color()} if drawn and line["dashed"] and not line["name"] else {}
        style = {"marker": ".", "linestyle": ""} if line["points"] else {"linestyle": "--" if line["dashed"] else "-"}
        drawn, = axes.plot(line["x"], line["y"], label=line["name"] or None, **style, **beside)
    axes.set(xlabel=described["x_label"], ylabel=described["y_label"], title=described["title"])
    if described["x_log"]:
        axes.set_xscale("log")
    if described["y_log"]:
        axes.set_yscale("log")
    if any(line["name"] for line in described["lines"]):
        axes.legend()
    return axes
