"""Simulations that Python drives."""
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import unittest.mock

import harness
import numpy as np
import pergola

QUIET = {"device": "cpu", "threads": 1}


class TestMaking(unittest.TestCase):
    def test_from_keywords_dict_file_arrays_and_snapshot(self):
        by_keywords = pergola.Simulation(model="king", n=300, w0=6, solver="tree", accuracy=1e-3, softening=0.02, **QUIET)
        table = {"particles": {"model": "king", "n": 300, "w0": 6}, "time": {"integrator": "leapfrog"},
                 "gravity": {"solver": "tree", "softening": 0.02, "tree": {"accuracy": 1e-3}},
                 "run": {"device": "cpu", "threads": 1}}
        by_dict = pergola.Simulation(table)
        with tempfile.TemporaryDirectory() as place:
            file = os.path.join(place, "king.toml")
            with open(file, "w") as out:
                out.write('[particles]\nmodel = "king"\nn = 300\nw0 = 6\n[gravity]\nsolver = "tree"\nsoftening = 0.02\n'
                          '[time]\nintegrator = "leapfrog"\n[run]\nend_time = 2\n')
            by_file = pergola.Simulation(file, **QUIET)
            stars = by_dict.particles
            pergola.write(os.path.join(place, "king.hdf5"), stars, time=0)
            by_snapshot = pergola.Simulation(particles=pergola.read(os.path.join(place, "king.hdf5")), solver="tree",
                                             softening=0.02, **QUIET)
        by_arrays = pergola.Simulation(
            particles=pergola.Particles(stars.position, stars.velocity, stars.mass, stars.id), solver="tree", softening=0.02,
            **QUIET)
        all_of_them = (by_keywords, by_dict, by_file, by_snapshot, by_arrays)
        for sim in all_of_them:
            sim.run(until=0.125)
        for sim in all_of_them[1:]:
            self.assertTrue((sim.particles.position == by_keywords.particles.position).all())

    def test_errors_are_sentences(self):
        for keywords, text in (({"model": "plumer"}, "plummer"), ({"model": "plummer", "solvr": "tree"}, "did you mean solver"),
                               ({"model": "plummer", "n": -5}, "particles.n"), ({"model": "plummer", "softening": -1}, "softening"),
                               ({}, "particles.model")):
            with self.assertRaises(pergola.Error) as caught:
                pergola.Simulation(**keywords)
            self.assertEqual(caught.exception.kind, "input")
            self.assertIn(text, str(caught.exception))
        with self.assertRaisesRegex(pergola.Error, "rows of 3"):
            pergola.Particles(position=[1, 2, 3])
        with self.assertRaisesRegex(pergola.Error, "nan"):
            pergola.Particles(position=[[np.nan, 0, 0]])
        with self.assertRaisesRegex(pergola.Error, "no-such-file"):
            pergola.read("no-such-file.hdf5")


