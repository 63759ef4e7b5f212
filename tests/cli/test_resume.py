"""`pergola run --resume` never deletes a run."""

import json
import signal
import subprocess
import time

import harness

CONFIG = """
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


class ResumeTest(harness.CliTest):
    def setUp(self):
        super().setUp()
        self.config = self.dir / "small.toml"
        self.config.write_text(CONFIG)
        self.out = self.dir / "out"

    def run_twice(self):
        """A run with two checkpoints that has more to do."""
        self.good("run", self.config, "-o", self.out, "--quiet")
        self.good("run", self.config, "-o", self.out, "--quiet", "--resume", "--set", "run.end_time=0.3")
        self.assertEqual(len(self.checkpoints()), 2)

    def checkpoints(self):
        return sorted((self.out / "checkpoint").iterdir())

    def contents(self):
        return {path: path.read_bytes() for path in self.out.rglob("*") if path.is_file()}

    def refused(self, says):
        before = self.contents()
        self.bad(2, "run", self.config, "-o", self.out, "--resume", "--quiet", "--set", "run.end_time=0.5",
                 says=["checkpoint_000001", "checkpoint_000002", "--overwrite", *says])
        self.assertEqual(self.contents(), before)

    def change(self, path, place):
        data = bytearray(path.read_bytes())
        data[place] ^= 64
        path.write_bytes(data)

    def test_damaged_checkpoints_are_refused_and_nothing_is_touched(self):
        self.run_twice()
        for path in self.checkpoints():
            self.change(path, -1)
        self.refused(says=["checksum"])
        self.good("run", self.config, "-o", self.out, "--overwrite", "--quiet")

    def test_checkpoints_of_another_version_are_refused_and_nothing_is_touched(self):
        self.run_twice()
        for path in self.checkpoints():
            self.change(path, 12)
        self.refused(says=["format version", "the version of pergola"])

    def test_falling_back_to_the_older_checkpoint_is_said_also_under_quiet(self):
        self.run_twice()
        newest = self.checkpoints()[-1]
        self.change(newest, -1)
        result = harness.run(["run", self.config, "-o", self.out, "--resume", "--quiet", "--set", "run.end_time=0.35"])
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn(newest.name, result.stderr)
        self.assertIn("checkpoint_000001", result.stderr)

    def test_outputs_of_a_run_without_a_checkpoint_are_set_aside(self):
        process = subprocess.Popen([harness.PROGRAM, "run", self.config, "-o", self.out, "--set", "particles.n=3000",
                                    "--quiet"])
        while not (self.out / "run.json").exists() or not (self.out / "snap_000.hdf5").exists():
            time.sleep(0.01)
        process.send_signal(signal.SIGKILL)
        process.wait()
        (self.out / "mine.txt").write_text("keep")
        before = {name: (self.out / name).read_bytes() for name in ("run.json", "energy.csv", "snap_000.hdf5")}
        for number in (1, 2):
            result = harness.run(["run", self.config, "-o", self.out, "--resume", "--quiet"])
            self.assertEqual(result.returncode, 0, result.stderr)
            self.assertIn("starting afresh", result.stderr)
            aside = self.out / f"earlier_00{number}"
            self.assertIn(str(aside), result.stderr)
            if number == 1:
                self.assertEqual({name: (aside / name).read_bytes() for name in before}, before)
                # Another one that never got as far as a checkpoint.
                for path in self.checkpoints():
                    path.unlink()
                (self.out / "run.json").unlink()
                # What a process that was killed has half-written is no output.
                (self.out / "checkpoint" / ".checkpoint_000001.pgc.pergola-tmp-1-1").write_text("half")
            else:
                self.assertTrue((aside / "snap_002.hdf5").exists())
                self.assertEqual(list(self.out.rglob(".*pergola-tmp-*")), [])
        self.assertEqual((self.out / "mine.txt").read_text(), "keep")
        self.assertEqual(json.loads((self.out / "run.json").read_text())["status"], "finished")

    def test_the_end_of_a_run_that_goes_on_is_kept_where_no_snapshot_is_due(self):
        shorter = ["--set", "run.end_time=0.2", "--set", 'output.analyses=["radii"]']
        self.good("run", self.config, "-o", self.out, *shorter)
        end = {name: (self.out / name).read_bytes() for name in ("snap_002.hdf5", "tables/radii_002.csv", "run.json")}
        result = harness.run(["run", self.config, "-o", self.out, "--resume", *shorter[2:]])      # to 0.25
        self.assertEqual(result.returncode, 0, result.stderr)
        aside = self.out / "earlier_001"
        self.assertIn(str(aside), result.stderr)
        self.assertEqual({str(path.relative_to(aside)): path.read_bytes() for path in aside.rglob("*.*")}, end)
        # 0.25 is a time of the longer run's snapshots too.
        self.good("run", self.config, "-o", self.out, "--resume", *shorter[2:], "--set", "run.end_time=0.3")
        self.good("run", self.config, "-o", self.dir / "once", *shorter[2:], "--set", "run.end_time=0.3")
        self.assertEqual(harness.run_bits(self.out), harness.run_bits(self.dir / "once"))
        self.assertFalse((self.out / "earlier_002").exists())

    def test_a_finished_run_of_another_configuration_is_refused(self):
        """It ended with 0, as if it had been made with the new one."""
        self.good("run", self.config, "-o", self.out)
        before = self.contents()
        for change in ("particles.n=65", "gravity.softening=0.1"):
            self.bad(2, "run", self.config, "-o", self.out, "--resume", "--set", change, says=[change.split("=")[0], "was made with"])
        for change in ("run.end_time=0.2", "output.energy_every=0.125", "run.threads=2"):
            self.good("run", self.config, "-o", self.out, "--resume", "--set", change)
        self.assertEqual(self.contents(), before)

    def test_parts_may_not_change(self):
        config = self.dir / "two.toml"
        config.write_text('[run]\nend_time = 0.0625\n[particles.orbit]\npericentre = 1\nseparation = 4\n'
                          + '[[particles.parts]]\nmodel = "king"\nn = 20\nw0 = 5\n' * 2)
        self.good("run", config, "-o", self.out, "--quiet")
        longer = ["run", config, "-o", self.out, "--resume", "--set", "run.end_time=0.125", "--quiet"]
        for change in ("particles.parts.2.n=21", "particles.parts.1.w0=6", "particles.parts.2.seed=7"):
            self.bad(2, *longer, "--set", change, says=[change.split("=")[0], "was made with"])
        self.good(*longer)

    def test_a_first_start_with_resume_says_so_also_under_quiet(self):
        result = harness.run(["run", self.config, "-o", self.out, "--resume", "--quiet"])
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(len(result.stderr.strip().splitlines()), 1)
        self.assertIn("starting afresh", result.stderr)
        self.assertFalse((self.out / "earlier_001").exists())


if __name__ == "__main__":
    harness.main()
