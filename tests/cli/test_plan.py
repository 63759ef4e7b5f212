"""`pergola plan`: what it counts, tries and says. Counts are asserted, never times."""
import json
import math
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

    SPREAD = ("--device", "cpu", "--threads", "1", "--set", "gravity.solver=tree", "--set", "time.integrator=leapfrog",
              "--set", "time.step=0.5", "--set", "particles.n=500")

    def test_ranks_are_foretold_from_counted_messages(self):
        config = self.config(COLLAPSE)

        def plan(*more):
            return self.good_json("plan", config, *self.SPREAD, "--ranks", *more)["ranks"]

        one, fast, slow = plan("1"), plan("4"), plan("4", "--network", "1kB/s", "--latency", "0.5")
        self.assertEqual((one["communication_seconds_per_step"], one["efficiency"], one["counted"]), (0, 1, []))
        self.assertEqual((fast["network_bytes_per_second"], fast["latency_seconds"]), (12.5e9, 2e-6))
        self.assertLess(slow["efficiency"], fast["efficiency"])
        self.assertLess(fast["device_bytes_per_rank"], one["device_bytes_per_rank"])
        self.assertEqual(fast["counted"][0]["n"], 500)
        self.assertEqual(fast["bytes_per_rank_and_step"], slow["bytes_per_rank_and_step"])
        self.assertAlmostEqual(slow["communication_seconds_per_step"],
                               slow["bytes_per_rank_and_step"] / 1000 + slow["messages_per_rank_and_step"] * 0.5)
        self.assertGreaterEqual(fast["imbalance"], 1)

    LATTICE = """
[run]
end_time = 0.025
device = "cpu"
threads = 1
precision = "single"
[particles]
model = "cosmology"
n = "32^3"
box = 100
redshift = 49
[gravity]
solver = "mesh"
softening = 0.5
[gravity.mesh]
cells = 32
[time]
step = 0.125
[output]
energy_every = 0
snapshots_every = 0
"""

    def test_stages_of_several_numbers_of_ranks_add_up_to_a_step(self):
        plan = self.good_json("plan", self.config(self.LATTICE), "--ranks", "1,4,64", "--weak", "--gpus-per-node", "4",
                              "--network", "50GB/s", "--node-network", "200GB/s", "--latency", "5e-6")
        self.assertEqual([one["ranks"] for one in plan["scaling"]], [1, 4, 64])
        self.assertEqual(plan["ranks"], plan["scaling"][-1])
        alone, node, many = plan["scaling"]
        for one in plan["scaling"]:
            self.assertAlmostEqual(sum(part["seconds"] for part in one["compute_stages"]), one["compute_seconds_per_step"])
        for one in (node, many):
            parts = one["communication_stages"]
            self.assertAlmostEqual(sum(part["seconds"] for part in parts), one["communication_seconds_per_step"])
            for part in parts:
                away = part["to_other_nodes"] * part["bytes"]
                self.assertAlmostEqual(part["seconds"], away / 50e9 + (part["bytes"] - away) / 200e9 +
                                       5e-6 * part["messages"])
            # A share is that of the configuration: a step alone is what a rank would take by itself.
            self.assertAlmostEqual(one["one_rank_seconds_per_step"] / one["ranks"], alone["one_rank_seconds_per_step"])
            self.assertLess(abs(one["bytes_by_rule_over_counted"] - 1), 0.05)
        turned = {part["stage"]: part for part in many["communication_stages"]}["transposes"]
        # There and back, 4 bytes of each of the 32^3 cells of a rank; rows have two values more, planes are whole.
        self.assertAlmostEqual(turned["bytes"] / (2 * 4 * 32**3), 1, delta=0.05)
        self.assertEqual((turned["messages"], node["communication_stages"][0]["to_other_nodes"]), (2 * 63, 0))

    @harness.needs_mpi
    def test_bytes_foretold_are_those_of_mpirun(self):
        # Runs that differ by two steps and in nothing else. Particles go on meanwhile, and sums of a few bytes over all ranks are left out by rule.
        config = self.config(self.LATTICE)
        for ranks in (2, 4):
            sent = []
            for steps in (1, 3):
                out = self.dir / f"{ranks}-{steps}"
                launcher = ["mpirun", "--allow-run-as-root", "--oversubscribe", "-q", "-n", str(ranks)]
                self.good("run", config, "--quiet", "-o", out, "--set", f"run.end_time={0.02 * math.exp(0.125 * steps)}",
                          launcher=launcher)
                sent.append(json.loads((out / "run.json").read_text())["rank_times"]["bytes"])
            plan = self.good_json("plan", config, "--ranks", str(ranks))["ranks"]
            by_rank = (sent[1] - sent[0]) / 2 / ranks
            self.assertAlmostEqual(plan["bytes_per_rank_and_step"] / by_rank, 1, delta=0.03)
            self.assertAlmostEqual(plan["counted"][0]["bytes_per_rank_and_step"] / by_rank, 1, delta=0.03)

    def test_rates_of_another_machine_are_taken_from_its_plan(self):
        config, here = self.config(self.LATTICE), self.dir / "here.json"
        mine = self.good_json("plan", config, "--ranks", "2")
        here.write_text(json.dumps(mine))
        given = self.good_json("plan", config, "--ranks", "2", "--rates", here)
        for key in ("one_rank_seconds_per_step", "bytes_per_rank_and_step", "messages_per_rank_and_step"):
            self.assertAlmostEqual(given["ranks"][key], mine["ranks"][key], msg=key)
        self.assertEqual([part["name"] for part in given["parts"]], ["steps"])
        # A machine with GPUs, whose ranks keep all particles as yet: what they would send is foretold, and said not to be.
        treepm = ("--set", "gravity.solver=treepm", "--set", "gravity.treepm.cells=64", "--set", "gravity.softening=0.1")
        mine.update(device="cuda:0", stages=[{"stage": "tree", "seconds": 1}, {"stage": "walk", "seconds": 3}])
        mine["ranks"].update(spread=False, staging_bytes_per_second=25e9)
        there = self.dir / "there.json"
        there.write_text(json.dumps(mine))
        plan = self.good_json("plan", config, *treepm, "--ranks", "8", "--weak", "--gpus-per-node", "4", "--network", "50GB/s",
                              "--rates", there)["ranks"]
        parts = {part["stage"]: part for part in plan["communication_stages"]}
        guests = parts["guests of trees"]
        self.assertAlmostEqual(guests["seconds"], guests["bytes"] / 50e9 + 2 * guests["bytes"] / 25e9 + 2e-6 * guests["messages"])
        self.assertGreater(guests["to_other_nodes"] * guests["bytes"], 0)
        self.assertEqual((plan["spread"], plan["counted"]), (False, []))
        seconds = {stage["stage"]: stage["seconds"] for stage in plan["compute_stages"]}
        self.assertAlmostEqual(seconds["walk"], 3 * seconds["tree"])
        # Guests are built into trees, and not walked for. Their number: blocks of a few roots, each with a layer around.
        self.assertGreater(seconds["added by ranks"], 0.1 * seconds["tree"])
        self.assertLess(seconds["added by ranks"], 7 * seconds["tree"])
        self.assertIn("NOT YET", self.good("plan", config, *treepm, "--ranks", "8", "--rates", there))
        self.bad(2, "plan", config, "--set", 'particles.n="16^3"', "--ranks", "2", "--rates", here, says=("4096", "32768"))
        there.write_text("{}")
        self.bad(2, "plan", config, "--ranks", "2", "--rates", there, says=("there.json", "--json plan"))

    def test_ranks_of_hermite_are_foretold_and_save_memory(self):
        config = self.config(COLLAPSE)
        plan = self.good_json("plan", config, "--device", "cpu", "--set", "particles.n=6000", "--ranks", "4")
        self.assertTrue(plan["ranks"]["spread"])
        self.assertLess(plan["ranks"]["device_bytes_per_rank"], plan["memory"]["device_bytes"] / 2)
        self.assertEqual(plan["ranks"]["counted"][0]["n"], 6000)
        self.assertGreater(plan["ranks"]["efficiency"], 0)

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

    def test_ranks_and_networks_that_are_none_are_refused(self):
        config = self.config(COLLAPSE)
        for more, word in ((("--ranks", "0"), "--ranks"), (("--ranks", "2", "--network", "fast"), "12.5GB/s"),
                           (("--ranks", "2", "--latency", "-1"), "--latency"), (("--network", "1e9"), "--ranks"),
                           (("--ranks", "2", "--no-trial"), "--no-trial"), (("--ranks", "2,x"), "--ranks"),
                           (("--ranks", "2", "--node-network", "0"), "12.5GB/s"),
                           (("--ranks", "2", "--gpus-per-node", "0"), "--gpus-per-node"), (("--weak",), "--ranks")):
            self.bad(2, "plan", config, *more, says=(word,))


if __name__ == "__main__":
    harness.main()