class TestWords(unittest.TestCase):
    def test_errors_name_what_is_near_and_no_command_line(self):
        for call, text in ((lambda: pergola.Simulation(model="king", wo=6), "wo: .*did you mean w0"),
                           (lambda: pergola.Simulation(model="plummer", n=100, softening=-1), "^gravity.softening: expected"),
                           (lambda: pergola.make("plummer", n=-5), "^particles.n: expected"),
                           (lambda: pergola.forces([[0, 0, 0]], 1, solver="tre"), "^gravity.solver: .*did you mean .tree"),
                           (lambda: pergola.units("galaxy"), "^units.system: expected .*galactic"),
                           (lambda: pergola.run({"particles": {"model": "kepler"}, "run": {"end_time": "soon"}}, "never"), "^run.end_time")):
            with self.assertRaisesRegex(pergola.Error, text) as caught:
                call()
            self.assertNotIn("--set", str(caught.exception))
            self.assertEqual(caught.exception.kind, "input")

    def test_values_of_other_types_are_sentences(self):
        one = pergola.Particles([[1, 2, 3]], mass=1)
        sim = pergola.Simulation(particles=pergola.Particles([[0, 0, 0], [1, 0, 0]], mass=1), softening=0.1, **QUIET)

        def assign(name, value):
            setattr(one, name, value)
        for call in (lambda: pergola.Particles("abc"), lambda: pergola.Particles([[1, 2, 3]], mass="heavy"),
                     lambda: pergola.Particles([[1, 2, 3]], id=[0.5, "a"]), lambda: pergola.Simulation(particles=[[1, 2, 3]]),
                     lambda: setattr(sim, "particles", 3), lambda: sim.add(3), lambda: one.append(3), lambda: pergola.write("never.hdf5", 3),
                     lambda: pergola.forces([["a", 0, 0]], 1), lambda: pergola.analyze("radii", one, device=3),
                     lambda: sim.run(until="soon"), lambda: sim.run(until=None), lambda: assign("vx", [1, 2]), lambda: assign("masses", 2)):
            with self.assertRaisesRegex(pergola.Error, "expected") as caught:
                call()
            self.assertNotIn("incompatible", str(caught.exception))
        with self.assertRaisesRegex(TypeError, "unexpected keyword argument 'masses'"):
            pergola.Particles([[1, 2, 3]], masses=1)

    def test_arrays_of_particles_are_written_by_assignment(self):
        pair = pergola.Particles([[-1, 0, 0], [1, 0, 0]])
        pair.vx += 0.5
        pair.mass = 2
        pair.position = [[0, 0, 1], [0, 0, 2]]
        self.assertEqual((pair.vx.tolist(), pair.mass.tolist(), pair.z.tolist()), ([0.5, 0.5], [2, 2], [1, 2]))

    def test_particles_say_what_they_are(self):
        two = pergola.Particles([[-1, 0, 0], [3, 0, 2]], species=[1, 4], units="stellar")
        self.assertEqual(repr(two), "<pergola.Particles: 1 halo, 1 stars; x -1 to 3, y 0 to 0, z 0 to 2; pc, Msun, km/s; time 0>")
        self.assertIn("plain numbers, G = 1", repr(pergola.Particles([[0, 0, 0]])))
        self.assertIn("none", repr(pergola.Particles(np.zeros((0, 3)))))
        self.assertIn("one number for each particle", pergola.Particles.__init__.__doc__)

    def test_times_may_have_units(self):
        # A parsec per km/s is 0.97779222 million years.
        sim = pergola.Simulation(model="plummer", n=16, units="stellar", mass=100.0, softening=0.1, step=1 / 64, integrator="leapfrog", **QUIET)
        seen = []
        sim.run(until="0.1 Myr", every="5e4 yr", callback=lambda s: seen.append(s.time))
        self.assertAlmostEqual(sim.time, 0.1 / 0.97779222, places=7)
        self.assertAlmostEqual(seen[0], 0.05 / 0.97779222, places=7)
        for text in ("5", "5 Msun", "Myr", "five Myr"):
            with self.assertRaisesRegex(pergola.Error, "until: expected a number, or one with a unit"):
                sim.run(until=text)
        with self.assertRaisesRegex(pergola.Error, "plain number, as no units are stated"):
            pergola.Simulation(model="plummer", n=16, softening=0.1, **QUIET).run(until="5 Myr")

    def test_keywords_may_have_units(self):
        sim = pergola.Simulation(model="plummer", n=16, units="stellar", mass="100 Msun", virial_radius="1e-3 kpc", softening="20626.48062471 AU",
                                 step_max="0.1 Myr", **QUIET)
        self.assertAlmostEqual(float(sim.particles.mass.sum()), 100)
        self.assertIn("softening = 0.1", sim.config)
        self.assertIn("step_max = 0.0625", sim.config)
        stars = pergola.make("plummer", n=16, units="stellar", mass="100 Msun")
        self.assertTrue((pergola.forces(stars, softening="0.1 pc") == pergola.forces(stars, softening=0.1)).all())


