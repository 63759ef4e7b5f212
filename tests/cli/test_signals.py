"""Signals and the wall time: a run ends, or writes a checkpoint and goes on, soon after it is asked to."""

import json
import shlex
import signal
import subprocess
import time

import harness

CONFIG = """
[run]
end_time = 1000
device = "cpu"
threads = 1
[particles]
model = "plummer"
n = 256
[output]
snapshots_every = 0
energy_every = 0
"""


class SignalTest(harness.CliTest):
    def setUp(self):
        super().setUp()
        self.config = self.dir / "long.toml"
        self.config.write_text(CONFIG)
        self.out = self.dir / "out"
        self.process = None

    def tearDown(self):
        if self.process and self.process.poll() is None:
            self.process.kill()
            self.process.communicate()

    def start(self, *args, launcher=()):
        self.process = subprocess.Popen([*launcher, harness.PROGRAM, "run", self.config, "-o", self.out, *map(str, args)],
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.wait_for(lambda: (self.out / "run.json").exists())
        return self.process

    def wait_for(self, true):
        deadline = time.monotonic() + 60
        while not true():
            self.assertIsNone(self.process.poll(), "the run has ended")
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.01)

    def checkpoints(self):
        return sorted(self.out.glob("checkpoint/*.pgc"))

    def ends(self, process, sent, within=10):
        """A busy machine takes its time: what fails never ends, or after many seconds."""
        process.send_signal(sent)
        _, said = process.communicate(timeout=within)
        self.assertEqual(process.returncode, 130, said)
        self.assertEqual(json.loads((self.out / "run.json").read_text())["status"], "interrupted")
        self.assertEqual(len(self.checkpoints()), 1)

    def test_term_ends_a_run_with_countless_outputs_within_one_step(self):
        for sent in (signal.SIGTERM, signal.SIGINT):
            self.out = self.dir / sent.name
            process = self.start("--set", "time.integrator=leapfrog", "--set", "time.step=1e6",
                                 "--set", "output.snapshots_every=1e-5")
            self.wait_for(lambda: (self.out / "snap_005.hdf5").exists())
            self.ends(process, sent)

    def test_hangup_writes_a_checkpoint_and_ends(self):
        self.ends(self.start(), signal.SIGHUP)

    def test_hangup_is_nothing_under_nohup(self):
        process = self.start(launcher=["nohup"])
        process.send_signal(signal.SIGHUP)
        time.sleep(0.5)
        self.assertIsNone(process.poll())
        self.ends(process, signal.SIGTERM)

    def test_usr1_writes_a_checkpoint_and_goes_on(self):
        process = self.start()
        for count in (1, 2):
            process.send_signal(signal.SIGUSR1)
            self.wait_for(lambda: len(self.checkpoints()) == count)
        self.assertIsNone(process.poll())
        process.terminate()
        process.communicate(timeout=10)
        self.assertEqual(process.returncode, 130)

    def test_a_run_that_is_still_making_its_first_forces_ends_and_leaves_nothing(self):
        """300,000 particles: 10^11 pairs before the first step."""
        for resume in ([], ["--resume"]):
            self.process = subprocess.Popen([harness.PROGRAM, "run", self.config, "-o", self.out, "--set",
                                             "particles.n=300000", *resume], stderr=subprocess.PIPE, text=True)
            self.wait_for(lambda: (self.out / ".lock").exists())
            time.sleep(0.2)
            self.process.terminate()
            said = self.process.communicate(timeout=30)[1]
            self.assertEqual(self.process.returncode, 130, said)
            self.assertIn("nothing is changed", said)
            self.assertFalse(self.out.exists())

    def test_a_command_that_is_writing_ends_and_leaves_nothing(self):
        self.config.unlink()
        for sent in (signal.SIGINT, signal.SIGTERM):
            command = [harness.PROGRAM, "ic", "plummer", "-n", "2e6", "-o", self.dir / "many.csv", "--quiet"]
            self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            self.wait_for(self.files)
            self.process.send_signal(sent)
            self.assertEqual(self.process.communicate(timeout=60), ("", "pergola: interrupted\n"))
            self.assertEqual((self.process.returncode, self.files()), (130, []))

    def test_wall_time_ends_with_a_checkpoint_before_it_is_over(self):
        command = ["run", self.config, "--set", "run.end_time = 999", "-o", self.out]
        # It foretells from the steps before: where the machine stops it for a second just then, it tries once more.
        for overwrite in ([], ["--overwrite"], ["--overwrite"]):
            begin = time.monotonic()
            result = harness.run([*command, *overwrite, "--wall-time", "0m4s"], timeout=60)
            self.assertEqual(result.returncode, 130, result.stderr)
            self.assertEqual(len(self.checkpoints()), 1)
            hint = result.stderr.split("Go on with: pergola ")[1].splitlines()[0]
            self.assertEqual(shlex.split(hint), [*map(str, command), "--resume"])
            self.assertGreater(time.monotonic() - begin, 2)
            # Its own clock: how long the machine takes to start and end a process is not the program's.
            took = json.loads((self.out / "run.json").read_text())["totals"]["wall_seconds"]
            if took < 4:
                break
        self.assertLess(took, 4)
        self.good("run", self.config, "-o", self.out, "--resume", "--quiet", "--set", "run.end_time=1000",
                  "--wall-time", "1h", "--print-config")

    def test_wall_times_as_slurm_writes_them(self):
        """The time that is over is one at which a run of minutes ends; others are only read."""
        for text in ("7:20", "0:07:20", "1-02:00:00", "1-2", "2-00:30", "90:00"):
            self.good("run", self.config, f"--wall-time={text}", "--print-config")
        for text in ("0:04", "0:00:04", "0-00:00:04"):
            command = ["run", self.config, "--set", "run.end_time = 999", "-o", self.out, "--overwrite", "--quiet"]
            self.assertEqual(harness.run([*command, "--wall-time", text], timeout=60).returncode, 130)
            self.assertEqual(json.loads((self.out / "run.json").read_text())["status"], "interrupted")

    def test_wall_times_that_mean_nothing_are_refused(self):
        for text in ("3", "h", "3x", "5m3h", "3h3h", "-3h", "0s", "3h 5m", "1e3s", "0:00", ":20", "7:", "7:60",
                     "1:2:3:4", "1-25:00", "1-2-3", "1-02:00:00:00", "1.5:00", "7m:20s", "-1:00", "1-"):
            self.bad(2, "run", self.config, f"--wall-time={text}", says=["--wall-time", text])

    def test_intervals_of_more_than_a_thousand_million_outputs_are_refused(self):
        for key in ("energy_every", "snapshots_every"):
            for value in ("1e-07", "1e-300"):
                self.bad(2, "run", self.config, "-o", self.out, "--set", f"output.{key}={value}",
                         says=[f"output.{key}", value, "1e9"])
                self.bad(2, "plan", self.config, "--set", f"output.{key}={value}", says=[f"output.{key}"])
        self.assertFalse(self.out.exists())


if __name__ == "__main__":
    harness.main()
