"""The TreePM solver as a user calls it: force, run, resume, plan, refusals."""

import json

from harness import CliTest, main
from harness import run as run_program

BOX = """[run]
end_time = 0.25
device = "cpu"
[particles]
model = "cube"
n = 1000
seed = 3
side = 2
[gravity]
solver = "treepm"
softening = 0.01
[time]
integrator = "leapfrog"
step = 0.015625
[output]
snapshots_every = 0
"""

SPHERE = BOX.replace('model = "cube"', 'model = "plummer"').replace("side = 2\n", "").replace("0.01\n", "0.05\n")


class TreePm(CliTest):
    def configuration(self, text=BOX):
        path = self.dir / "box.toml"
        path.write_text(text)
        return path

    def test_force_keeps_the_accuracy_asked_for_and_says_what_it_chose(self):
        path = self.dir / "cube.hdf5"
        self.good("ic", "cube", "--n", "4000", "--seed", "1", "-o", path)
        for accuracy in (1e-2, 1e-3):
            arguments = ("force", path, "--solver", "treepm", "--device", "cpu", "--set",
                         f"gravity.tree.accuracy={accuracy}", "--set", "gravity.softening=0.0005", "--sample", "300")
            report = self.good_json(*arguments)
            self.assertEqual((report["solver"], report["n"], report["precision"]), ("treepm", 4000, "mixed"))
            self.assertLess(report["error"]["median"], accuracy)
            self.assertLess(report["error"]["p99"], 6 * accuracy)
            for word in ("cells", "pcs assignment", "split", "cut-off", "order"):
                self.assertIn(word, report["chosen"][0])
            self.assertNotIn("remark", report)  # a choice is no warning
        self.assertIn(report["chosen"][0], self.good(*arguments))
        by_hand = self.good_json(*arguments, "--set", "gravity.treepm.cells=48", "--set",
                                 "gravity.treepm.assignment=cic", "--set", "gravity.treepm.split=1.5", "--set",
                                 "gravity.treepm.cut_off=9")
        self.assertIn("48 x 48 x 48 cells, cic assignment, split 1.5 and cut-off 9 cells", by_hand["chosen"][0])

    def test_a_run_keeps_its_energy_and_a_resumed_one_has_its_bits(self):
        config = self.configuration()
        self.good("run", config, "-o", self.dir / "whole", "--quiet")
        report = json.loads((self.dir / "whole" / "run.json").read_text())
        # In units of the kinetic energy that the particles gain: the potential energy of random points is near zero.
        lines = (self.dir / "whole" / "energy.csv").read_text().splitlines()
        first, last = ([float(v) for v in line.split(",")[:4]] for line in (lines[1], lines[-1]))
        self.assertGreater(last[1], 0.005)
        self.assertLess(abs(last[3] - first[3]), 0.02 * last[1])
        self.assertEqual(report["totals"]["steps"], 16)
        self.good("run", config, "-o", self.dir / "parts", "--quiet", "--set", "run.end_time=0.125")
        self.good("run", config, "-o", self.dir / "parts", "--quiet", "--resume")
        resumed = (self.dir / "parts" / "energy.csv").read_text().splitlines()
        self.assertEqual(lines[-1].split(",")[:11], resumed[-1].split(",")[:11])
        self.good("run", config, "-o", self.dir / "tree", "--quiet", "--set", "gravity.solver=tree")  # the same in a box
        by_tree = (self.dir / "tree" / "energy.csv").read_text().splitlines()
        self.assertEqual(lines[-1].split(",")[:11], by_tree[-1].split(",")[:11])

    def test_what_is_chosen_is_said_and_is_no_warning(self):
        config = self.configuration(BOX.replace("step = 0.015625", ""))
        run = ("run", config, "-o", self.dir / "out", "--overwrite")
        said = run_program(run).stderr
        for words in ("time.step: ", "treepm: "):
            self.assertEqual([line.startswith(words) for line in said.splitlines() if words in line], [True], said)
        self.assertNotIn("warning", said)
        self.assertEqual(run_program((*run, "--quiet")).stderr, "")
        too_long = run_program((*run, "--set", "time.step=0.5")).stderr
        self.assertIn("warning: time.step: 0.5 is too long", too_long)
        plan = self.good_json("plan", config)
        self.assertEqual([sentence.split(":")[0] for sentence in plan["chosen"]], ["time.step", "treepm"])
        self.assertEqual(plan["warnings"], [])
        self.assertIn(f"chosen     {plan['chosen'][1]}\n", self.good("plan", config))

    def test_plan_knows_the_box_that_comes_with_the_particles(self):
        # In a box of side 1 the softening would be too long for the cut-off.
        self.good("plan", self.configuration(), "--no-trial")
        self.good("ic", "cube", "--n", 1000, "--side", 2, "-o", self.dir / "cube.hdf5")
        parts = BOX.split("[gravity]")
        file = parts[0].split("[particles]")[0] + f'[particles]\nfile = "{self.dir}/cube.hdf5"\n[gravity]' + parts[1]
        self.good("plan", self.configuration(file), "--no-trial")

    def test_the_boundary_goes_by_the_box_that_comes_with_the_particles(self):
        def chosen(config, *sets):
            arguments = [word for one in sets for word in ("--set", one)]
            plan = self.good_json("plan", config, *arguments)
            self.assertEqual(plan["warnings"], [])
            return [sentence for sentence in plan["chosen"] if not sentence.startswith("time.step")]

        box = self.configuration()
        self.assertIn("treepm: periodic box, ", chosen(box)[0])
        self.assertIn("tree: periodic box, ", chosen(box, "gravity.solver=tree")[0])
        self.assertIn("treepm: open space, ", chosen(box, "gravity.mesh.boundary=isolated")[0])
        self.assertEqual(chosen(box, "gravity.solver=tree", "gravity.mesh.boundary=isolated"), [])
        sphere = self.configuration(SPHERE)
        self.assertIn("treepm: open space, ", chosen(sphere)[0])
        self.assertEqual(chosen(sphere, "gravity.solver=tree"), [])
        self.assertIn("tree: periodic box, ", chosen(sphere, "gravity.solver=tree", "gravity.mesh.box=200",
                                                     "gravity.mesh.box_corner=-100", "gravity.softening=0.01")[0])

    def test_external_potentials_leave_the_box_of_a_file_aside(self):
        self.good("ic", "cube", "--n", 200, "--side", 2, "-o", self.dir / "cube.hdf5")
        config = self.configuration(f"""[run]
end_time = 0.01
device = "cpu"
[particles]
file = "{self.dir}/cube.hdf5"
[gravity]
solver = "treepm"
softening = 0.05
[[gravity.external]]
kind = "plummer"
mass = 1.0
radius = 1.0
""")
        said = run_program(("run", config, "-o", self.dir / "out")).stderr
        self.assertIn("treepm: open space, ", said)
        self.assertIn("states a periodic box of 2; the treepm solver runs it in open space", said)
        self.bad(2, "run", config, "-o", self.dir / "other", "--set", "gravity.mesh.boundary=periodic",
                 says=["gravity.external", 'gravity.mesh.boundary = "isolated"'])

    def test_force_in_open_space_and_of_the_tree_in_a_box(self):
        self.good("ic", "plummer", "--n", "3000", "--seed", "1", "-o", self.dir / "p.hdf5")
        self.good("ic", "cube", "--n", "3000", "--seed", "1", "-o", self.dir / "cube.hdf5")
        for name, solver, where in (("p", "treepm", "open space"), ("cube", "tree", "periodic box")):
            report = self.good_json("force", self.dir / f"{name}.hdf5", "--solver", solver, "--device", "cpu", "--sample",
                                    "300", "--set", "gravity.softening=0.0005")
            self.assertLess(report["error"]["median"], 1e-3)
            self.assertLess(report["error"]["p99"], 6e-3)
            self.assertTrue(report["chosen"][0].startswith(f"{solver}: {where}, "), report["chosen"])

    def test_a_sphere_keeps_its_energy_and_a_resumed_run_has_its_bits(self):
        for name, steps in (("shared", "step = 0.015625"), ("block", 'steps = "block"')):
            config = self.configuration(SPHERE.replace("step = 0.015625", steps))
            whole, parts = self.dir / f"whole-{name}", self.dir / f"parts-{name}"
            self.good("run", config, "-o", whole, "--quiet")
            report = json.loads((whole / "run.json").read_text())
            self.assertLess(abs(report["energy_error"]), 2e-4)
            self.good("run", config, "-o", parts, "--quiet", "--set", "run.end_time=0.125")
            self.good("run", config, "-o", parts, "--quiet", "--resume")
            ends = [(run / "energy.csv").read_text().splitlines()[-1].split(",")[:11] for run in (whole, parts)]
            self.assertEqual(ends[0], ends[1])

    def test_refusals(self):
        out = ("-o", self.dir / "out")
        self.bad(2, "run", self.configuration(), *out, "--set", "gravity.mesh.boundary=isolated", "--set",
                 "gravity.mesh.box=4", says=["gravity.mesh.box", "open space"])
        self.bad(2, "run", self.configuration(), *out, "--set", "gravity.mesh.boundary=isolated", "--set",
                 "gravity.treepm.cells=14", says=["gravity.treepm.cells", "at least 16"])
        self.bad(2, "run", self.configuration(), *out, "--set", "gravity.treepm.cells=74",
                 says=["gravity.treepm.cells", "the nearest is"])
        self.bad(2, "run", self.configuration(), *out, "--set", "gravity.treepm.cells=8",
                 says=[".toml: gravity.treepm.cut_off", "half the shortest side"])
        self.bad(2, "run", self.configuration(), *out, "--set", "gravity.softening=0.5",
                 says=[".toml: gravity.softening"])
        self.bad(2, "run", self.configuration(), *out, "--set", "gravity.treepm.split=0.1",
                 says=["gravity.treepm.split"])
        self.bad(2, "run", self.configuration(), *out, "--set", "gravity.treepm.assignment=pqs",
                 says=["gravity.treepm.assignment"])
        self.bad(2, "run", self.configuration(SPHERE), *out, "--set", "gravity.mesh.boundary=periodic",
                 says=["gravity.mesh.box"])


if __name__ == "__main__":
    main()
