"""A device that has no memory left, whose kernel fails or that vanishes (PERGOLA_DEVICE_FAULT, src/device/faulty_memory.hpp): exit code 4,
everything that was written is whole, and a resume comes to the bits of the undisturbed run. The CPU here; a GPU fails at the same seam."""

import os

import faults
import harness

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


class DeviceFaults(harness.CliTest):
    def run_with(self, fault, *args):
        return harness.run(args, env={**os.environ, "PERGOLA_DEVICE_FAULT": fault})

    def hold(self, text):
        """Faults at the first call, then further and further on, until the run gets to its end."""
        config, out = self.dir / "run.toml", self.dir / "out"
        config.write_text(text)
        run = ["run", config, "-o", out, "--quiet"]
        harness.shutil.rmtree(out, ignore_errors=True)
        self.good(*run)
        wanted = harness.run_bits(out)
        for kind in ("alloc", "wait", "gone"):
            n, failed = 1, 0
            while True:
                with self.subTest(fault=f"{kind}:{n}"):
                    harness.shutil.rmtree(out, ignore_errors=True)
                    result = self.run_with(f"{kind}:{n}", *run)
                    if result.returncode == 0:
                        break
                    failed += 1
                    self.assertEqual(result.returncode, 4, result.stderr)
                    self.assertEqual(len(result.stderr.strip().splitlines()), 1, result.stderr)
                    self.assertIn("PERGOLA_DEVICE_FAULT", result.stderr)
                    if out.exists():
                        self.good("info", out, "--verify")
                    self.good(*run, "--resume")
                    self.assertEqual(harness.run_bits(out), wanted)
                n = 3 * n + 1
            with self.subTest(kind=kind):
                self.assertEqual(harness.run_bits(out), wanted)
                self.assertGreater(failed, 1)

    def test_hermite(self):
        self.hold(faults.GRAVITY)

    def test_tree(self):
        self.hold(faults.TREE)

    def test_mesh(self):
        self.hold(MESH)

    def test_plasma(self):
        self.hold(faults.PLASMA)

    def test_other_commands(self):
        particles = self.dir / "a.hdf5"
        self.good("ic", "plummer", "--n", 50, "-o", particles)
        for kind in ("alloc", "wait"):
            result = self.run_with(f"{kind}:1", "force", particles, "--solver", "direct", "--device", "cpu", "--dump",
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
