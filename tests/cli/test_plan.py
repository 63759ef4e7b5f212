"""`pergola plan`: what it counts, tries and says. Counts are asserted, never times."""
import json
import os
import select
import subprocess
import tempfile

import harness

COLLAPSE = """
[run]
end_time = 2
[particles]
model = "sphere"
n = 128
virial_ratio = 0
[gravity]
softening = 0.05
[output]
snapshots_every = 0.25
energy_every = 0.1
"""

DISC = """
[run]
end_time = 1
[particles]
model = "exponential-disc"
n = 2000
[gravity]
solver = "mesh"
[gravity.mesh]
cells = 16
boundary = "isolated"
box = 20
[time]
integrator = "leapfrog"
step = 0.125
[output]
snapshots_every = 0.5
energy_every = 0.25
force_audit_every = 4
force_audit_sample = 10
"""


UNIVERSE = """
[run]
end_redshift = {redshift}
precision = "single"
[particles]
model = "cosmology"
n = "{n}^3"
box = {box}
redshift = 126
[gravity]
solver = "treepm"
softening = 0.00846
"""
SPACING = 130 / 512  # Mpc/h; softening is a thirtieth


class Plan(harness.CliTest):
    def config(self, text, name="run.toml"):
        path = self.dir / name
        path.write_text(text)
        return path

    def counts(self, plan):
        return {part["name"]: part["count"] for part in plan["parts"]}

    def totals(self, name):
        return json.loads((self.dir / name / "run.json").read_text())["totals"]

    def test_a_collapse_is_foretold_with_its_clustering(self):
        # A cold sphere takes most of its steps at and after the collapse, at t = 1.1: 0.3 of the way gives a fifth of it.
        config = self.config(COLLAPSE)
        plan = self.good_json("plan", config)
        self.good("run", config, "-o", self.dir / "out", "--quiet")
        done = self.totals("out")
        self.assertTrue(1 / 1.5 < plan["particle_steps"] / done["particle_steps"] < 1.5, (plan, done))
        self.assertTrue(1 / 1.5 < plan["steps"] / done["steps"] < 1.5, (plan, done))
        self.assertEqual(self.counts(plan)["snapshots"], done["snapshots"])
        lines = (self.dir / "out" / "energy.csv").read_text().splitlines()
        self.assertEqual(self.counts(plan)["energies"], len(lines) - 1)
        lines = (self.dir / "out" / "lagrangian.csv").read_text().splitlines()
        self.assertEqual(self.counts(plan)["radii"], len(lines) - 1)
        self.assertTrue(plan["seconds_range"][0] < plan["seconds"] < plan["seconds_range"][1])
        self.assertAlmostEqual(sum(part["seconds"] for part in plan["parts"]), plan["seconds"])

    def test_outputs_of_a_mesh_are_counted(self):
        config = self.config(DISC)
        plan = self.good_json("plan", config)
        self.assertEqual(self.counts(plan), {"start": 1, "steps": 8, "energies": 5, "radii": 5, "snapshots": 3, "audits": 3, "checkpoints": 1})
        self.good("run", config, "-o", self.dir / "out", "--quiet")
        self.assertEqual(self.totals("out")["snapshots"], 3)
        self.assertEqual(len((self.dir / "out" / "audit.csv").read_text().splitlines()), 1 + 3)
        self.assertEqual(len((self.dir / "out" / "energy.csv").read_text().splitlines()), 1 + 5)

    def test_says_what_was_tried_and_assumed_and_leaves_nothing(self):
        with tempfile.TemporaryDirectory() as folder:
            text = self.good("plan", self.config(COLLAPSE), env={**os.environ, "TMPDIR": folder})
            self.assertEqual(os.listdir(folder), [])
        for word in ("tried      all of 128 particles", "snapshot", "processor time", " from "):
            self.assertIn(word, text)
        self.assertEqual([path.name for path in self.dir.iterdir()], ["run.toml"])

    def test_without_a_trial_it_is_a_rough_guess(self):
        text = self.good("plan", self.config(COLLAPSE), "--no-trial")
        self.assertIn("rough guess", text)
        self.assertNotIn("tried  ", text)
        plan = self.good_json("plan", self.config(DISC), "--no-trial")
        self.assertEqual((plan["steps"], plan["tried"]), (8, []))
        self.assertTrue(plan["assumed"])

    def test_where_no_file_can_be_written_it_says_so(self):
        text = self.good("plan", self.config(COLLAPSE), env={**os.environ, "TMPDIR": str(self.dir / "none")})
        self.assertIn("no file: ", text)

    def test_many_particles_are_tried_with_fewer(self):
        plan = self.good_json("plan", self.config(COLLAPSE), "--set", "particles.n=1e10", "--set", "time.integrator=leapfrog",
                              "--set", "time.step=0.5")
        self.assertEqual((plan["n"], plan["steps"]), (10**10, 4))
        self.assertTrue(any("grows to that of 10000000000" in sentence for sentence in plan["assumed"]), plan)

    def test_a_command_that_waits_says_so_on_a_terminal(self):
        terminal, end = os.openpty()
        with subprocess.Popen([harness.PROGRAM, "plan", "/dev/stdin", "--no-trial"], stdin=subprocess.PIPE, stderr=end,
                              stdout=subprocess.PIPE, text=True) as process:
            self.assertTrue(select.select([terminal], [], [], 60)[0])
            self.assertIn("plan: reading /dev/stdin, 2.0 s so far", os.read(terminal, 1000).decode())
            said, _ = process.communicate(COLLAPSE, timeout=60)
        self.assertEqual((process.returncode, said[:9]), (0, "particles"))
        shown = ""
        while not shown.endswith("\r\x1b[K") and select.select([terminal], [], [], 60)[0]:
            shown += os.read(terminal, 1000).decode()
        self.assertTrue(shown.endswith("\r\x1b[K"), shown)

    def test_the_mesh_of_a_universe_is_that_of_the_run(self):
        # Two cells between particles (docs/treepm.md), whatever the trial has.
        large = self.config(UNIVERSE.format(n=128, box=128 * SPACING, redshift=0))
        chosen = self.good_json("plan", large, "--device", "cpu", "--no-trial")["chosen"]
        self.assertEqual(len(chosen), 1)
        self.assertIn("treepm: periodic box, 256 x 256 x 256 cells", chosen[0])
        small = self.config(UNIVERSE.format(n=12, box=12 * SPACING, redshift=100))
        done = harness.run(["run", small, "-o", self.dir / "out"])
        self.assertEqual(done.returncode, 0, done.stderr)
        chosen = [text for text in self.good_json("plan", small)["chosen"] if text.startswith("treepm: ")]
        self.assertEqual(len(chosen), 1)
        self.assertIn(chosen[0], done.stderr)

    @harness.slow
    def test_steps_of_a_universe_are_those_of_its_clustering(self):
        """What the trial cannot reach is foretold from fewer particles at the same distance from each other."""
        config = self.config(UNIVERSE.format(n=20, box=20 * SPACING, redshift=0))
        plan = self.good_json("plan", config, "--threads", 1)
        self.good("run", config, "-o", self.dir / "out", "--quiet", "--threads", 1)
        done = self.totals("out")
        self.assertTrue(1 / 1.3 < plan["particle_steps"] / done["particle_steps"] < 1.3, (plan, done))

    def test_options_that_are_gone_say_what_to_do_instead(self):
        config = self.config(COLLAPSE)
        for option in ("--ranks", "--weak", "--network", "--gpus-per-node", "--node-network", "--latency", "--rates"):
            for given in ((option,), (option, "2"), (option + "=2", option + "=3")):
                self.bad(2, "plan", config, *given, says=(f"plan: {option} is gone: run a few steps with mpirun -n N", "run.json"))
        self.assertNotIn("--ranks", self.good("plan", "--help"))


if __name__ == "__main__":
    harness.main()
