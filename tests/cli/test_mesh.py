"""Particle-mesh gravity as a user calls it: run, resume, plan, force, several processes, and what is refused."""

import csv
import json
import signal
import subprocess
import time

import harness

CONFIG = """
[run]
end_time = 0.4
device = "cpu"
[particles]
model = "{model}"
n = {n}
{options}
[gravity]
solver = "mesh"
[gravity.mesh]
cells = {cells}
boundary = "{boundary}"
[time]
integrator = "leapfrog"
step = 0.01
[output]
snapshots_every = 0.1
energy_every = 0.1
"""

HEADER = "id,mass,x,y,z,vx,vy,vz\n"
FULL = ["--set", "gravity.solver=mesh", "--set", "time.integrator=leapfrog"]


class MeshTest(harness.CliTest):
    def cube(self, n=4000, cells=16, name="cube.toml", options="speed = 0.3"):
        path = self.dir / name
        path.write_text(CONFIG.format(model="cube", n=n, cells=cells, boundary="periodic", options=options))
        return path

    def plummer(self, n=4000, cells=32, name="plummer.toml", options="cutoff = 5.0"):
        path = self.dir / name
        path.write_text(CONFIG.format(model="plummer", n=n, cells=cells, boundary="isolated", options=options))
        return path

    def file_config(self, rows, mesh, name="file"):
        """A configuration for particles in a CSV file with the given keys of [gravity.mesh]."""
        (self.dir / f"{name}.csv").write_text(HEADER + "".join(rows))
        path = self.dir / f"{name}.toml"
        path.write_text(f'[run]\nend_time = 0.02\ndevice = "cpu"\n[particles]\nfile = "{name}.csv"\n[gravity]\n'
                        f'solver = "mesh"\n[gravity.mesh]\ncells = 16\n{mesh}\n[time]\nintegrator = "leapfrog"\n')
        return path

    def record(self, directory):
        return json.loads((self.dir / directory / "run.json").read_text())

    def contents(self, directory):
        """All snapshots as text, and energy.csv without the wall clock."""
        out = [line.rsplit(",", 1)[0] for line in (self.dir / directory / "energy.csv").read_text().splitlines()]
        for path in sorted((self.dir / directory).glob("snap_*.hdf5")):
            target = self.dir / f"{directory}-{path.name}.csv"
            self.good("convert", path, target, "--overwrite")
            out.append(target.read_text())
        return out


