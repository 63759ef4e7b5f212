"""Runs with [plasma] as a user calls them: files, refusals with number and remedy, memory, interrupts, ranks."""

import csv
import json
import signal
import subprocess
import time

import harness

ELECTRONS = """
[run]
end_time = {end}
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
particles_per_cell = {per_cell}
temperature = 1
"""


class PlasmaTest(harness.CliTest):
    def config(self, end=2, per_cell=16, more=""):
        path = self.dir / "run.toml"
        path.write_text(ELECTRONS.format(end=end, per_cell=per_cell) + more)
        return path

    def energies(self, directory):
        with open(self.dir / directory / "energy.csv") as file:
            return [{k: v for k, v in row.items() if k != "wall"} for row in csv.DictReader(file)]


class Runs(PlasmaTest):
    def test_a_run_leaves_its_files_and_says_where(self):
        out = self.good("run", self.config(), "-o", self.dir / "out")
        self.assertIn("plasma_000000.h5 to plasma_000040.h5", out)
        record = json.loads((self.dir / "out" / "run.json").read_text())
        self.assertEqual(record["n"], 32 * 8 * 16)
        self.assertEqual(record["precision"], "single")
        self.assertEqual(record["configuration"]["plasma"]["species"][0]["name"], "electrons")
        self.assertNotIn("gravity", record["configuration"])
        rows = self.energies("out")
        self.assertEqual(list(rows[0])[-3:], ["kinetic_electrons", "kinetic_electrons.x", "kinetic_electrons.y"])
        for row in rows:
            parts = float(row["kinetic_electrons.x"]) + float(row["kinetic_electrons.y"])
            self.assertAlmostEqual(parts, float(row["kinetic_electrons"]), delta=1e-12 * parts)
        self.assertEqual(float(rows[-1]["time"]), 2)
        self.good("plot", self.dir / "out")

    def test_a_printed_configuration_prints_itself(self):
        once = self.good("run", self.config(), "--print-config")
        (self.dir / "again.toml").write_text(once)
        self.assertEqual(self.good("run", self.dir / "again.toml", "--print-config"), once)

    def test_a_plan_gives_memory_particles_steps_and_warnings(self):
        plan = self.good_json("plan", self.config(), "--set", "time.step=0.4")
        self.assertEqual((plan["n"], plan["steps"]), (4096, 5))
        self.assertTrue(plan["memory"]["fits"])
        self.assertIn("omega_p dt is 0.4", plan["warnings"][0])

    def test_warnings_come_before_the_run_and_quiet_hides_them(self):
        result = harness.run(["run", self.config(), "--set", "plasma.cell_size=3", "-o", self.dir / "a"])
        self.assertEqual(result.returncode, 0)
        self.assertIn("warning: a cell is 3 Debye lengths of electrons", result.stderr)
        quiet = harness.run(["run", self.config(), "--set", "plasma.cell_size=3", "-o", self.dir / "b", "--quiet"])
        self.assertEqual((quiet.returncode, quiet.stderr), (0, ""))

    def test_an_interrupted_run_goes_on_bit_identically(self):
        config = self.config(end=400, per_cell=64)
        process = subprocess.Popen([harness.PROGRAM, "run", str(config), "-o", str(self.dir / "a")],
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        deadline = time.monotonic() + 60
        while not (self.dir / "a" / "run.json").exists() and time.monotonic() < deadline:
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 130, errors)
        reached = float(self.energies("a")[-1]["time"])
        end = f"run.end_time={reached + 3}"
        self.good("run", config, "-o", self.dir / "a", "--resume", "--set", end, "--set", "run.threads=1")
        self.good("run", config, "-o", self.dir / "b", "--set", end)
        self.assertEqual(self.energies("a"), self.energies("b"))

    def test_a_plasma_with_light_runs_and_goes_on_bit_identically(self):
        light = ["--set", "plasma.field=electromagnetic", "--set", "plasma.light_speed=10", "--set", "time.step=0.03", "--quiet"]
        self.good("run", self.config(), "-o", self.dir / "whole", *light)
        rows = self.energies("whole")
        self.assertAlmostEqual(float(rows[-1]["total"]) / float(rows[0]["total"]), 1, delta=0.01)
        self.good("run", self.config(end=1), "-o", self.dir / "parts", *light)
        self.good("run", self.config(), "-o", self.dir / "parts", *light, "--resume")
        states = [json.loads((self.dir / name / "run.json").read_text())["hashes"]["final_state"] for name in ("whole", "parts")]
        self.assertEqual(*states)

    @harness.needs_mpi
    def test_ranks_with_particles_of_their_own_leave_the_files_of_one(self):
        config, spectrum = self.config(), ["--set", "output.spectrum_every=1", "--quiet"]
        self.good("run", config, "-o", self.dir / "one", *spectrum)
        self.good("run", config, "-o", self.dir / "two", *spectrum, launcher=harness.MPIRUN)
        part = ["--set", "run.end_time=1"]
        self.good("run", config, "-o", self.dir / "parts", *spectrum, *part, launcher=harness.MPIRUN)
        self.good("run", config, "-o", self.dir / "parts", *spectrum, "--resume")
        hashes = set()
        for name in ("one", "two", "parts"):
            hashes.add(json.loads((self.dir / name / "run.json").read_text())["hashes"]["final_state"])
            self.assertEqual((self.dir / name / "tables" / "spectrum.csv").read_text(), (self.dir / "one" / "tables" / "spectrum.csv").read_text())
        self.assertEqual(len(hashes), 1, hashes)
        self.assertEqual(self.energies("two"), self.energies("one"))


