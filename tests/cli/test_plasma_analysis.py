"""`pergola analyze` of a plasma: temperatures, distributions of velocities, Fourier modes of the potential, and refusals."""

import math

import harness
from test_analyze import read_table
from test_pictures import svg_words

# Two species with temperatures and drifts of their own, and a wave of the density of the first.
PLASMA = """
[run]
end_time = {end}
device = "cpu"
[plasma]
cells = [32, 8]
background = true
{plasma}
[[plasma.species]]
name = "electrons"
charge = -1
mass = 1
particles_per_cell = 64
temperature = {hot}
{perturbation}
[[plasma.species]]
name = "ions"
charge = 1
mass = 25
density = 0.5
particles_per_cell = 64
temperature = {cold}
drift = [{drift}, 0]
[time]
step = {step}
[output]
snapshots_every = {every}
"""
OWN = {"end": 0.2, "every": 0.1, "step": 0.05, "plasma": "", "hot": 0.25, "cold": 0.04, "drift": 0.5,
       "perturbation": "perturbation = { mode = [2, 0], amplitude = 0.1 }"}


class PlasmaAnalysis(harness.CliTest):
    def run_of(self, **changes):
        config = self.dir / "plasma.toml"
        config.write_text(PLASMA.format(**{**OWN, **changes}), encoding="utf-8")
        self.good("run", config, "-o", self.dir / "run", "--quiet")
        return self.dir / "run"

    def table(self, what, *args):
        path = self.dir / f"{what}.csv"
        self.good("analyze", what, *args, "-o", path, "--plot", self.dir / f"{what}.svg")
        self.assertIn("<svg", (self.dir / f"{what}.svg").read_text(encoding="utf-8"))
        return read_table(path)

    def test_temperatures_and_drifts_are_those_of_the_configuration(self):
        # Reference: what the particles were drawn from. 16,384 of them: sqrt(2/n) is 1.1 %, and the first steps move little.
        table = self.table("temperatures", self.run_of())
        words = svg_words(self.dir / "temperatures.svg")
        for axis in ("time (1/ωp)", "T (me (cell ωp)2)"):
            self.assertIn(axis, words)
        self.assertEqual(table["species"], ["electrons", "ions"] * 3)
        self.assertEqual([round(time, 9) for time in table["time"]], [0, 0, 0.1, 0.1, 0.2, 0.2])
        self.assertEqual(set(table["particles"]), {32 * 8 * 64})
        for axis in ("T_x", "T_y", "T"):
            self.assertAlmostEqual(table[axis][0] / 0.25, 1, delta=0.06)
            self.assertAlmostEqual(table[axis][1] / 0.04, 1, delta=0.06)
        self.assertEqual(table["T_z"][0], 0)  # in a plane without a magnetic field nothing moves across it
        self.assertAlmostEqual(table["drift_x"][1], 0.5, delta=0.002)
        self.assertAlmostEqual(table["drift_x"][0], 0, delta=0.03)

    def test_distributions_are_maxwells_and_have_the_integral_1(self):
        run = self.run_of(end=0.05, every=0)
        table = self.table("distribution", run / "plasma_000000.h5", "--bins", 20, "--species", "ions")
        self.assertEqual(set(table["species"]), {"ions"})
        width = table["v_high"][0] - table["v_low"][0]
        self.assertAlmostEqual(sum(table["f"]) * width, 1, places=12)
        self.assertEqual(sum(table["particles"]), 32 * 8 * 64)
        # Reference: the normal distribution of the configuration, drift 0.5, sigma = sqrt(0.04/25), integrated over each bin.
        def below(v):
            return 0.5 * (1 + math.erf((v - 0.5) / (0.04 * math.sqrt(2))))
        for low, high, f, error in zip(table["v_low"], table["v_high"], table["f"], table["error"]):
            self.assertAlmostEqual(f, (below(high) - below(low)) / width, delta=6 * error + 0.05)
        # So is the curve beside it, also of a bin that is far wider than sigma.
        for low, high, maxwell in zip(table["v_low"], table["v_high"], table["maxwellian"]):
            self.assertAlmostEqual(maxwell, (below(high) - below(low)) / width, delta=0.2)
        wide = self.table("distribution", run, "--species", "ions", "--from", -9.5, "--to", 10.5, "--bins", 1)
        self.assertAlmostEqual(wide["maxwellian"][0] * 20, 1, places=9)
        y = self.table("distribution", run, "--axis", "y", "--from", -1, "--to", 1, "--bins", 10)
        self.assertEqual((len(y["f"]), y["v_low"][0], y["v_high"][-1]), (20, -1, 1))

    def test_modes_show_the_wave_that_was_put_in(self):
        # Reference: Poisson's equation: an amplitude of 0.1 in the density is 0.1/k^2 in the potential, k = 2 pi 2/32.
        table = self.table("modes", self.run_of(end=0.05, every=0, hot=1e-6, cold=1e-6) / "plasma_000000.h5")
        k = 2 * math.pi * 2 / 32
        along_x = [row for row in zip(table["axis"], table["mode"], table["k"], table["amplitude"]) if row[0] == "x"]
        self.assertEqual([row[1] for row in along_x], list(range(1, 17)))
        strongest = max(along_x, key=lambda row: row[3])
        self.assertEqual(strongest[1], 2)
        self.assertAlmostEqual(strongest[2], k, places=12)
        self.assertAlmostEqual(strongest[3] / (0.1 / k**2), 1, delta=0.05)

    def test_a_legend_names_the_moments_with_their_unit(self):
        run = self.run_of()
        files = [run / "plasma_000000.h5", run / "plasma_000002.h5"]
        for what, words in (("modes", ["x, t = 0/ωp", "x, t = 0.1/ωp"]), ("distribution", ["ions, t = 0.1/ωp"])):
            self.table(what, *files)
            for word in words:
                self.assertIn(word, svg_words(self.dir / f"{what}.svg"))

    def test_si_files_have_temperatures_in_ev(self):
        config = self.dir / "si.toml"
        config.write_text("""[run]
end_time = 2e-12
device = "cpu"
[units]
system = "si"
[time]
step = 1e-12
[plasma]
cells = [8, 8, 8]
cell_size = 5e-6
[[plasma.species]]
name = "electrons"
charge = -1
mass = 1
density = 1e18
particles_per_cell = 8
temperature_ev = 2
drift = [1e6, 0, 0]
[[plasma.species]]
name = "protons"
charge = 1
mass = 1836.15267343
density = 1e18
particles_per_cell = 8
temperature_kelvin = [11604.5, 11604.5, 23209]
""", encoding="utf-8")
        self.good("run", config, "-o", self.dir / "si", "--quiet")
        header = (self.dir / "si" / "energy.csv").read_text().splitlines()[0]
        self.assertEqual(header, "time[s],kinetic[J],potential[J],total[J],relative_error,px[kg m/s],py[kg m/s],pz[kg m/s],lx,ly,lz,wall,"
                         + ",".join(f"kinetic_{name}[J]" for species in ("electrons", "protons")
                                    for name in (species, f"{species}.x", f"{species}.y", f"{species}.z")))
        self.good("plot", self.dir / "si", "--format", "svg", "-o", self.dir / "plots")
        words = svg_words(self.dir / "plots" / "energy.svg")
        for word in ("energy (J)", "electrons", "protons", "electrons x"):
            self.assertIn(word, words)
        value = self.good_json("analyze", "temperatures", self.dir / "si" / "plasma_000000.h5")
        units = {column["name"]: column["unit"] for column in value["columns"]}
        self.assertEqual((units["T"], units["drift_x"], units["time"]), ("eV", "m/s", "s"))
        # Reference: the configuration; 11604.5 K are 1 eV. 4096 particles: sqrt(2/n) is 2.2 % along an axis.
        values = {column["name"]: column["values"] for column in value["columns"]}
        self.assertAlmostEqual(values["T"][0] / 2, 1, delta=0.1)
        self.assertAlmostEqual(values["drift_x"][0] / 1e6, 1, delta=0.05)
        self.assertAlmostEqual(values["T_x"][1], 1, delta=0.13)
        self.assertAlmostEqual(values["T_z"][1] / 2, 1, delta=0.13)

    def test_what_cannot_be_is_refused(self):
        run = self.run_of(end=0.05, every=0)
        file, out = run / "plasma_000000.h5", self.dir / "out.csv"
        for args, says in ((["temperatures", file, "--species", "ion"], ["plasma_000000.h5", "--species", "did you mean ions?"]),
                           (["distribution", file, "--axis", "w"], ["--axis", "x, y, z", "w"]),
                           (["distribution", file, "--axis", "z"], ["--axis", "differ along z", "found 0"]),
                           (["distribution", file, "--from", 2, "--to", 1], ["--from, --to", "found 2 and 1"]),
                           (["distribution", file, "--from", 200, "--to", 201], ["velocities from 200 to 201", "none"]),
                           (["distribution", file, "--bins", -1], ["--bins", "-1"]),
                           (["radii", file], ["radii needs a snapshot of particles", "openPMD"]),
                           (["radii", run], ["another kind of run"]),
                           (["modes", self.dir / "none.h5"], ["none.h5"])):
            with self.subTest(args=args):
                self.bad(2, "analyze", *args, "-o", out, says=says)
                self.assertFalse(out.exists())
        self.good("ic", "plummer", "--n", 10, "-o", self.dir / "stars.hdf5")
        for what in ("temperatures", "distribution", "modes"):
            self.bad(2, "analyze", what, self.dir / "stars.hdf5", says=["stars.hdf5", what, "an openPMD file of a plasma"])


if __name__ == "__main__":
    harness.main()