class Run(MeshTest):
    def test_stages_box_and_energy_are_recorded(self):
        self.good("run", self.cube(), "-o", self.dir / "out", "--quiet")
        record = self.record("out")
        self.assertEqual(record["mesh"], {"box_corner": [0, 0, 0], "box_side": [1, 1, 1], "boundary": "periodic",
                                          "particles_outside": 0})
        self.assertEqual(record["precision"], "single")
        self.assertLess(abs(record["energy_error"]), 0.01)
        with open(self.dir / "out" / "profile.csv") as file:
            stages = {row["stage"]: int(row["calls"]) for row in csv.DictReader(file)}
        for stage in ("cell assignment", "histogram", "density", "Poisson", "force x y z", "velocity x y z", "position"):
            self.assertGreaterEqual(stages.get(stage, 0), 40, stage)

    def test_every_combination_that_is_allowed_runs(self):
        periodic, isolated = self.cube(n=500), self.plummer(n=500, cells=16)
        for config in (periodic, isolated):
            for assignment in ("ngp", "cic", "tsc"):
                for poisson, gradient in (("fft", "two-point"), ("fft", "four-point"), ("multigrid", "two-point"),
                                          ("fft", "spectral")):
                    if config == isolated and gradient == "spectral":
                        continue
                    self.good("run", config, "-o", self.dir / "out", "--overwrite", "--quiet",
                              *self.sets(f"gravity.mesh.assignment={assignment}", f"gravity.mesh.poisson={poisson}",
                                         f"gravity.mesh.gradient={gradient}", "run.end_time=0.02"))
        for more in (["gravity.mesh.deconvolve=true", "gravity.mesh.laplacian=spectral"],
                     ["gravity.mesh.poisson=multigrid", "gravity.mesh.multigrid=v", "gravity.mesh.cells=32"],
                     ["time.adaptive=true", "time.courant=0.5"], ["run.precision=double"],
                     ["gravity.mesh.cells=[16, 24, 10]"], ["gravity.mesh.density=sorted"], ["time.leapfrog=kick-drift-kick"]):
            self.good("run", periodic, "-o", self.dir / "out", "--overwrite", "--quiet",
                      *self.sets("run.end_time=0.02", *more))

    def sets(self, *keys):
        return [word for key in keys for word in ("--set", key)]

    def test_interrupted_run_resumes_to_the_same_bits(self):
        config = self.cube(n=30000, cells=32)
        command = [harness.PROGRAM, "run", str(config), "-o", str(self.dir / "a"), "--quiet", "--set", "run.end_time=1000"]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        deadline = time.monotonic() + 60
        while not (self.dir / "a" / "snap_001.hdf5").exists():
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=60)
        self.assertEqual(process.returncode, 130)
        end = self.sets(f"run.end_time={int(self.record('a')['time'] / 0.1 + 2) / 10}")
        self.good("run", config, "-o", self.dir / "a", "--quiet", "--resume", *end)
        self.good("run", config, "-o", self.dir / "b", "--quiet", "--threads", 1, *end)
        self.assertEqual(self.contents("a"), self.contents("b"))
        self.assertEqual(self.record("a")["mesh"], self.record("b")["mesh"])

    def test_print_config_reads_back_to_itself(self):
        sets = self.sets("gravity.mesh.cells=[32, 48, 20]", "gravity.mesh.box=[2, 3, 1.25]", "gravity.mesh.box_corner=-0.5",
                         "gravity.mesh.assignment=tsc", "gravity.mesh.gradient=four-point", "gravity.mesh.density=sorted",
                         "gravity.mesh.multigrid=v", "gravity.mesh.poisson=multigrid", "time.courant=0.125",
                         "time.leapfrog=kick-drift-kick")
        text = self.good("run", self.cube(), "--print-config", *sets)
        for line in ('cells = [32, 48, 20]', 'box = [2, 3, 1.25]', 'assignment = "tsc"', 'multigrid = "v"',
                     'courant = 0.125'):
            self.assertIn(line, text)
        again = self.dir / "again.toml"
        again.write_text(text)
        self.assertEqual(self.good("run", again, "--print-config"), text)

    def test_particles_that_leave_an_isolated_box_are_kept_and_counted(self):
        rows = ["1,1,0,0,0,0,0,0\n", "2,0.001,0.9,0,0,30,0,0\n", "3,0.001,-0.5,0.5,0,0,0,0\n"]
        config = self.file_config(rows, 'boundary = "isolated"\nbox = 4')
        result = harness.run(["run", config, "-o", self.dir / "out", "--set", "run.end_time=0.1", "--set", "units.system=nbody"])
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("1 of 3 particles are outside the mesh", result.stderr)
        record = self.record("out")
        self.assertEqual((record["n"], record["mesh"]["particles_outside"]), (3, 1))
        last = sorted((self.dir / "out").glob("snap_*.hdf5"))[-1]
        self.good("convert", last, self.dir / "last.csv")
        rows = {row["id"]: row for row in csv.DictReader((self.dir / "last.csv").read_text().splitlines())}
        self.assertGreater(float(rows["2"]["x"]), 3.5)

    def test_a_mesh_with_all_but_one_particle_in_a_cell_is_warned_of(self):
        near = [f"{k},1,{k % 3 - 1},{k // 3 % 3 - 1},{k // 9 - 1},0,0,0\n" for k in range(1, 27)]
        config = self.file_config(near + ["99,1,1e4,0,0,0,0,0\n"], 'boundary = "isolated"')
        warning = "gravity.mesh.cells: half of the mass lies within"
        self.assertIn(warning, harness.run(["run", config, "-o", self.dir / "far"]).stderr)
        config = self.file_config(near, 'boundary = "isolated"')
        self.assertNotIn(warning, harness.run(["run", config, "-o", self.dir / "near"]).stderr)

    def test_particles_at_the_upper_edge_of_a_periodic_box(self):
        rows = ["1,1,1,1,1,0,0,0\n", "2,1,0.5,0.5,0.5,0,0,0\n"]
        config = self.file_config(rows, "box = 1")
        self.good("run", config, "-o", self.dir / "out", "--quiet")
        self.good("convert", self.dir / "out" / "snap_000.hdf5", self.dir / "first.csv")
        first = next(csv.DictReader((self.dir / "first.csv").read_text().splitlines()))
        self.assertEqual([float(first[axis]) for axis in "xyz"], [0, 0, 0])  # the upper edge is the lower one

    def test_all_particles_in_one_cell(self):
        rows = [f"{k},1e-6,{0.51 + 1e-4 * k},{0.52},{0.53},0,0,0\n" for k in range(1, 101)]
        for boundary in ("periodic", "isolated"):
            corner = "" if boundary == "periodic" else "\nbox_corner = 0"
            config = self.file_config(rows, f'boundary = "{boundary}"\nbox = 1{corner}', name=boundary)
            self.good("run", config, "-o", self.dir / f"out-{boundary}", "--quiet")
            self.assertEqual(self.record(f"out-{boundary}")["mesh"]["particles_outside"], 0)


