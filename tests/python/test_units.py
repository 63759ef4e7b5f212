"""What numbers mean, plain and with astropy."""
import os
import tempfile
import unittest

import harness
import numpy as np
import pergola

try:
    from astropy import constants, units as u
except ImportError:
    u = None

QUIET = {"device": "cpu", "threads": 1}


class TestPlain(unittest.TestCase):
    def test_a_simulation_says_its_units(self):
        sim = pergola.Simulation(model="plummer", n=50, units="solar", softening=0.1, **QUIET)
        # Reference: IAU 2012 resolution B2, in cm, and a Julian year.
        self.assertEqual(sim.units.length_cm, 14959787070000)
        self.assertAlmostEqual(sim.units.time_s / (365.25 * 86400), 1, 12)
        self.assertIsNone(pergola.Simulation(model="plummer", n=50, **QUIET).units)

    def test_a_snapshot_says_its_units(self):
        with tempfile.TemporaryDirectory() as place:
            file = os.path.join(place, "stars.csv")
            with open(file, "w") as out:
                out.write("id,mass[Msun],x[AU],y[AU],z[AU],vx[km/s],vy[km/s],vz[km/s]\n1,1,1,2,3,0,0,0\n")
            units = pergola.read(file).units
        self.assertAlmostEqual(units["velocity_cm_per_s"] / 1e5, 1, 12)
        self.assertEqual(set(units), {"length_cm", "mass_g", "velocity_cm_per_s", "time_s"})

    def test_systems_without_lengths_and_unknown_ones_are_refused(self):
        for system in ("nbody", "furlongs"):
            with self.assertRaises(pergola.Error) as caught:
                pergola.units(system)
            self.assertEqual(caught.exception.kind, "input")
            self.assertIn(system, str(caught.exception))


@unittest.skipUnless(u, "astropy is not installed")
class TestAstropy(unittest.TestCase):
    # Reference: astropy's own units and constants (CODATA 2018, IAU 2015).
    def test_units_are_those_of_astropy(self):
        galactic = pergola.units("galactic")
        self.assertAlmostEqual(galactic.length.to(u.kpc), 1, 12)
        self.assertAlmostEqual(galactic.mass.to(u.Msun), 1, 9)
        self.assertAlmostEqual(galactic.velocity.to(u.km / u.s), 1, 12)
        self.assertAlmostEqual(galactic.time.to(u.kpc / (u.km / u.s)), 1, 12)

    def test_any_quantity_becomes_numbers(self):
        gadget = pergola.units("gadget")
        self.assertAlmostEqual(gadget.number(constants.G) / 43009.1727, 1, 7)
        self.assertTrue(np.allclose(gadget.number([1, 2] * u.Mpc), [1000, 2000], rtol=1e-12))
        self.assertAlmostEqual(gadget.number(1 * u.dimensionless_unscaled), 1)
        for wrong in (3 * u.K, 3.0):
            with self.assertRaises(pergola.Error):
                gadget.number(wrong)

    def test_keywords_may_be_quantities(self):
        plain = pergola.Simulation(model="plummer", n=50, units="stellar", mass=1000.0, softening=0.25, step=0.5, **QUIET)
        with_units = pergola.Simulation(model="plummer", n=50, units="stellar", mass=1000 * u.Msun, softening=0.25 * u.pc,
                                        step=0.5 * u.pc / (u.km / u.s), **QUIET)
        for sim in (plain, with_units):
            sim.run(until=1)
        self.assertTrue(np.allclose(plain.particles.position, with_units.particles.position, rtol=1e-6, atol=1e-6))

    def test_quantities_are_never_taken_for_plain_numbers(self):
        for made in (lambda: pergola.Simulation(model="plummer", n=50, softening=0.1 * u.pc, **QUIET),
                     lambda: pergola.Simulation({"gravity": {"external": [{"kind": "plummer", "mass": 1 * u.Msun, "radius": 1.0}]}},
                                                model="plummer", n=50, units="stellar", **QUIET),
                     lambda: pergola.forces([[0, 0, 0], [1, 0, 0]] * u.pc, [1, 1])):
            with self.assertRaises(pergola.Error) as caught:
                made()
            self.assertIn("plain number", str(caught.exception))


if __name__ == "__main__":
    unittest.main()
