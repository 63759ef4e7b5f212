"""The tree solver as a user calls it: force, run, resume, plan, refusals."""

import json

from harness import CliTest, main

PLUMMER = """[run]
end_time = 0.125
device = "cpu"
[particles]
model = "plummer"
n = 3000
[gravity]
solver = "tree"
softening = 0.02
[time]
integrator = "leapfrog"
step = 0.015625
[output]
snapshots_every = 0
"""


class Tree(CliTest):
    def configuration(self, text=PLUMMER):
        path = self.dir / "plummer.toml"
        path.write_text(text)
        return path

    def test_force_keeps_the_accuracy_asked_for(self):
        path = self.dir / "plummer.hdf5"
        self.good("ic", "plummer", "--n", "8000", "--seed", "1", "-o", path)
        for accuracy in (1e-2, 1e-4):
            report = self.good_json("force", path, "--solver", "tree", "--device", "cpu", "--set", "gravity.softening=0.01",
                                    "--set", f"gravity.tree.accuracy={accuracy}")
            self.assertEqual((report["solver"], report["n"]), ("tree", 8000))
            self.assertLess(report["error"]["median"], accuracy)
            self.assertLess(report["error"]["p99"], 6 * accuracy)
            self.assertIsNone(report["interactions_per_second"])

    def test_an_angle_chooses_the_geometric_criterion(self):
        text = self.good("run", self.configuration(), "--print-config", "--set", "gravity.tree.opening_angle=0.5")
        self.assertIn('opening = "geometric"', text)

    def test_a_run_keeps_its_energy(self):
        self.good("run", self.configuration(), "-o", self.dir / "out", "--quiet")
        report = json.loads((self.dir / "out" / "run.json").read_text())
        self.assertLess(abs(report["energy_error"]), 1e-3)

    def test_plan_knows_the_tree(self):
        plan = self.good_json("plan", self.configuration())
        self.assertEqual((plan["n"], plan["steps"], plan["particle_steps"]), (3000, 8, 24000))
        self.assertEqual(plan["interactions"], 0)  # a tree's time is not counted in pairs
        self.assertTrue(0 < plan["seconds"] < 60, plan)
        self.assertTrue(plan["memory"]["fits"])
        direct = self.good_json("plan", self.configuration(), "--set", "gravity.solver=direct")
        self.assertGreater(direct["interactions"], 0)
        self.assertGreater(plan["memory"]["device_bytes"], direct["memory"]["device_bytes"])  # cells and moments

    def test_plan_foretells_the_steps_of_a_file(self):
        # Counted, not timed: the step is chosen from the particles, and the trial chooses it from the same ones.
        stars = self.dir / "m81.hdf5"
        self.good("ic", "m81", "--n", "3000", "--seed", "1", "-o", stars)
        text = PLUMMER.replace('model = "plummer"\nn = 3000', f'file = "{stars}"').replace("step = 0.015625\n", "")
        config = self.configuration(text.replace("softening = 0.02", "softening = 0.1").replace("0.125", "0.002"))
        plan = self.good_json("plan", config)
        self.good("run", config, "-o", self.dir / "out", "--quiet")
        totals = json.loads((self.dir / "out" / "run.json").read_text())["totals"]
        self.assertGreater(totals["steps"], 4)
        self.assertAlmostEqual(plan["steps"] / totals["steps"], 1, delta=0.3)
        self.assertAlmostEqual(plan["particle_steps"] / totals["particle_steps"], 1, delta=0.3)

    def test_a_run_without_an_integrator_takes_the_leapfrog(self):
        config = self.configuration(PLUMMER.replace('[time]\nintegrator = "leapfrog"\nstep = 0.015625\n', "")
                                    .replace("n = 3000", "n = 300"))
        self.assertIn('integrator = "leapfrog"', self.good("run", config, "--print-config"))
        self.good("run", config, "-o", self.dir / "out", "--quiet")
        record = json.loads((self.dir / "out" / "run.json").read_text())
        self.assertEqual(record["configuration"]["time"]["integrator"], "leapfrog")

    def test_refusals(self):
        hermite = PLUMMER.replace("leapfrog", "hermite")
        self.bad(2, "run", self.configuration(hermite), "-o", self.dir / "out",
                 says=["hermite needs jerks, which the tree solver does not give"])
        self.bad(2, "run", self.configuration(), "-o", self.dir / "out", "--set", "gravity.tree.accuracy=1e-7",
                 says=["gravity.tree.accuracy"])
        self.bad(2, "run", self.configuration(), "-o", self.dir / "out", "--set", "gravity.tree.order=1",
                 says=["gravity.tree.order"])


if __name__ == "__main__":
    main()