class PlanAndForce(MeshTest):
    def test_plan_says_the_memory_of_the_mesh(self):
        # Each thread has work memory of its own.
        small = self.good_json("plan", self.cube(), "--quiet", "--threads", "2")
        large = self.good_json("plan", self.cube(), "--set", "gravity.mesh.cells=64", "--quiet", "--threads", "2")
        self.assertTrue(small["memory"]["fits"])
        self.assertEqual(small["steps"], 40)
        more = large["memory"]["device_bytes"] - small["memory"]["device_bytes"]
        cells = 64**3 - 16**3
        self.assertGreater(more / cells, 4)
        self.assertLess(more / cells, 40)

    def test_force_in_a_periodic_box_is_compared_with_the_ewald_sum(self):
        # Eight particles far apart, no two in line along an axis.
        rows = [f"{k},1,{k * 0.618 % 1},{(0.1 + k * 0.414) % 1},{(0.2 + k * 0.732) % 1},0,0,0\n" for k in range(8)]
        (self.dir / "few.csv").write_text(HEADER + "".join(rows))
        for gradient in ("two-point", "four-point", "spectral"):
            report = self.good_json("force", self.dir / "few.csv", *FULL, "--set", "gravity.mesh.box=1", "--set",
                                    "gravity.mesh.assignment=tsc", "--set", "gravity.mesh.cells=64", "--set",
                                    f"gravity.mesh.gradient={gradient}", "--device", "cpu", "--quiet")
            self.assertEqual((report["solver"], report["n"], report["error"]["sample"]), ("mesh", 8, 8))
            self.assertIsNone(report["interactions_per_second"])
            # The spectral gradient rings along the axes about points.
            self.assertLess(report["error"]["median" if gradient == "spectral" else "max"], 0.03, gradient)

    def test_force_in_an_isolated_box_is_compared_with_the_direct_sum(self):
        self.good("ic", "plummer", "--n", 3000, "--cutoff", 4, "-o", self.dir / "p.hdf5")
        # A cell softens about as much as 0.4 of its side in Plummer's law.
        for cells, softening, median in ((32, 0.1, 0.04), (64, 0.05, 0.03)):
            report = self.good_json("force", self.dir / "p.hdf5", *FULL, "--set", "gravity.mesh.boundary=isolated", "--set",
                                    f"gravity.mesh.cells={cells}", "--set", f"gravity.softening={softening}", "--device", "cpu",
                                    "--quiet")
            self.assertLess(report["error"]["median"], median)

    def test_snapshot_without_a_box_needs_one(self):
        self.good("ic", "plummer", "--n", 100, "-o", self.dir / "p.hdf5")
        self.bad(2, "force", self.dir / "p.hdf5", *FULL, says=["gravity.mesh.box", "BoxSize", "isolated"])


