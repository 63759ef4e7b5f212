"""Units: plain factors, and astropy's units if astropy is installed."""
# Units are plain factors in cgs from the library's unit systems. astropy is optional and imported on first use only.
from . import _core
from ._settings import configured, error, is_quantity


# Raises the library's error if astropy is missing.
def _astropy_units():
    try:
        import astropy.units
    except ImportError:
        raise error("units: expected astropy to be installed (Debian: python3-astropy), found none; length_cm, mass_g and "
                    "velocity_cm_per_s are plain numbers") from None
    return astropy.units


# A dict, so that it can be printed and passed to the library; the attributes are for convenience.
class Units(dict):
    """The units of a simulation or a snapshot: ``length_cm``, ``mass_g``, ``velocity_cm_per_s`` and ``time_s``, each also as
    an attribute. With astropy ``length``, ``mass``, ``velocity`` and ``time`` are its units, and number() goes the other way.

    >>> import pergola
    >>> pergola.units("galactic").length_cm
    3.08567758149136...e+21
    """

    def __init__(self, factors):
        super().__init__(factors)
        self["time_s"] = self["length_cm"] / self["velocity_cm_per_s"]

    def __getattr__(self, name):
        if name in self:
            return self[name]
        raise AttributeError(name)

    @property
    def length(self):
        units = _astropy_units()
        return units.Unit(self["length_cm"] * units.cm)

    @property
    def mass(self):
        units = _astropy_units()
        return units.Unit(self["mass_g"] * units.g)

    @property
    def velocity(self):
        units = _astropy_units()
        return units.Unit(self["velocity_cm_per_s"] * units.cm / units.s)

    @property
    def time(self):
        units = _astropy_units()
        return units.Unit(self["time_s"] * units.s)

    # Any product of powers of length, mass and time is possible: each base unit of cgs is divided out.
    def number(self, quantity):
        """A quantity of astropy, of any kind that is made of lengths, masses and times, as plain numbers of these units."""
        if not is_quantity(quantity):
            raise error(f"units.number: expected a quantity of astropy, found {type(quantity).__name__}")
        units = _astropy_units()
        plain = quantity.cgs
        value = plain.value
        for base, power in zip(plain.unit.bases, plain.unit.powers):
            factor = {units.cm: self["length_cm"], units.g: self["mass_g"], units.s: self["time_s"]}.get(base)
            if factor is None:
                raise error(f"units.number: expected lengths, masses and times, found {quantity.unit}")
            value = value / factor ** float(power)
        return value


# A configuration with this system alone: the library checks the name and words the error.
def units(system):
    """The units of units.system ("gadget", "solar", "stellar", "galactic", "si", …). N-body units have no lengths: an Error."""
    found = of_config(configured(_core.Config.parse_force, [f'units.system="{system}"']))
    if found is None:
        raise error(f"units: expected a system with lengths, found {system}, in which numbers have no units")
    return found


# Units, a dict like them, the name of a system ("nbody" has none), or None.
def as_units(value):
    """Units from what a user may give for them."""
    if value is None or isinstance(value, Units):
        return value
    if isinstance(value, str):
        return None if value == "nbody" else units(value)
    return Units(value)


# As in the library (same_units in base/units.hpp).
def require_same_units(what, found, expected):
    """An Error where both are known and differ."""
    if not found or not expected:
        return
    for name in ("length_cm", "mass_g", "velocity_cm_per_s"):
        if abs(found[name] / expected[name] - 1) > 1e-3:
            raise error(f"{what}: expected particles in the same units, {name} = {expected[name]:g}, found {found[name]:g}")


# For run() of a simulation. The library reads the text.
def plain_time(name, value, known, universe=False):
    """A time as a plain number in known units: a number, a text such as "5 Myr", or a quantity of astropy."""
    if is_quantity(value):
        if not known:
            raise error(f"{name}: expected a plain number, as the simulation has no units (units=\"stellar\" gives it some), found {value}")
        return known.number(value)
    if isinstance(value, str):
        number = _core.plain_time(value, known, universe, name)
        if number is not None:
            return number
    if isinstance(value, (bool, str)) or not hasattr(value, "__float__"):
        found = f'"{value}"' if isinstance(value, str) else type(value).__name__
        raise error(f"{name}: expected a number, or one with a unit such as \"5 Myr\", found {found}")
    return float(value)


# The units of a configuration, for Simulation.units.
def of_config(config):
    """None for N-body units."""
    factors = config.units
    return Units(factors) if factors else None
