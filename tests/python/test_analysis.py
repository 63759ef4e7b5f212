"""The analyses of the program on particles that Python holds."""
import os
import tempfile
import unittest

import harness  # noqa: F401
import numpy as np
import pergola


class TestAnalysis(unittest.TestCase):
    # Reference: NumPy on the same particles; the centre is given.
    def test_radii_are_those_of_the_particles(self):
        stars = pergola.make("plummer", n=500)
        found = pergola.analyze("radii", stars, center="0,0,0", threads=1)
        radius = np.sort(np.linalg.norm(stars.position, axis=1))
        self.assertAlmostEqual(found["r50"][0], radius[249], delta=radius[250] - radius[248])
        self.assertEqual(found["particles"].tolist(), [500])
        self.assertIn("r50", repr(found))

    def test_a_series_through_time(self):
        sim = pergola.Simulation(model="plummer", n=200, softening=0.05, integrator="leapfrog", step=1 / 64, device="cpu", threads=1)
        states = []
        for time in (0.125, 0.25):
            sim.run(until=time)
            with tempfile.TemporaryDirectory() as place:
                path = os.path.join(place, "state.hdf5")
                pergola.write(path, sim.particles, time=sim.time)
                states.append(pergola.read(path))
        self.assertEqual(pergola.analyze("radii", states)["time"].tolist(), [0.125, 0.25])
        self.assertEqual(pergola.analyze("radii", sim)["time"].tolist(), [0.25])

    def test_what_cannot_be_is_a_sentence(self):
        stars = pergola.make("plummer", n=100)
        for call, text in ((lambda: pergola.analyze("radi", stars), "did you mean radii"),
                           (lambda: pergola.analyze("temperatures", stars), "analysis of particles"),
                           (lambda: pergola.analyze("radii", stars, centre="mass"), "did you mean center"),
                           (lambda: pergola.analyze("radii", stars, center="middle"), "center: expected"),
                           (lambda: pergola.analyze("radii", []), "found none"),
                           (lambda: pergola.analyze("radii", 7), "found int"),
                           (lambda: pergola.analyze("power", stars), "periodic")):
            with self.assertRaises(pergola.Error) as caught:
                call()
            self.assertEqual(caught.exception.kind, "input")
            self.assertIn(text, str(caught.exception))

    def test_all_are_listed_with_their_options(self):
        listed = pergola.analyses()
        self.assertIn("center", listed["radii"]["options"])
        self.assertNotIn("temperatures", listed)  # of a plasma

    def test_figures_become_axes(self):
        try:
            import matplotlib
            matplotlib.use("Agg")
            from matplotlib import pyplot
        except ImportError:
            self.skipTest("matplotlib is not installed")
        found = pergola.analyze("profile", pergola.make("plummer", n=500), bins=8)
        _, axes = pyplot.subplots()
        self.assertIs(found.plot(axes), axes)
        self.assertGreater(len(axes.lines), 0)
        self.assertTrue(axes.get_xlabel())
        pyplot.close("all")


if __name__ == "__main__":
    unittest.main()
