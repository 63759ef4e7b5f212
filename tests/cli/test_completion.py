"""scripts/completion.bash: what Tab offers in bash, asked as bash asks it."""

import shutil
import subprocess
import unittest

import harness


@unittest.skipUnless(shutil.which("bash"), "needs bash")
class CompletionTest(harness.CliTest):
    def offered(self, *words):
        """What is offered for the last word after these."""
        (self.dir / "pergola").symlink_to(shutil.which(harness.PROGRAM))
        script = 'source "$0"; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _pergola; printf "%s\\n" "${COMPREPLY[@]}"'
        result = subprocess.run(["bash", "-c", script, str(harness.SOURCE / "scripts" / "completion.bash"), str(self.dir / "pergola"), *words],
                                capture_output=True, text=True, timeout=120, cwd=self.dir)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        (self.dir / "pergola").unlink()
        return result.stdout.split()

    def test_commands(self):
        self.assertEqual(self.offered("pl"), ["plan", "plot"])
        self.assertIn("g6-replay", self.offered(""))

    def test_models_and_analyses(self):
        self.assertEqual(self.offered("ic", "plu"), ["plummer"])
        self.assertIn("mass-function", self.offered("analyze", ""))
        self.assertEqual(self.offered("analyze", "prof"), ["profile", "profiles"])
        self.assertIn("--groups", self.offered("analyze", "profiles", "--gr"))

    def test_options(self):
        self.assertEqual(self.offered("run", "--res"), ["--resume"])
        self.assertEqual(self.offered("ic", "king", "--w"), ["--w0"])
        self.assertIn("--n", self.offered("ic", "king", "--"))  # of ic itself
        self.assertEqual(self.offered("plan", "--thr"), ["--threads"])
        self.assertEqual(self.offered("run", "--device", "c"), ["cpu", "cuda"])

    def test_keys_of_the_configuration(self):
        shutil.copy(harness.SOURCE / "examples" / "two-stream.toml", self.dir / "streams.toml")
        self.assertEqual(self.offered("run", "streams.toml", "--set", "plasma.sm"), ["plasma.smoothing="])
        self.assertEqual(self.offered("run", "streams.toml", "--set", "run.end"), ["run.end_time="])

    def test_files_are_left_to_bash(self):
        self.assertEqual(self.offered("run", "exam"), [])


if __name__ == "__main__":
    harness.main()
