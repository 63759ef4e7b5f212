"""Several processes give the same bits as one."""

import csv
import json
import os
import pathlib
import re
import signal
import subprocess
import time

import harness
import mpi_case

CONFIG = """
[run]
end_time = 0.25
device = "cpu"
threads = 1
[particles]
model = "plummer"
n = 200
[time]
integrator = "{integrator}"
[output]
snapshots_every = 0.125
energy_every = 0.0625
"""

MESH = """
[run]
end_time = 0.25
device = "cpu"
threads = 1
[particles]
model = "cube"
n = 300
[gravity]
solver = "mesh"
[gravity.mesh]
cells = 16
[time]
step = 0.03125
[output]
snapshots_every = 0.1
energy_every = 0.0625
analyses = ["power", "groups", "mass-function", "profile"]
groups = { least = 4, linking = 0.5 }
mass-function = { least = 4, linking = 0.5 }
profile = { least = 4, linking = 0.5, groups = 3, bins = 4, from = 0.05, to = 0.3 }
"""

TREE = """
[run]
end_time = 0.25
device = "cpu"
threads = 1
[particles]
model = "plummer"
n = 500
[gravity]
solver = "tree"
softening = 0.05
[time]
integrator = "leapfrog"
steps = "shared"
step = 0.03125
[output]
snapshots_every = 0.125
energy_every = 0.0625
analyses = ["profile"]
"""

# Two spans of sources, which three ranks do not have whole.
DIRECT = """
[run]
end_time = 0.25
device = "cpu"
threads = 1
[particles]
model = "plummer"
n = 1500
[gravity]
solver = "direct"
softening = 0.05
[time]
{time}
[output]
snapshots_every = 0.125
energy_every = 0.0625
"""

TREEPM = """
[run]
end_time = 0.25
device = "cpu"
threads = 1
[particles]
model = "cube"
n = 300
[gravity]
solver = "treepm"
softening = 0.005
[gravity.mesh]
boundary = "periodic"
box = 1.0
[gravity.tree]
accuracy = 1e-2
[time]
step = 0.0625
[output]
energy_every = 0.125
"""

UNIVERSE = """
[run]
end_redshift = 30
device = "cpu"
threads = 1
[particles]
model = "cosmology"
n = "15^3"
[cosmology]
omega_matter = 0.3
[gravity]
solver = "mesh"
[gravity.mesh]
cells = 16
[time]
step = 0.125
[output]
energy_every = 0.25
"""

# Three rows of tiles; electrons cross one in a few steps.
PLASMA = """
[run]
end_time = 0.25
device = "cpu"
[plasma]
cells = [16, 40]
background = true
[[plasma.species]]
name = "electrons"
charge = -1
mass = 1
particles_per_cell = 4
temperature = 100
start = "random"
[time]
step = 0.0625
[output]
energy_every = 0.125
spectrum_every = 1
"""

