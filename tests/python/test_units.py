"""What numbers mean, plain and with astropy."""
import os
import tempfile
import unittest
import warnings

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


STELLAR = {"units": "stellar", "mass": 1000.0, "virial_radius": 1.0}


class TestWhatParticlesCarry(unittest.TestCase):
    def setUp(self):
        place = tempfile.TemporaryDirectory()
        self.addCleanup(place.cleanup)
        self.file = lambda name: os.path.join(place.name, name)

    def test_files_get_what_was_read(self):
        stars = pergola.make("plummer", n=50, **STELLAR)
        self.assertEqual(stars.units, pergola.units("stellar"))
        stars.time = 3.5
        pergola.write(self.file("stars.hdf5"), stars)
        with self.assertWarnsRegex(UserWarning, "again.csv: not carried over: time$"):
            pergola.write(self.file("again.csv"), pergola.read(self.file("stars.hdf5")))
        pergola.write(self.file("third.hdf5"), pergola.read(self.file("again.csv")), time=7)
        for name, time in (("stars.hdf5", 3.5), ("again.csv", 0), ("third.hdf5", 7)):
            found = pergola.read(self.file(name))
            self.assertAlmostEqual(found.units.length_cm / pergola.units("stellar").length_cm, 1, 12, name)
            self.assertEqual(found.time, time, name)
        pergola.write(self.file("solar.hdf5"), pergola.Particles([[1, 2, 3]], mass=1.0), units="solar", time=2)
        found = pergola.read(self.file("solar.hdf5"))
        self.assertEqual((found.units, found.time), (pergola.units("solar"), 2.0))

    def test_a_format_without_units_is_warned_of(self):
        stars = pergola.make("plummer", n=50, **STELLAR)
        with self.assertWarnsRegex(UserWarning, r'stars.g2: .*units.*\[units\] system = "stellar"'):
            pergola.write(self.file("stars.g2"), stars)
        self.assertIsNone(pergola.read(self.file("stars.g2")).units)

    # Reference: the model is in equilibrium, so that 2T/|W| is 1 with the G of its units (0.0043) and 0.0043 with G = 1.
    def test_a_simulation_takes_the_units_of_its_particles(self):
        stars = pergola.make("plummer", n=400, **STELLAR)
        for particles in (stars, stars.copy(), pergola.Simulation(particles=stars, softening=0.01, **QUIET).particles):
            sim = pergola.Simulation(particles=particles, softening=0.01, **QUIET)
            self.assertEqual(sim.units, pergola.units("stellar"))
            self.assertAlmostEqual(-2 * sim.energies.kinetic / sim.energies.potential, 1, delta=0.2)
        with self.assertRaisesRegex(pergola.Error, "gadget"):
            pergola.Simulation(particles=stars, units="gadget", softening=0.01, **QUIET)
        custom = pergola.Particles([[0, 0, 0], [2, 0, 0]], mass=[1, 4], units={"length_cm": 2.0, "mass_g": 3.0, "velocity_cm_per_s": 5.0})
        sim = pergola.Simulation(particles=custom, softening=0, **QUIET)
        self.assertAlmostEqual(sim.energies.potential / (-6.67430e-8 * 3 / (2 * 25) * 2), 1, 10)

    def test_a_start_that_makes_no_sense_is_warned_of(self):
        stars = pergola.make("plummer", n=400, **STELLAR)
        stars.units = None
        with self.assertWarnsRegex(UserWarning, r"2T/\|W\| is 0.00"):
            pergola.Simulation(particles=stars, softening=0.01, **QUIET)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            stars.units = pergola.units("stellar")
            pergola.Simulation(particles=stars, softening=0.01, **QUIET)

    def test_time_goes_with_the_particles(self):
        sim = pergola.Simulation(model="plummer", n=50, softening=0.1, **QUIET)
        sim.run(until=0.25)
        self.assertEqual(sim.particles.time, 0.25)
        self.assertEqual(pergola.Simulation(particles=sim.particles, softening=0.1, **QUIET).time, 0.25)

    def test_particles_in_other_units_are_not_mixed(self):
        stars = pergola.make("plummer", n=50, **STELLAR)
        sim = pergola.Simulation(particles=stars, softening=0.1, **QUIET)
        sun = pergola.Particles([[9, 9, 9]], mass=1.0)
        sim.add(sun)                                       # plain numbers are in the units of the simulation
        self.assertEqual((len(sim), sim.particles.units), (51, pergola.units("stellar")))
        galaxy = pergola.Particles([[9, 9, 9]], mass=1.0, units="galactic")
        for wrong in (lambda: sim.add(galaxy), lambda: setattr(sim, "particles", galaxy), lambda: stars.append(galaxy),
                      lambda: pergola.Simulation(model="plummer", n=50, **QUIET).add(galaxy)):
            with self.assertRaisesRegex(pergola.Error, "units|G = 1"):
                wrong()

    # Reference: G m/d^2, with G = 0.00430092 pc (km/s)^2 per solar mass, and 1 for plain numbers.
    def test_forces_have_the_constant_of_the_units(self):
        for units, constant in (("stellar", 4.30091727e-3), (None, 1)):
            pair = pergola.Particles([[0, 0, 0], [2, 0, 0]], mass=[1, 4], units=units)
            self.assertAlmostEqual(pergola.forces(pair)[0, 0] / constant, 1, 6)

    def test_a_model_is_made_in_its_own_units(self):
        self.assertEqual(pergola.make("m81", n=100).units, pergola.units("gadget"))
        self.assertIsNone(pergola.make("plummer", n=100).units)

    def test_a_universe_stays_one(self):
        box = pergola.make("cosmology", n=8**3, box=50.0, redshift=49.0, omega_matter=0.25, omega_lambda=0.75)
        pergola.write(self.file("box.hdf5"), box)
        for found in (box, box.copy(), pergola.read(self.file("box.hdf5"))):
            self.assertAlmostEqual(found.time, 0.02, 12)
            self.assertEqual((found.box_size, found.cosmology["omega_matter"]), (50.0, 0.25))
            self.assertAlmostEqual(found.units.length_cm / 3.0856775814913673e24, 1, 12)
            sim = pergola.Simulation(particles=found, solver="treepm", softening=0.1, **QUIET)
            self.assertIn("omega_matter = 0.25", sim.config)
            sim.run(until=0.021)
            self.assertEqual((sim.particles.box_size, sim.particles.time), (50.0, 0.021))
            with self.assertRaisesRegex(pergola.Error, "expanding universe"):
                pergola.analyze("radii", found)


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