class TestRunning(unittest.TestCase):
    def sim(self, **keywords):
        return pergola.Simulation(**{"model": "plummer", "n": 128, "softening": 0.05, "integrator": "leapfrog", "step": 1 / 64,
                                     **QUIET, **keywords})

    def test_callback_times_and_energy(self):
        sim, seen = self.sim(), []
        before = sim.energies.total
        sim.run(until=0.5, every=0.1, callback=lambda s: seen.append(s.time))
        self.assertEqual([round(t, 12) for t in seen], [0.1, 0.2, 0.3, 0.4, 0.5])
        sim.run(until=0.5)
        self.assertLess(abs(sim.energies.total / before - 1), 1e-3)

    def test_steps_and_hooks(self):
        sim, seen = self.sim(), []
        sim.hooks.append(lambda s: seen.append(s.steps))
        sim.step()
        self.assertEqual(sim.time, 1 / 64)
        sim.run(until=0.125)
        self.assertEqual(seen, list(range(1, 9)))
        other = self.sim()
        other.run(until=0.125)
        self.assertTrue((other.particles.position == sim.particles.position).all())

    def test_a_hook_may_change_the_particles(self):
        def stop_them(s):
            with s.arrays(write=True) as p:
                p.vx[:] = p.vy[:] = p.vz[:] = 0
        sim = self.sim(hooks=[stop_them])
        sim.run(until=4 / 64)
        self.assertEqual(sim.energies.kinetic, 0)

    def test_saved_and_loaded_have_the_same_bits(self):
        for integrator in ("leapfrog", "hermite"):
            sim = self.sim(integrator=integrator, step=1 / 64 if integrator == "leapfrog" else None)
            with tempfile.TemporaryDirectory() as place:
                sim.run(until=0.2)
                sim.save(place)
                again = pergola.Simulation.load(place)
            sim.run(until=0.5)
            again.run(until=0.5)
            self.assertTrue((sim.particles.position == again.particles.position).all())
            self.assertTrue((sim.particles.velocity == again.particles.velocity).all())
        with tempfile.TemporaryDirectory() as place:
            with self.assertRaisesRegex(pergola.Error, "found none"):
                pergola.Simulation.load(place)

    def test_processes_of_a_job_are_told_apart_and_do_not_save_in_one_directory(self):
        with tempfile.TemporaryDirectory() as place, unittest.mock.patch.dict(
                os.environ, {"OMPI_COMM_WORLD_SIZE": "2", "OMPI_COMM_WORLD_RANK": "0"}):
            with self.assertWarnsRegex(UserWarning, "process 0 of 2: in Python each process"):
                sim = self.sim()
            sim.save(place), sim.save(place)
            other = ("import harness, pergola, sys\nsim = pergola.Simulation(model='kepler')\ntry:\n    sim.save(sys.argv[1])\n"
                     "except pergola.Error as problem:\n    print(problem)\n")
            said = subprocess.run([sys.executable, "-c", other, place], cwd=os.path.dirname(os.path.abspath(__file__)), text=True,
                                  capture_output=True, env={**os.environ, "OMPI_COMM_WORLD_RANK": "1"}, timeout=60)
            self.assertIn("another process of this job saves its states here", said.stdout)
            self.assertIn("process 1 of 2", said.stderr)
            self.assertEqual(sorted(os.listdir(place)), [".lock", "checkpoint_000001.pgc", "checkpoint_000002.pgc"])

    def test_particles_are_set_and_added(self):
        sim = self.sim()
        sim.run(until=0.25)
        sim.add(pergola.Particles(position=[[5, 0, 0]], mass=0.0))
        self.assertEqual((len(sim), sim.time), (129, 0.25))
        self.assertEqual(len(set(sim.particles.id.tolist())), 129)
        sim.run(until=0.5)
        self.assertLess(sim.particles.x[128], 5)
        sim.particles = pergola.make("plummer", n=10)
        self.assertEqual(len(sim), 10)

    def test_several_at_once_in_threads(self):
        alone = self.sim()
        alone.run(until=0.5)
        sims = [self.sim() for _ in range(3)]
        threads = [threading.Thread(target=sim.run, kwargs={"until": 0.5}) for sim in sims]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for sim in sims:
            self.assertTrue((sim.particles.position == alone.particles.position).all())

    def test_ctrl_c_leaves_a_valid_state(self):
        sim = self.sim(n=1000)
        threading.Timer(0.3, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
        with self.assertRaises(KeyboardInterrupt):
            sim.run(until=10000)
        reached = sim.time
        self.assertGreater(reached, 0)
        self.assertEqual(reached * 64, round(reached * 64))
        other = self.sim(n=1000)
        other.run(until=reached)
        sim.run(until=reached)
        self.assertTrue((sim.particles.position == other.particles.position).all())

    def test_other_threads_go_on_while_it_runs(self):
        sim, ticks, done = self.sim(n=1000), [], threading.Event()

        def count():
            while not done.is_set():
                ticks.append(1)
                time.sleep(0.001)
        counter = threading.Thread(target=count)
        counter.start()
        sim.run(until=0.5)
        done.set()
        counter.join()
        self.assertGreater(len(ticks), 2)


class TestUserForces(unittest.TestCase):
    def test_a_trap_has_its_period(self):
        # The leapfrog's own phase: cos(k theta) with cos theta = 1 - (omega h)^2 / 2.
        def trap(p):
            p.ax -= 4 * p.x
        ball = pergola.Particles(position=[[1, 0, 0]], mass=0.0)
        sim = pergola.Simulation(particles=ball, step=1 / 64, forces=[trap], softening=0.1, **QUIET)
        sim.run(until=2)
        theta = np.arccos(1 - (2 / 64) ** 2 / 2)
        self.assertAlmostEqual(sim.particles.x[0], np.cos(128 * theta), delta=1e-12)

    def test_hermite_takes_a_trap_with_its_jerk_or_without(self):
        # x = cos 2t.
        def trap(p):
            p.ax -= 4 * p.x

        def jerk(p):
            p.jx -= 4 * p.vx
        ball = pergola.Particles(position=[[1, 0, 0]], mass=0.0)
        for force in (trap, (trap, jerk)):
            sim = pergola.Simulation(particles=ball, integrator="hermite", eta=0.005, forces=[force], softening=0.1, **QUIET)
            sim.run(until=2)
            self.assertAlmostEqual(sim.particles.x[0], np.cos(4), delta=1e-6)
        calls = []
        sim = pergola.Simulation(particles=ball, integrator="hermite", forces=[(trap, lambda p: calls.append(p.time))], softening=0.1, **QUIET)
        self.assertTrue(calls)
        with self.assertRaisesRegex(pergola.Error, r"p\.jx, p\.jy and p\.jz"):
            pergola.Simulation(particles=ball, integrator="hermite", forces=[(trap, lambda p: -4 * p.vx)], softening=0.1, **QUIET)

    def test_zero_changes_no_bit_also_with_block_steps(self):
        for steps in ("shared", "block"):
            keywords = {"model": "plummer", "n": 100, "softening": 0.05, "integrator": "leapfrog", "steps": steps, **QUIET}
            without = pergola.Simulation(**keywords)

            def nothing(p):
                p.ax += 0 * p.x
            with_it = pergola.Simulation(forces=[nothing], **keywords)
            for sim in (without, with_it):
                sim.run(until=0.25)
            self.assertTrue((without.particles.position == with_it.particles.position).all())

    def test_time_and_errors(self):
        times = []
        ball = pergola.Particles(position=[[1, 0, 0]], mass=0.0)
        sim = pergola.Simulation(particles=ball, step=0.25, forces=[lambda p: times.append(p.time)], softening=0.1, **QUIET)
        sim.run(until=0.5)
        self.assertEqual(times, [0, 0.25, 0.5])

        def wrong(p):
            if p.time > 0:
                raise ZeroDivisionError("mine")
        sim = pergola.Simulation(particles=ball, step=0.25, forces=[wrong], softening=0.1, **QUIET)
        with self.assertRaisesRegex(ZeroDivisionError, "mine"):
            sim.step()
        with self.assertRaisesRegex(pergola.Error, "middle of a step"):
            sim.step()

    def test_what_reaches_no_particle_is_an_error(self):
        ball = pergola.Particles(position=[[1, 0, 0]], velocity=[[0, 1, 0]], mass=0.0)

        def assigned(p):
            p.ax = -4 * p.x

        def misnamed(p):
            p.accel_x = -4 * p.x

        def filled(p):
            p.ax[:] = -4 * p.x
            p.ay += -4 * p.y
        for force, text in ((assigned, r"p\.ax \+= …"), (misnamed, "expected one of .*ax, ay, az.*found accel_x"),
                            (lambda p: -4 * p.x, "returns nothing")):
            with self.assertRaisesRegex(pergola.Error, text) as caught:
                pergola.Simulation(particles=ball, step=1 / 256, forces=[force], softening=0.1, **QUIET).step()
            self.assertEqual(caught.exception.kind, "input")
        sim = pergola.Simulation(particles=ball, step=1 / 256, forces=[filled], softening=0.1, **QUIET)
        sim.run(until=1)  # x = cos 2t, y = sin 2t / 2
        self.assertAlmostEqual(sim.particles.x[0], np.cos(2), delta=1e-4)
        self.assertAlmostEqual(sim.particles.y[0], np.sin(2) / 2, delta=1e-4)
        with sim.arrays(write=True) as p:
            with self.assertRaisesRegex(pergola.Error, r"p\.x \+= …"):
                p.x = p.x + 10
            with self.assertRaisesRegex(pergola.Error, "found position"):
                p.position = p.x
            p.x += 10
        self.assertAlmostEqual(sim.particles.x[0], 10 + np.cos(2), delta=1e-4)

    def test_no_array_outlives_a_force(self):
        kept, ball = [], pergola.Particles(position=[[1, 0, 0]], mass=0.0)
        with self.assertRaisesRegex(pergola.Error, "kept"):
            pergola.Simulation(particles=ball, step=0.25, forces=[lambda p: kept.append(p.x)], softening=0.1, **QUIET)


class TestForces(unittest.TestCase):
    def test_against_numpy(self):
        rng = np.random.default_rng(1)
        x, m = rng.normal(size=(200, 3)), rng.uniform(size=200)
        d = x[None] - x[:, None]
        r2 = (d**2).sum(axis=2) + 0.1**2
        expected = (m[None, :, None] * d / r2[..., None] ** 1.5).sum(axis=1)
        for solver, tolerance in (("direct", 1e-13), ("tree", 1e-3)):
            found, potential = pergola.forces(x, m, solver=solver, softening=0.1, precision="double", potential=True, **QUIET)
            self.assertLess(np.abs(found - expected).max(), tolerance * np.abs(expected).max())
        np.fill_diagonal(r2, np.inf)
        self.assertLess(np.abs(potential + (m / np.sqrt(r2)).sum(axis=1)).max(), 1e-2)

    def test_a_plasma_runs(self):
        with tempfile.TemporaryDirectory() as place:
            card = pergola.run(os.path.join(harness.SOURCE, "examples", "two-stream.toml"), os.path.join(place, "run"),
                               end_time=0.5, **QUIET)
            self.assertEqual(card["status"], "finished")


if __name__ == "__main__":
    unittest.main()
