"""run.json holds hashes of program, configuration and particles, and --reproduce makes a run again and compares bits."""

import json
import shutil

import harness
from faults import GRAVITY as HERMITE, PLASMA, TREE

UNIVERSE = """
[run]
end_redshift = 40
device = "cpu"
threads = 1
[particles]
model = "cosmology"
n = "8^3"
box = 50
[gravity]
solver = "mesh"
[gravity.mesh]
cells = 16
"""


class Reproduce(harness.CliTest):
    def make(self, text=HERMITE, *options):
        """A run in out/; returns its record."""
        config = self.dir / "a.toml"
        config.write_text(text)
        shutil.rmtree(self.dir / "out", ignore_errors=True)
        self.good("run", config, "-o", self.dir / "out", "--quiet", *options)
        return self.record("out")

    def record(self, directory):
        return json.loads((self.dir / directory / "run.json").read_text())

    def change(self, **hashes):
        """Another record of out/ than it was."""
        record = self.record("out")
        record["hashes"].update(hashes)
        (self.dir / "out/run.json").write_text(json.dumps(record))

    def again(self, *options):
        """out/ made again; the result of the program."""
        shutil.rmtree(self.dir / "out-again", ignore_errors=True)
        return harness.run(["run", "--reproduce", self.dir / "out/run.json", "--quiet", *options])

    def test_the_same_bits_are_found_again(self):
        for text in (HERMITE, TREE, PLASMA, UNIVERSE):
            hashes = self.make(text)["hashes"]
            self.assertEqual(len({value for value in hashes.values() if value.startswith("xxh3:")}), 4, hashes)
            result = self.again()
            self.assertEqual(result.returncode, 0, result.stderr)
            self.assertIn("the same bits", result.stdout)
            self.assertEqual(len(result.stdout.splitlines()), 1)
            self.assertEqual(self.record("out-again")["hashes"], hashes)
            self.assertEqual(harness.run_bits(self.dir / "out-again"), harness.run_bits(self.dir / "out"))

    def test_hashes_do_not_depend_on_threads_or_sessions(self):
        whole = self.make()["hashes"]
        self.make(HERMITE, "--set", "run.end_time=0.0625")
        self.assertNotEqual(self.record("out")["hashes"]["final_state"], whole["final_state"])
        self.good("run", self.dir / "a.toml", "-o", self.dir / "out", "--resume", "--quiet", "--threads", "2")
        resumed = self.record("out")["hashes"]
        for name in ("initial_state", "final_state", "program"):
            self.assertEqual(resumed[name], whole[name], name)

    def test_a_state_has_the_hash_of_a_file_that_holds_it(self):
        for text in (HERMITE, TREE):
            final = self.make(text)["hashes"]["final_state"]
            shutil.copy(self.dir / "out/snap_002.hdf5", self.dir / "last.hdf5")
            going_on = text.replace('model = "plummer"\nn = 64', 'file = "last.hdf5"').replace("0.125", "0.25")
            self.assertEqual(self.make(going_on)["hashes"]["initial_state"], final)

    def test_other_particles_and_steps_have_other_hashes(self):
        whole = self.make()["hashes"]
        other = self.make(HERMITE, "--set", "particles.seed=2")["hashes"]
        for name in ("initial_state", "final_state", "configuration"):
            self.assertNotEqual(other[name], whole[name], name)
        other = self.make(HERMITE, "--set", "time.eta=0.01")["hashes"]
        self.assertEqual(other["initial_state"], whole["initial_state"])
        self.assertNotEqual(other["final_state"], whole["final_state"])

    def test_a_difference_is_said_with_what_may_have_made_it(self):
        self.make()
        self.change(final_state="xxh3:" + 32 * "0", program="xxh3:" + 32 * "1")
        result = self.again()
        self.assertEqual(result.returncode, 1, result.stderr)
        self.assertIn("DIFFER", result.stdout)
        self.assertIn("program: xxh3:1111", result.stdout)
        result = self.again("--json")
        said = json.loads(result.stdout)
        self.assertEqual((result.returncode, said["same"], len(said["differences"])), (1, False, 1))
        self.assertEqual(said["expected"], "xxh3:" + 32 * "0")
        self.assertEqual(said["found"], self.record("out-again")["hashes"]["final_state"])

    def test_a_file_of_particles_that_has_changed_is_named(self):
        particles = self.dir / "a.csv"
        self.good("ic", "plummer", "--n", "50", "--seed", "1", "-o", particles)
        self.make(HERMITE.replace('model = "plummer"\nn = 64', 'file = "a.csv"'))
        self.assertEqual(self.again().returncode, 0)
        lines = particles.read_text().splitlines()
        particles.write_text("\n".join([lines[0], *reversed(lines[1:])]) + "\n")  # order is never identity
        self.again()
        self.assertEqual(self.record("out-again")["hashes"]["initial_state"], self.record("out")["hashes"]["initial_state"])
        self.good("ic", "plummer", "--n", "50", "--seed", "2", "-o", particles, "--overwrite")
        result = self.again()
        self.assertEqual(result.returncode, 1, result.stderr)
        self.assertIn("particles at the start: xxh3:", result.stdout)
        particles.unlink()
        result = self.again()
        self.assertEqual(result.returncode, 2, result.stderr)
        self.assertIn("a.csv", result.stderr)

    def test_a_reproduction_goes_on_where_it_was_interrupted(self):
        record = self.make()
        self.good("run", self.dir / "a.toml", "-o", self.dir / "half", "--quiet", "--set", "run.end_time=0.0625")
        result = self.again("-o", self.dir / "half", "--resume")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("the same bits", result.stdout)
        self.assertEqual(self.record("half")["hashes"]["final_state"], record["hashes"]["final_state"])
        # A run that would last for minutes.
        record["configuration_toml"] = record["configuration_toml"].replace("end_time = 0.125", "end_time = 100000")
        (self.dir / "out/run.json").write_text(json.dumps(record))
        result = harness.run(["run", "--reproduce", self.dir / "out/run.json", "--wall-time", "1s"])
        self.assertEqual(result.returncode, 130, result.stderr)
        self.assertIn(f"pergola run --reproduce {self.dir}/out/run.json -o {self.dir}/out-again --resume", result.stderr)
        self.assertEqual(result.stdout, "")

    def test_what_cannot_be_made_again_is_refused(self):
        self.make()
        record = self.dir / "out/run.json"
        self.bad(2, "run", "--reproduce", self.dir / "none.json", says="none.json")
        self.bad(2, "run", "--reproduce", self.dir / "out", says="directory")
        self.bad(2, "run", "--reproduce", self.dir / "a.toml", says="not a JSON object")
        self.bad(2, "run", self.dir / "a.toml", "--reproduce", record, says="--reproduce")
        self.bad(2, "run", "--reproduce", record, "--set", "run.end_time=2", says="--set")
        before = record.read_bytes()
        for options in ([], ["--overwrite"], ["--resume"]):
            self.bad(2, "run", "--reproduce", record, "-o", self.dir / "out", *options, says="another directory")
        self.assertEqual(record.read_bytes(), before)
        self.bad(2, "run", says="CONFIG")
        self.change(final_state=None)
        self.bad(2, "run", "--reproduce", record, says="no hash of the final state")
        record.write_text(record.read_text().replace('"finished"', '"interrupted"'))
        self.bad(2, "run", "--reproduce", record, says="interrupted")
        self.assertFalse((self.dir / "out-again").exists())


if __name__ == "__main__":
    harness.main()
