"""What the command-line tests share: the program under test, temporary directories, and what an error must look like."""

import csv
import importlib.util
import json
import os
import pathlib
import shutil
import subprocess
import tempfile
import time
import unittest

PROGRAM = os.environ.get("PERGOLA", "pergola")
# Open MPI's shared-memory store may hang when mpirun ends (docs/cluster.md); a defect of mpirun is not one of ours.
os.environ.setdefault("PMIX_MCA_gds", "hash")
SOURCE = pathlib.Path(os.environ.get("PERGOLA_SOURCE", pathlib.Path(__file__).resolve().parents[2]))


def run(args, launcher=(), **options):
    """Runs the program; stdout and stderr are text in the result. `launcher` stands before the program: mpirun -n 2."""
    options.setdefault("timeout", MPIRUN_SECONDS if launcher else 300)
    options.setdefault("stdout", subprocess.PIPE)
    return subprocess.run([*launcher, PROGRAM, *map(str, args)], stderr=subprocess.PIPE, text=True, **options)


def run_bits(directory):
    """What a run has computed: its snapshots, byte for byte, and the lines of its logs without the time they took."""
    bits = {path.name: path.read_bytes() for path in sorted([*directory.glob("*.h*5"), *directory.glob("tables/*.h*5")])}
    for path in sorted([*directory.glob("*.csv"), *directory.glob("tables/*.csv")]):
        if path.name != "profile.csv":
            with open(path) as file:
                bits[path.name] = [{k: v for k, v in row.items() if k != "wall"} for row in csv.DictReader(file)]
    return bits


def lines_said(stderr):
    """Without those of a command that waits, which a slow machine brings."""
    return [line for line in stderr.strip().splitlines() if not line.endswith(" so far")]


def has_module(name):
    return importlib.util.find_spec(name) is not None


def needs(*modules):
    """Skips a test with the names of the Python modules that are missing."""
    missing = [name for name in modules if not has_module(name)]
    return unittest.skipIf(missing, "needs the Python modules " + ", ".join(missing))


def slow(test):
    """A mark of a test or a class of tests: ctest runs it as cli.NAME.slow (scripts/test-all.sh slow)."""
    test.slow = True
    return test


class MarkedTests(unittest.TestLoader):
    """The tests that PERGOLA_TESTS in the environment names by mark: quick, slow, or all (the default)."""

    def getTestCaseNames(self, case):
        wanted = os.environ.get("PERGOLA_TESTS", "all")
        names = super().getTestCaseNames(case)
        if wanted == "all":
            return names
        return [name for name in names if (hasattr(case, "slow") or hasattr(getattr(case, name), "slow")) == (wanted == "slow")]


MPIRUN_SECONDS = 120
MPIRUN = ["mpirun", "--allow-run-as-root", "--oversubscribe", "-q", "-n", "2"]


def needs_mpi(test):
    """Skips a test where the program was built without MPI or there is no mpirun."""
    able = shutil.which("mpirun") and "MPI: yes" in run(["--version"]).stdout
    return unittest.skipUnless(able, "needs a build with MPI, and mpirun")(test)


class CliTest(unittest.TestCase):
    """A test with an empty directory of its own, `self.dir`."""

    def setUp(self):
        self.dir = pathlib.Path(tempfile.mkdtemp(prefix="pergola-cli-"))
        self.addCleanup(shutil.rmtree, self.dir, ignore_errors=True)

    def wait_until(self, true, seconds=60, what="what is waited for"):
        deadline = time.monotonic() + seconds
        while not true():
            self.assertLess(time.monotonic(), deadline, f"{what} did not come")
            time.sleep(0.01)

    def good(self, *args, **options):
        """Runs the program, which must succeed; returns its stdout."""
        result = run(args, **options)
        self.assertEqual(result.returncode, 0, f"{args}: {result.stderr}")
        return result.stdout

    def good_json(self, *args, **options):
        """The one JSON value that the program prints; NaN and Infinity are not JSON."""

        def refuse(word):
            raise AssertionError(f"{word} is not JSON")

        return json.loads(self.good(*args, "--json", **options), parse_constant=refuse)

    def bad(self, code, *args, says=(), **options):
        """Runs the program, which must fail with this exit code and one to three lines on stderr that hold every word
        of `says`; returns stderr."""
        result = run(args, **options)
        self.assertEqual(result.returncode, code, f"{args}: {result.stderr}")
        self.assertTrue(1 <= len(lines_said(result.stderr)) <= 3, result.stderr)
        self.assertIn(result.stdout, ("", None))
        for word in [says] if isinstance(says, str) else says:
            self.assertIn(word, result.stderr)
        return result.stderr

    def files(self):
        """The names of all files in the test's directory, hidden ones too."""
        return sorted(str(path.relative_to(self.dir)) for path in self.dir.rglob("*") if not path.is_dir())


def main():
    unittest.main(testLoader=MarkedTests())