class Refused(MeshTest):
    def refused(self, *keys, says, code=2, config=None):
        sets = [word for key in keys for word in ("--set", key)]
        for command in ("run", "plan"):
            where = ["-o", self.dir / "out"] if command == "run" else []
            self.bad(code, command, config or self.cube(), *where, *sets, says=says)
            self.assertFalse((self.dir / "out").exists())

    def test_cells_that_are_odd_too_few_or_not_smooth(self):
        self.refused("gravity.mesh.cells=33", says=["gravity.mesh.cells", "33", "even", "32"])
        self.refused("gravity.mesh.cells=4", says=["gravity.mesh.cells", "at least 8", "found 4"])
        self.refused("gravity.mesh.cells=[64, 22, 64]", says=["gravity.mesh.cells", "22"])
        self.refused("gravity.mesh.cells=0", says=["gravity.mesh.cells"])
        self.refused("gravity.mesh.cells=16.5", says=["gravity.mesh.cells"])
        self.refused("gravity.mesh.cells=[16, 16]", says=["gravity.mesh.cells", "[128, 128, 64]"])

    def test_more_cells_than_memory(self):
        self.refused("gravity.mesh.cells=32768", code=4, says=["gravity.mesh.cells", "32768", "need", "free"])
        isolated = self.plummer()
        self.refused("gravity.mesh.cells=8192", code=4, config=isolated, says=["gravity.mesh.cells", "8192", "need", "free"])

    def test_options_that_do_not_fit_together(self):
        self.refused("gravity.mesh.poisson=multigrid", "gravity.mesh.gradient=spectral",
                     says=["gravity.mesh.gradient", "spectral", "fft", "two-point"])
        isolated = self.plummer()
        self.refused("gravity.mesh.gradient=spectral", config=isolated, says=["gravity.mesh.gradient", "periodic"])
        self.refused("gravity.mesh.laplacian=spectral", config=isolated, says=["gravity.mesh.laplacian", "periodic"])
        self.refused("gravity.mesh.deconvolve=true", "gravity.mesh.poisson=multigrid", says=["gravity.mesh.deconvolve", "fft"])
        self.refused("time.integrator=hermite", says=["time.integrator", "hermite", "leapfrog"])
        self.refused("time.leapfrog=staggered", says=["time.leapfrog", "staggered", "kick-drift-kick"])
        self.refused("gravity.mesh.density=host", says=["gravity.mesh.density", "host", "auto"])
        self.refused("gravity.mesh.multigrid=paper", says=["gravity.mesh.multigrid", "paper", "levels = 5"])

    def test_words_that_do_not_exist(self):
        self.refused("gravity.mesh.assignment=cik", says=["gravity.mesh.assignment", "ngp, cic, tsc, pcs", 'did you mean "cic"'])
        self.refused("gravity.mesh.boundary=open", says=["gravity.mesh.boundary", "periodic"])
        self.refused("gravity.mesh.cels=16", says=["gravity.mesh.cels", "cells"])

    def test_box_that_does_not_hold_the_particles(self):
        self.bad(2, "run", self.cube(), "-o", self.dir / "out", "--set", "gravity.mesh.box=0.5",
                 says=["gravity.mesh.box", "holds all particles", "particle"])
        self.bad(2, "run", self.plummer(), "-o", self.dir / "out", "--set", "gravity.mesh.box=1",
                 says=["gravity.mesh.box", "two cells away from its faces"])
        self.assertFalse((self.dir / "out").exists())

    def test_periodic_run_of_a_model_in_open_space_needs_a_box(self):
        self.bad(2, "run", self.plummer(), "-o", self.dir / "out", "--set", "gravity.mesh.boundary=periodic",
                 says=["gravity.mesh.box", "auto", "isolated"])


@harness.needs_mpi
class Ranks(MeshTest):
    def test_two_ranks_give_the_same_bits_as_one(self):
        for config in (self.cube(n=3000), self.plummer(n=3000)):
            name = config.stem
            self.good("run", config, "-o", self.dir / f"{name}-one", "--quiet")
            self.good("run", config, "-o", self.dir / f"{name}-two", "--quiet", launcher=harness.MPIRUN)
            self.assertEqual(self.record(f"{name}-two")["ranks"], 2)
            self.assertEqual(self.contents(f"{name}-one"), self.contents(f"{name}-two"))


if __name__ == "__main__":
    harness.main()