class Refusals(PlasmaTest):
    def refused(self, says, *sets, code=2, command="run"):
        extra = [word for s in sets for word in ("--set", s)]
        self.bad(code, command, self.config(), *extra, *(["-o", self.dir / "out"] if command == "run" else []), says=says)
        self.assertEqual(self.files(), ["run.toml"])

    def species(self, says, *settings):
        self.refused(says, *(f"plasma.species.electrons.{setting}" for setting in settings))

    def test_zero_and_negative_temperatures(self):
        self.species("temperature: expected a number > 0, found 0", "temperature=0")
        self.species("temperature: expected a number > 0, found -1", "temperature=-1")

    def test_zero_and_negative_densities(self):
        self.species("density: expected a number > 0, found 0", "density=0")
        self.species("density: expected a number > 0, found -1", "density=-1")

    def test_zero_and_negative_cells(self):
        self.refused(["plasma.cells", "found 0"], "plasma.cells=[0, 8]")
        self.refused(["plasma.cells", "found -8"], "plasma.cells=[8, -8]")

    def test_zero_and_negative_particles_per_cell(self):
        self.species(["particles_per_cell", "found 0"], "particles_per_cell=0")
        self.species(["particles_per_cell", "found -4"], "particles_per_cell=-4")

    def test_a_species_without_charge_and_mass(self):
        path = self.config(more='[[plasma.species]]\nname = "ions"\n')
        self.bad(2, "run", path, "-o", self.dir / "out", says=["run.toml:16: plasma.species[1].charge", "and mass", "found none"])
        self.assertEqual(self.files(), ["run.toml"])

    def test_light_that_cannot_be_computed(self):
        field = "plasma.field=electromagnetic"
        self.refused("plasma.light_speed: expected the speed of light, found none", field)
        self.refused("time.step: expected less than 0.0353553, in which", field, "plasma.light_speed=10")
        self.refused("plasma.velocities: expected 3 with light, found 2", field, "plasma.light_speed=1", "plasma.velocities=2")
        self.refused("output.spectrum_every: the electromagnetic field has no potential", field, "plasma.light_speed=1", "output.spectrum_every=2")
        self.refused("plasma.light_speed: the electrostatic field knows no light; leave this key out", "plasma.light_speed=10")

    def test_a_step_that_is_too_large(self):
        for command in ("run", "plan"):
            self.refused(["time.step: omega_p dt is 2.5, expected less than 2", "set it to 0.2"], "time.step=2.5", command=command)

    def test_a_box_that_is_not_neutral(self):
        self.refused(["not neutral: its net charge is -1 e n0", "plasma.background = true"], "plasma.background=false")

    def test_more_particles_than_memory(self):
        self.refused(["particles need", "bytes)", "is free"], "plasma.species.electrons.particles_per_cell=1e12", code=4)

    def test_gravity_beside_a_plasma(self):
        self.refused("a run has [plasma] or [particles] and [gravity], not both", "gravity.solver=tree")

    def test_mixed_precision(self):
        self.refused("single or double precision", "run.precision=mixed")


if __name__ == "__main__":
    harness.main()
