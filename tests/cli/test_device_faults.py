"""A device that has no memory left, whose kernel fails or that vanishes (PERGOLA_DEVICE_FAULT, src/device/device.cpp): exit code 4,
everything that was written is whole, and a resume comes to the bits of the undisturbed run; so does a resume that fails itself. On the CPU,
or where the environment's PERGOLA_TEST_DEVICE names another (cuda) there, and then each run is also resumed on the CPU."""

import os

import faults
import harness

DEVICE = os.environ.get("PERGOLA_TEST_DEVICE", "cpu")

MESH = faults.GRAVITY + """
[gravity]
solver = "mesh"
[gravity.mesh]
cells = 16
box = 20
boundary = "isolated"
[time]
integrator = "leapfrog"
step = 0.0078125
"""
TREEPM = faults.GRAVITY.replace("plummer", "cube") + """
[gravity]
solver = "treepm"
softening = 0.005
[time]
integrator = "leapfrog"
step = 0.0078125
"""


class DeviceFaults(harness.CliTest):
    def run_with(self, fault, *args):
        return harness.run(args, env={**os.environ, "PERGOLA_DEVICE_FAULT": fault})

    def failed(self, fault, out, *run):
        """Runs with a fault; whether it was come to. What is there then is whole."""
        result = self.run_with(fault, *run)
        if result.returncode == 0:
            return False
        self.assertEqual(result.returncode, 4, result.stderr)
        self.assertEqual(len(harness.lines_said(result.stderr)), 1, result.stderr)
        self.assertIn("PERGOLA_DEVICE_FAULT", result.stderr)
        if out.exists():
            self.good("info", out, "--verify")
        return True

    def hold(self, text):
        """Faults at the first call, then further and further on, until the run gets to its end; in a resume too (on the
        CPU one of a kind, for the sake of time)."""
        config, out, half = self.dir / "run.toml", self.dir / "out", self.dir / "half"
        end = float(text.split("end_time = ")[1].split()[0])
        config.write_text(text.replace('device = "cpu"', f'device = "{DEVICE}"'))
        run = ["run", config, "-o", out, "--quiet"]
        self.good("run", config, "-o", half, "--quiet", "--set", f"run.end_time={end / 2}")
        self.good(*run)
        wanted = harness.run_bits(out)
        for kind in ("alloc", "wait", "gone"):
            n, fresh, resumed = 1, 0, 0
            while True:
                with self.subTest(fault=f"{kind}:{n}"):
                    harness.shutil.rmtree(out)
                    if not self.failed(f"{kind}:{n}", out, *run):
                        break
                    fresh += 1
                    self.good(*run, "--resume")
                    self.assertEqual(harness.run_bits(out), wanted)
                with self.subTest(resume=f"{kind}:{n}"):
                    if n == 4 or DEVICE != "cpu":
                        harness.shutil.rmtree(out)
                        harness.shutil.copytree(half, out)
                        resumed += self.failed(f"{kind}:{n}", out, *run, "--resume")
                        self.good(*run, "--resume")
                        self.assertEqual(harness.run_bits(out), wanted)
                n = 3 * n + 1
            with self.subTest(kind=kind):
                self.assertEqual(harness.run_bits(out), wanted)
                self.assertGreater(fresh, 1)
                self.assertGreater(resumed, 0)
        if DEVICE != "cpu":
            self.goes_on_without(out, half, *run)

    def goes_on_without(self, out, half, *run):
        """The device is gone for good: the CPU takes over, and says that the bits will be others."""
        harness.shutil.rmtree(out)
        harness.shutil.copytree(half, out)
        result = harness.run([*run, "--resume", "--device", "cpu"])
        self.assertEqual(result.returncode, 0, result.stderr)
        self.good("info", out, "--verify")
        self.assertIn("not with the bits of a run that stays where it was", result.stderr)

    def test_hermite(self):
        self.hold(faults.GRAVITY)

    def test_tree(self):
        self.hold(faults.TREE)

    def test_mesh(self):
        self.hold(MESH)

    def test_treepm(self):
        self.hold(TREEPM)

    def test_plasma(self):
        self.hold(faults.PLASMA)

    def test_other_commands(self):
        particles = self.dir / "a.hdf5"
        self.good("ic", "plummer", "--n", 50, "-o", particles)
        for kind in ("alloc", "wait"):
            result = self.run_with(f"{kind}:1", "force", particles, "--solver", "direct", "--device", DEVICE, "--dump",
                                   self.dir / "f.hdf5")
            self.assertEqual(result.returncode, 4, result.stderr)
        self.assertEqual(self.files(), ["a.hdf5"])

    def test_another_text_is_refused(self):
        for text in ("alloc", "alloc:0", "alloc:x", "fire:1", ":1"):
            result = self.run_with(text, "ic", "plummer", "--n", 50, "-o", self.dir / "a.hdf5")
            self.assertEqual(result.returncode, 2, result.stderr)
            self.assertIn("PERGOLA_DEVICE_FAULT", result.stderr)


if __name__ == "__main__":
    harness.main()
