"""Arrays without copies, and what becomes of those that are kept."""
import unittest

import harness  # noqa: F401
import numpy as np
import pergola


def cluster(**keywords):
    keywords = {"model": "plummer", "n": 200, "softening": 0.05, "integrator": "leapfrog", "step": 1 / 64, "threads": 1,
                "device": "cpu", **keywords}
    return pergola.Simulation(**keywords)


def address(array):
    return array.__array_interface__["data"][0]


class TestArrays(unittest.TestCase):
    def test_views_are_the_simulation_memory(self):
        sim = cluster()
        with sim.arrays() as p:
            first = {name: address(getattr(p, name)) for name in ("x", "vz", "mass")}
            self.assertFalse(p.x.flags.owndata)
        sim.step()
        with sim.arrays() as p:
            self.assertEqual(first, {name: address(getattr(p, name)) for name in first})

    def test_they_are_the_particles_by_id(self):
        for solver in ("direct", "tree"):
            sim = cluster(solver=solver)
            sim.run(until=0.125)
            shown = sim.particles
            with sim.arrays() as p:
                place = np.argsort(p.id)
                self.assertTrue((p.x[place] == shown.x).all())
                self.assertTrue((p.velocity.y[place] == shown.vy).all())
                self.assertEqual(p.time, 0.125)

    def test_reading_changes_no_bit(self):
        one, other = cluster(), cluster()
        for k in range(4):
            one.run(until=(k + 1) / 16)
            other.run(until=(k + 1) / 16)
            with one.arrays() as p:
                p.x.sum()
        self.assertTrue((one.particles.position == other.particles.position).all())
        self.assertTrue((one.particles.velocity == other.particles.velocity).all())

    def test_read_only_unless_asked(self):
        sim = cluster()
        with sim.arrays() as p:
            with self.assertRaises(ValueError):
                p.x[0] = 1
        with sim.arrays(write=True) as p:
            p.x[0] = 7
            with self.assertRaises(ValueError):
                p.mass[0] = 1
        self.assertEqual(sim.particles.x[0], 7)

    def test_a_change_is_felt(self):
        sim = cluster()
        with sim.arrays(write=True) as p:
            p.vx[:] = p.vy[:] = p.vz[:] = 0
            p.x *= 3
            p.y *= 3
            p.z *= 3
        wide = sim.energies
        self.assertEqual(wide.kinetic, 0)
        sim.run(until=0.25)
        # It falls under the forces of the new places: energy is kept.
        self.assertGreater(sim.energies.kinetic, 0)
        self.assertAlmostEqual(sim.energies.total, wide.total, delta=1e-3 * abs(wide.total))

    def test_a_view_that_is_kept_is_no_longer_the_simulation(self):
        sim = cluster()
        with sim.arrays(write=True) as p:
            kept = p.x
            part = p.y[10:20]
        before = sim.particles
        was = kept.copy()
        kept[:] = 99
        part[:] = 99
        self.assertTrue((sim.particles.position == before.position).all())
        sim.step()
        self.assertTrue((kept == 99).all())
        with sim.arrays() as p:
            self.assertNotEqual(address(p.x), address(kept))
        other = cluster()
        with other.arrays(write=True):
            pass
        other.step()
        self.assertTrue((other.particles.x == sim.particles.x).all())
        self.assertFalse((was == 99).any())

    def test_views_outlive_the_simulation(self):
        sim = cluster()
        with sim.arrays() as p:
            kept = p.x
        total = kept.sum()
        del sim
        self.assertEqual(kept.sum(), total)

    def test_no_step_inside_the_block(self):
        sim = cluster()
        with sim.arrays():
            with self.assertRaisesRegex(pergola.Error, "arrays: expected the block"):
                sim.step()
        sim.step()

    def test_single_precision_has_floats(self):
        with cluster(precision="single").arrays() as p:
            self.assertEqual(p.x.dtype, np.float32)

    def test_not_where_particles_have_times_of_their_own(self):
        sim = cluster(integrator="hermite", step=None)
        with self.assertRaisesRegex(pergola.Error, "leapfrog"):
            with sim.arrays():
                pass

    def test_not_a_number_is_refused(self):
        sim = cluster()
        with self.assertRaises(pergola.Error) as caught:
            with sim.arrays(write=True) as p:
                p.x[3] = np.nan
        self.assertEqual(caught.exception.kind, "numerics")

    def test_dlpack(self):
        numbers = np.arange(5.0)
        again = np.from_dlpack(pergola._core.as_device_array(numbers))
        self.assertEqual(address(again), address(numbers))
        self.assertTrue((again == numbers).all())
        with self.assertRaises(AttributeError):
            pergola._core.as_device_array(numbers).__cuda_array_interface__


if __name__ == "__main__":
    unittest.main()
