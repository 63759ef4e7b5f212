"""`pergola fork`: branches of a run, from its checkpoints."""

import json

import harness

CLUSTER = """
[run]
end_time = 0.25
device = "cpu"
threads = 1
[particles]
model = "plummer"
n = 64
[output]
snapshots_every = 0.125
energy_every = 0.0625
"""

PLASMA = """
[run]
end_time = 2
device = "cpu"
[plasma]
lengths = "debye"
cells = [32, 8]
cell_size = 0.5
background = true
[[plasma.species]]
name = "electrons"
charge = -1
mass = 1
particles_per_cell = 16
temperature = 1
"""


class ForkTest(harness.CliTest):
    def made(self, configuration):
        """A finished run in `out`, with one checkpoint before its last steps."""
        self.config = self.dir / "first.toml"
        self.config.write_text(configuration)
        self.out = self.dir / "out"
        self.good("run", self.config, "-o", self.out, "--quiet")

    def branch(self, name, *sets, of="out", more=()):
        arguments = [word for one in sets for word in ("--set", one)]
        return self.good_json("fork", self.dir / of, *arguments, *more, "-o", self.dir / name)

    def go_on(self, name):
        self.good("run", self.dir / name / "run.toml", "-o", self.dir / name, "--resume", "--quiet")
        return json.loads((self.dir / name / "run.json").read_text())

    def contents(self, folder):
        return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}

    def test_a_branch_has_the_bits_of_a_run_that_was_never_branched(self):
        for configuration, end in ((CLUSTER, 0.5), (PLASMA, 4)):
            self.made(configuration)
            before = self.contents(self.out)
            self.branch("longer", f"run.end_time={end}")
            record = self.go_on("longer")
            self.good("run", self.config, "--set", f"run.end_time={end}", "-o", self.dir / "once", "--quiet")
            once = json.loads((self.dir / "once" / "run.json").read_text())
            self.assertEqual(record["hashes"]["final_state"], once["hashes"]["final_state"])
            rows = [(self.dir / run / "energy.csv").read_text().splitlines() for run in ("longer", "once")]
            columns = [[line.rsplit(",", 3)[0] for line in lines] for lines in rows]  # the wall time differs
            self.assertEqual(len(columns[0]), len(columns[1]))
            self.assertEqual(self.contents(self.out), before)
            for name in ("out", "longer", "once"):
                for path in sorted((self.dir / name).rglob("*"), reverse=True):
                    path.rmdir() if path.is_dir() else path.unlink()
                (self.dir / name).rmdir()

    def test_accuracy_changes_and_the_history_is_in_the_record(self):
        self.made(CLUSTER)
        made = self.branch("finer", "time.eta=0.0025", "run.end_time=0.5")
        self.assertEqual(json.loads((self.dir / "finer" / "run.json").read_text())["status"], "forked")
        finer = self.go_on("finer")
        self.branch("coarse", "run.end_time=0.5")
        coarse = self.go_on("coarse")
        # Steps of sqrt(eta): sqrt(8) times as many, within the powers of two that they are.
        new_steps = [record["totals"]["particle_steps"] for record in (finer, coarse)]
        old_steps = json.loads((self.out / "run.json").read_text())["totals"]["particle_steps"]
        self.assertGreater((new_steps[0] - old_steps) / (new_steps[1] - old_steps), 2)
        self.assertLess((new_steps[0] - old_steps) / (new_steps[1] - old_steps), 4)
        self.assertEqual(finer["configuration"]["time"]["eta"], 0.0025)
        origin = finer["forked_from"]
        self.assertEqual(origin["directory"], str(self.out))
        self.assertEqual(origin["checkpoint"], "checkpoint_000001.pgc")
        self.assertEqual(origin["time"], made["time"])
        self.assertEqual(origin["changes"], ["time.eta=0.0025", "run.end_time=0.5"])
        # A branch of the branch, from a checkpoint by its name.
        newest = sorted(path.name for path in (self.dir / "finer" / "checkpoint").iterdir())[-1]
        self.branch("finest", "time.eta=0.001", of="finer", more=["--checkpoint", newest])
        self.assertEqual(self.go_on("finest")["forked_from"]["forked_from"], origin)
        self.bad(2, "run", "--reproduce", self.dir / "finest" / "run.json", says=["branch", "pergola fork"])

    def test_what_belongs_to_the_state_of_the_steps_is_refused(self):
        self.made(CLUSTER)
        to = self.dir / "other"
        for change in ("gravity.softening=0.1", "time.step_max=0.25", "run.precision=double"):
            self.bad(2, "fork", self.out, "--set", change, "-o", to, says=["fork", change.split("=")[0], "particles.file"])
        self.bad(2, "fork", self.out, "--set", "particles.n=65", "-o", to, says=["particles.n", "begin a new run"])
        self.bad(2, "fork", self.out, "--set", "run.end_time=0.125", "-o", to,
                 says=["run.end_time", "the time of the checkpoint", "found 0.125"])
        self.bad(2, "fork", self.out, "--set", "time.etta=1", "-o", to, says=["time.etta"])
        self.bad(2, "fork", self.dir, "-o", to, says=["checkpoint"])
        self.bad(2, "fork", self.out, "--checkpoint", "checkpoint_000009.pgc", "-o", to, says=["checkpoint_000009.pgc"])
        self.assertFalse(to.exists())
        to.mkdir()
        (to / "mine.txt").write_text("keep")
        self.bad(2, "fork", self.out, "-o", to, says=["other"])
        self.assertEqual([path.name for path in to.iterdir()], ["mine.txt"])

    def test_what_a_plasma_may_change_is_said(self):
        self.made(PLASMA)
        said = self.bad(2, "fork", self.out, "--set", "plasma.shape=quadratic", "-o", self.dir / "other",
                        says=["plasma.shape", "may change [output] and run.end_time; for more begin a new run"])
        self.assertNotIn("particles.file", said)

    def test_a_branch_of_a_universe_may_end_at_a_redshift(self):
        self.made('[run]\nend_redshift = 24\ndevice = "cpu"\nthreads = 1\n[particles]\nmodel = "cosmology"\nn = "8^3"\nbox = 50\n'
                  '[gravity]\nsolver = "mesh"\n[gravity.mesh]\ncells = 16\nassignment = "tsc"\n')
        self.branch("later", "run.end_redshift=19")
        self.assertAlmostEqual(self.go_on("later")["configuration"]["run"]["end_time"], 0.05)
        said = self.bad(2, "fork", self.out, "--set", "cosmology.h=0.68", "-o", self.dir / "other", says=["cosmology.h", "begin a new run"])
        self.assertNotIn("particles.file", said)

    def test_resume_with_another_accuracy_names_fork(self):
        self.made(CLUSTER)
        self.bad(2, "run", self.config, "-o", self.out, "--resume", "--set", "run.end_time=0.5", "--set", "time.eta=0.01",
                 says=["time.eta", "pergola fork", "--set time.eta=0.01"])

    def test_a_fixed_step_is_the_clock_of_its_run(self):
        self.made(CLUSTER + '[time]\nintegrator = "leapfrog"\nstep = 0.03125\n[gravity]\nsoftening = 0.1\n')
        for change in ("time.step=0.015625", "time.eta=0.01"):
            self.bad(2, "fork", self.out, "--set", change, "-o", self.dir / "other", says=[change.split("=")[0]])


if __name__ == "__main__":
    harness.main()