class MpiTest(mpi_case.MpiCase):
    def config(self, integrator="hermite"):
        path = self.dir / f"{integrator}.toml"
        path.write_text(CONFIG.format(integrator=integrator))
        return path

    def contents(self, directory):
        """All snapshots as text, what was made of them, and energy.csv without the wall clock."""
        with open(self.dir / directory / "energy.csv") as file:
            out = [{name: value for name, value in row.items() if name != "wall"} for row in csv.DictReader(file)]
        for path in sorted((self.dir / directory).glob("plasma_*.h5")):
            import h5py
            with h5py.File(path) as file:
                file.visititems(lambda name, item: out.append((name, item[()].tobytes()))
                                if isinstance(item, h5py.Dataset) else None)
        for path in sorted((self.dir / directory).glob("snap_*.hdf5")):
            target = self.dir / f"{directory}-{path.name}.csv"
            self.good("convert", path, target, "--overwrite")
            out.append(target.read_text())
        for tables in ("power_*.csv", "groups_*.csv", "mass-function_*.csv", "profile_*.csv", "spectrum.csv"):
            out += [path.read_text() for path in sorted((self.dir / directory / "tables").glob(tables))]
        return out

    def test_ranks_give_the_same_bits(self):
        for integrator in ("hermite", "leapfrog"):
            config = self.config(integrator)
            self.good("run", config, "-o", self.dir / f"{integrator}-0", "--quiet")
            for ranks in (1, 2, 3):
                name = f"{integrator}-{ranks}"
                result = self.mpirun(ranks, "run", config, "-o", self.dir / name, "--quiet")
                self.assertEqual(result.returncode, 0, result.stderr)
                self.assertEqual(self.contents(name), self.contents(f"{integrator}-0"), name)
                self.assertEqual(json.loads((self.dir / name / "run.json").read_text())["ranks"], ranks)

    def test_ranks_that_keep_their_own_particles_leave_the_files_of_one(self):
        self.leave_the_files_of_one(MESH)

    def test_ranks_with_a_tree_that_keep_their_own_particles_leave_the_files_of_one(self):
        self.leave_the_files_of_one(TREE)

    def test_ranks_with_a_direct_sum_that_keep_their_own_particles_leave_the_files_of_one(self):
        time = 'integrator = "leapfrog"\nsteps = "block"\neta = 0.2'
        self.leave_the_files_of_one(DIRECT.format(time=time), resumed=3)

    def test_ranks_with_hermite_that_keep_their_own_particles_leave_the_files_of_one(self):
        self.leave_the_files_of_one(DIRECT.format(time='integrator = "hermite"\neta = 0.05'), resumed=3)

    def test_ranks_with_treepm_that_keep_their_own_particles_leave_the_files_of_one(self):
        self.leave_the_files_of_one(TREEPM, resumed=3)

    def test_ranks_that_make_a_universe_together_leave_the_files_of_one(self):
        config = self.dir / "universe.toml"
        config.write_text(UNIVERSE)
        self.good("run", config, "-o", self.dir / "one", "--quiet")
        result = self.mpirun(2, "run", config, "-o", self.dir / "two", "--quiet")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(self.contents("two"), self.contents("one"))

    @harness.needs("h5py")
    def test_ranks_with_slabs_of_a_plasma_leave_the_files_of_one(self):
        self.leave_the_files_of_one(PLASMA, runs=(2, 4), resumed=3)

    def leave_the_files_of_one(self, text, runs=(2, 4), resumed=2):
        config = self.dir / "config.toml"
        config.write_text(text)
        self.good("run", config, "-o", self.dir / "one", "--quiet")
        for ranks in runs:
            result = self.mpirun(ranks, "run", config, "-o", self.dir / f"of-{ranks}", "--quiet")
            self.assertEqual(result.returncode, 0, result.stderr)
            self.assertEqual(self.contents(f"of-{ranks}"), self.contents("one"), ranks)
        result = self.mpirun(runs[-1], "run", config, "-o", self.dir / "parts", "--quiet",
                             "--set", "run.end_time=0.125")
        self.assertEqual(result.returncode, 0, result.stderr)
        result = self.mpirun(resumed, "run", config, "-o", self.dir / "parts", "--quiet", "--resume")
        self.assertEqual(result.returncode, 0, result.stderr)
        hashes = {json.loads((self.dir / name / "run.json").read_text())["hashes"]["final_state"]
                  for name in ("one", "parts", *(f"of-{ranks}" for ranks in runs))}
        self.assertEqual(len(hashes), 1, hashes)

    @harness.needs("h5py")
    def test_ranks_write_the_files_of_a_snapshot_together(self):
        import h5py
        config = self.dir / "config.toml"
        config.write_text(TREE + "files = 3\n")
        self.good("run", config, "-o", self.dir / "one", "--quiet")
        names = sorted(path.name for path in (self.dir / "one").glob("snap_*"))
        self.assertEqual(len(names), 9)
        for ranks in (2, 3, 4):
            result = self.mpirun(ranks, "run", config, "-o", self.dir / f"of-{ranks}", "--quiet")
            self.assertEqual(result.returncode, 0, result.stderr)
            self.assertEqual(sorted(path.name for path in (self.dir / f"of-{ranks}").glob("snap_*")), names)
            for name in names:
                self.assertEqual((self.dir / f"of-{ranks}" / name).read_bytes(), (self.dir / "one" / name).read_bytes(),
                                 f"{name} of {ranks} ranks")
        ids = []
        for number in range(3):
            with h5py.File(self.dir / "of-3" / f"snap_002.{number}.hdf5") as file:
                self.assertEqual(file["Header"].attrs["NumPart_Total"][1], 500)
                self.assertEqual(file["Header"].attrs["NumFilesPerSnapshot"], 3)
                ids += list(file["PartType1/ParticleIDs"][:])
        self.assertEqual(ids, list(range(1, 501)))
        listed = {one["name"]: one for one in self.good_json("info", self.dir / "of-2")["pieces"]}
        for name, files in (("snap_002.hdf5", "snap_002.*"), ("checkpoint/checkpoint_000001.pgc", "checkpoint/*")):
            sizes = [path.stat().st_size for path in (self.dir / "of-2").glob(files)]
            self.assertEqual((listed[name]["files"], listed[name]["bytes"]), (3, sum(sizes)), name)
        self.good("convert", self.dir / "of-2" / "snap_002.hdf5", self.dir / "all.csv")
        self.assertEqual(len((self.dir / "all.csv").read_text().splitlines()), 501)

    def test_a_wrong_command_ends_at_once(self):
        for command in (["analyze", "radii", "nothing.hdf5"], ["picture", "nothing.hdf5", "-o", "a.png"],
                        ["analyze", "power", "nothing.hdf5"],
                        ["analyze", "groups", "nothing.hdf5"], ["ic", "plummer", "--n", "0", "-o", "a.hdf5"]):
            begin = time.monotonic()
            result = self.mpirun(2, *command)
            self.assertEqual(result.returncode, 2, result.stderr)
            self.assertLess(time.monotonic() - begin, 4.5, "ranks waited for each other")
            self.assertEqual(sum(line.startswith("pergola") for line in result.stderr.splitlines()), 1, result.stderr)

    def test_one_rank_speaks_and_says_where_the_time_of_all_went(self):
        result = self.mpirun(2, "run", self.config(), "-o", self.dir / "out")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(result.stdout.count("energy error"), 1)
        self.assertEqual(result.stdout.count("2 ranks: each worked"), 1)
        record = json.loads((self.dir / "out" / "run.json").read_text())
        self.assertGreater(record["memory"]["most_bytes"], 2**23)  # more than a program takes that does nothing
        self.assertLess(record["memory"]["most_bytes"], 2**30)
        times = record["rank_times"]
        self.assertGreaterEqual(times["imbalance"], 1)
        self.assertGreater(times["bytes"], 200 * 7 * 8)
        with open(self.dir / "out" / "profile.csv") as file:
            force = next(row for row in csv.DictReader(file) if row["stage"] == "force")
        self.assertGreaterEqual(float(force["work_most"]), float(force["work_mean"]))
        self.assertLess(float(force["work_mean"]), float(force["seconds"]))

    def test_run_resumed_on_another_number_of_ranks(self):
        config = self.config()
        result = self.mpirun(2, "run", config, "-o", self.dir / "a", "--quiet", "--set", "run.end_time=0.125")
        self.assertEqual(result.returncode, 0, result.stderr)
        result = self.mpirun(3, "run", config, "-o", self.dir / "a", "--quiet", "--resume")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.good("run", config, "-o", self.dir / "b", "--quiet")
        self.assertEqual(self.contents("a"), self.contents("b"))

    def test_a_killed_rank_ends_the_job_and_fewer_ranks_go_on(self):
        config, out = self.dir / "mesh.toml", self.dir / "out"
        config.write_text(MESH.replace("end_time = 0.25", "end_time = 1e6") + "checkpoint_every_minutes = 0.002\n")
        environment = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
        job = subprocess.Popen([mpi_case.MPIRUN, "--oversubscribe", "-n", "3", harness.PROGRAM, "run", config, "-o", out, "--quiet"],
                               stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, env=environment)
        self.wait_until(lambda: len(list(out.glob("checkpoint/*"))) >= 6, what="two checkpoints of several files")
        ranks = pathlib.Path(f"/proc/{job.pid}/task/{job.pid}/children").read_text().split()
        self.assertEqual(len(ranks), 3)
        os.kill(int(ranks[1]), signal.SIGKILL)
        said = job.communicate(timeout=15)[1]
        self.assertNotEqual(job.returncode, 0)
        self.assertRegex(said, "rank 1 .*signal 9")
        self.assertNotIn("pergola: ", said)
        with open(out / "energy.csv") as file:
            reached = float(list(csv.DictReader(file))[-1]["time"])
        end = ["--quiet", "--set", f"run.end_time={reached + 0.25}"]
        result = self.mpirun(2, "run", config, "-o", out, "--resume", *end)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.good("run", config, "-o", self.dir / "whole", *end)
        hashes = {json.loads((folder / "run.json").read_text())["hashes"]["final_state"] for folder in (out, self.dir / "whole")}
        self.assertEqual(len(hashes), 1, hashes)

    def test_a_signal_to_any_rank_ends_the_run_with_a_checkpoint(self):
        config, out = self.dir / "mesh.toml", self.dir / "out"
        config.write_text(MESH.replace("end_time = 0.25", "end_time = 1e6"))
        environment = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
        job = subprocess.Popen([mpi_case.MPIRUN, "--oversubscribe", "-n", "2", harness.PROGRAM, "run", config, "-o", out],
                               stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, env=environment)
        self.wait_until(lambda: len(list(out.glob("snap_*"))) >= 2, what="a run that has begun")
        ranks = pathlib.Path(f"/proc/{job.pid}/task/{job.pid}/children").read_text().split()
        os.kill(int(ranks[1]), signal.SIGTERM)
        said = job.communicate(timeout=15)[1]
        self.assertEqual(job.returncode, 130, said)
        self.assertEqual(said.count("interrupted; a checkpoint is written"), 1, said)
        self.assertEqual(len(list(out.glob("checkpoint/*.pgc"))), 1)

    def test_an_error_is_said_once_and_ends_all(self):
        (self.dir / "two.csv").write_text("id,mass,x,y,z,vx,vy,vz\n15,1,1,0,0,0,0,0\n16,1,1,0,0,0,0,0\n")
        config = self.dir / "two.toml"
        config.write_text('[particles]\nfile = "two.csv"\n[run]\ndevice = "cpu"\n[gravity]\nsoftening = 0\n')
        result = self.mpirun(2, "run", config, "-o", self.dir / "out")
        self.assertEqual(result.returncode, 1, result.stderr)
        self.assertEqual(result.stderr.count("ids 15 and 16") + result.stderr.count("ids 16 and 15"), 1, result.stderr)

    def test_directory_that_is_not_empty_is_refused_on_all_ranks(self):
        (self.dir / "out").mkdir()
        (self.dir / "out" / "thesis.tex").write_text("mine")
        result = self.mpirun(2, "run", self.config(), "-o", self.dir / "out")
        self.assertEqual(result.returncode, 2, result.stderr)
        self.assertEqual(result.stderr.count("not empty"), 1)

    def refused(self, *args, says):
        """Two ranks with what each of them is started with; `args` holds a colon."""
        environment = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
        result = subprocess.run([mpi_case.MPIRUN, "--oversubscribe", *map(str, args)], stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, text=True, timeout=60, env=environment)
        self.assertEqual(result.returncode, 2, result.stderr)
        for word in says:
            self.assertIn(word, result.stderr)
        self.assertEqual(result.stderr.count("rank 1"), 1, result.stderr)
        self.assertFalse((self.dir / "out").exists())

    def test_ranks_with_another_configuration_are_named_with_the_key(self):
        for key, value in (("end_time", "0.5"), ("precision", '"double"')):
            for number, more in enumerate(("", f"{key} = {value}\n")):
                (self.dir / f"at{number}").mkdir(exist_ok=True)
                text = CONFIG.format(integrator="hermite")
                if more:
                    text = text.replace("end_time = 0.25\n", "" if key == "end_time" else "end_time = 0.25\n")
                    text = text.replace("[run]\n", "[run]\n" + more)
                (self.dir / f"at{number}" / "c.toml").write_text(text)
            each = [harness.PROGRAM, "run", "c.toml", "-o", self.dir / "out"]
            self.refused("-n", 1, "--wdir", self.dir / "at0", *each, ":", "-n", 1, "--wdir", self.dir / "at1", *each,
                         says=[f"run.{key}", value])

    def test_ranks_with_another_command_are_named(self):
        one = [harness.PROGRAM, "run", self.config(), "-o", self.dir / "out"]
        self.refused("-n", 1, *one, ":", "-n", 1, *one, "--set", "time.eta=0.1", says=["command", "time.eta=0.1"])
        self.refused("-n", 1, *one, ":", "-n", 1, harness.PROGRAM, "devices", says=["command", "devices"])

    def test_ranks_with_another_program_are_named(self):
        commit = re.search(r"commit ([0-9a-f]{12})", harness.run(["--version"]).stdout)
        if not commit:
            self.skipTest("a build that knows no commit")
        other = self.dir / "other"
        other.write_bytes(pathlib.Path(harness.PROGRAM).read_bytes().replace(commit[1].encode(), b"123456789abc"))
        other.chmod(0o755)
        args = ["run", self.config(), "-o", self.dir / "out"]
        self.refused("-n", 1, harness.PROGRAM, *args, ":", "-n", 1, other, *args, says=["version", commit[1], "123456789abc"])

    def test_threads_may_differ_from_rank_to_rank(self):
        one = [harness.PROGRAM, "run", str(self.config()), "-o", str(self.dir / "out"), "--quiet"]
        environment = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
        result = subprocess.run([mpi_case.MPIRUN, "--oversubscribe", "-n", "1", *one, "--threads", "2", ":", "-n", "1", *one],
                                stderr=subprocess.PIPE, text=True, timeout=60, env=environment)
        self.assertEqual(result.returncode, 0, result.stderr)


if __name__ == "__main__":
    harness.main()
