"""Keywords and dicts as keys of the configuration (docs/configuration.md)."""
# Keywords, dicts and TOML files all become lines "key=value", which the library's own parser reads and checks. So
# Python knows no rules for values: an error is worded once, in the library.
import contextlib
import difflib
import functools
import math

from . import _core
from ._core import Error

# Keywords that mean a key of the configuration; any other must be an option of the model.
_PLACES = {
    "model": "particles.model", "n": "particles.n", "seed": "particles.seed",
    "solver": "gravity.solver", "softening": "gravity.softening", "external": "gravity.external",
    "accuracy": "gravity.tree.accuracy", "opening_angle": "gravity.tree.opening_angle", "cells": "gravity.mesh.cells",
    "boundary": "gravity.mesh.boundary", "box": "gravity.mesh.box",
    "integrator": "time.integrator", "step": "time.step", "eta": "time.eta", "steps": "time.steps",
    "adaptive": "time.adaptive", "step_max": "time.step_max",
    "device": "run.device", "threads": "run.threads", "precision": "run.precision", "end_time": "run.end_time",
    "units": "units.system",
}


# An error of this package, of the same class and kinds as those of the library.
def error(text, kind="input"):
    made = Error(text)
    made.kind = kind
    return made


# Half of the letters: wo is near w0.
def did_you_mean(name, known):
    near = difflib.get_close_matches(name, known, 1, 0.5)
    return f"; did you mean {near[0]}?" if near else ""


# The library knows settings as those of a command line.
def configured(make, *arguments):
    """A configuration, made by a function of _core; its errors name keys alone."""
    try:
        return make(*arguments)
    except Error as problem:
        raise error(str(problem).replace("--set: ", ""), problem.kind) from None


# What the compiled functions say of other types is a list of their signatures.
@contextlib.contextmanager
def expecting(what):
    """An error of one sentence where values of other types are given to a compiled function."""
    try:
        yield
    except TypeError as problem:
        if "incompatible function arguments" not in str(problem):
            raise
        raise error(f"{what}, found something else") from None


# By its attributes and not by its type: astropy need not be installed.
def is_quantity(value):
    """Whether a number, or an array, has a unit as in astropy: its number alone would mean something else."""
    return hasattr(value, "unit") and hasattr(value, "to_value")


# NumPy scalars and arrays become plain numbers and lists first. Quantities are an error: _plain() has removed them.
def to_toml(value, key="value"):
    """A Python value as TOML.

    >>> to_toml([1, 2.5, "a"])
    '[1, 2.5, "a"]'
    >>> to_toml({"halo": 0.1})
    '{ halo = 0.1 }'
    """
    if is_quantity(value):
        raise error(f"{key}: expected a plain number, found the quantity {value}")
    if hasattr(value, "item") and not isinstance(value, (list, tuple, dict)) and getattr(value, "ndim", 0) == 0:
        value = value.item()
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        return repr(value) if math.isfinite(value) else {math.inf: "inf", -math.inf: "-inf"}.get(value, "nan")
    if isinstance(value, str):
        return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{name} = {to_toml(one, key)}" for name, one in value.items()) + " }"
    if isinstance(value, (list, tuple)) or hasattr(value, "tolist"):
        return "[" + ", ".join(to_toml(one, key) for one in list(value)) + "]"
    raise error(f"{key}: expected a number, a word, a list or a dict, found {type(value).__name__}")


# gravity.softening is a table of species in TOML, so its dict is a value and not a group of keys.
def _tables(config, prefix=""):
    """A nested dict as (key, value) with full keys."""
    for name, value in config.items():
        key = prefix + str(name)
        if isinstance(value, dict) and key not in ("gravity.softening",):
            yield from _tables(value, key + ".")
        else:
            yield key, value


# The options of a model by name; keywords with these names belong to the model.
@functools.lru_cache(None)
def _model_options(model):
    for one in _core.models():
        if one["name"] == model:
            return one["options"]
    return {}


# Order of precedence: there is none. A key that is given twice is an error.
def settings(keywords, config=None, units=None):
    """The key=value lines of keywords such as solver="tree", and of a dict that looks like the TOML file. ``units``: those of
    quantities where units.system names none."""
    found = dict(_tables(config or {}))
    options = _model_options(keywords.get("model", found.get("particles.model")))
    for name, value in keywords.items():
        if value is None:
            continue
        if name in _PLACES:
            key = _PLACES[name]
        elif name in options:
            key = "particles." + name
        else:
            raise error(f"{name}: expected a keyword that pergola knows, found another" + did_you_mean(name, [*_PLACES, *options]))
        if key in found:
            raise error(f"{name}: expected it once, found it as a keyword and in the dict ({key})")
        found[key] = value
    return _plain(found, units)


# Without units a quantity has no meaning: that is an error, not a guess.
def _plain(found, known):
    """The same with quantities of astropy as numbers in the units of units.system, or in those that are known."""
    quantities = [key for key, value in found.items() if is_quantity(value)]
    if not quantities:
        return found
    if "units.system" not in found and not known:
        raise error(f"{quantities[0]}: expected a plain number, or units=\"galactic\" or another system beside it, found a quantity")
    from ._units import units
    if "units.system" in found:
        known = units(found["units.system"])
    return {key: known.number(value) if key in quantities else value for key, value in found.items()}


# The form that Config.parse() and Config.parse_force() take: one TOML assignment per key.
def lines(found):
    return [f"{key}={to_toml(value, key)}" for key, value in found.items()]


@functools.lru_cache(64, typed=True)  # 1, 1.0 and True are different
def _known_force_config(carried, **keywords):
    return configured(_core.Config.parse_force, lines(settings(keywords, dict(carried))))


# Forces are often called in a loop: reading the same settings again would take longer than the forces of few particles.
def force_config(carried=(), **keywords):
    """The configuration of a force evaluation; the same keywords are read once, unless one may change (a list, a dict).
    ``carried``: keys and values that particles bring, their units."""
    try:
        return _known_force_config(carried, **keywords)
    except TypeError:
        return configured(_core.Config.parse_force, lines(settings(keywords, dict(carried))))
