"""A box of the universe: initial conditions, the run, its files and what is refused."""
import csv
import json
import math

import harness

CONFIG = """
[run]
end_redshift = 9
threads = 1
device = "cpu"
[particles]
{particles}
[gravity]
solver = "mesh"
[gravity.mesh]
cells = 16
assignment = "tsc"
[output]
energy_every = 0.2
redshifts = [24, 14]
checkpoint_every_minutes = 0
"""
MODEL = 'model = "cosmology"\nn = "8^3"\nbox = 50\nseed = 4'


class Cosmology(harness.CliTest):
    def made(self, name, *more):
        path = self.dir / name
        self.good("ic", "cosmology", "--n", "8^3", "--box", 50, "--seed", 4, *more, "-o", path)
        return path

    def config(self, particles, name="run.toml", text=CONFIG):
        path = self.dir / name
        path.write_text(text.replace("{particles}", particles))
        return path

    def lines(self, run):
        """By the names of columns without their units."""
        with open(run / "energy.csv") as file:
            return [{name.split("[")[0]: value for name, value in line.items()} for line in csv.DictReader(file)]

    def test_a_start_that_is_too_late_and_a_hubble_constant_in_the_place_of_h_are_caught(self):
        config = self.dir / "late.toml"
        config.write_text('[run]\nend_redshift = 0.45\n[particles]\nmodel = "cosmology"\nn = "8^3"\nbox = 5\nredshift = 0.5\n[gravity]\nsolver = "treepm"\nsoftening = 0.1\n')
        self.assertIn("particles.redshift: 0.5 is late", harness.run(["run", config, "-o", self.dir / "late"]).stderr)
        early = ["--set", "particles.redshift=49", "--set", "run.end_redshift=48", "--set", "particles.box=50"]
        self.assertNotIn("is late", harness.run(["run", config, "-o", self.dir / "early", *early]).stderr)
        self.bad(2, "run", config, "-o", self.dir / "h", "--set", "cosmology.h=70", says=["h: expected H0 over 100 km/s/Mpc", "70"])
        self.bad(2, "ic", "cosmology", "--n", "8^3", "--h", "67.7", "-o", self.dir / "a.hdf5", says=["67.7"])

    def test_a_model_runs_and_its_times_are_scale_factors(self):
        run = self.dir / "run"
        self.assertIn("universe.png", self.good("run", self.config(MODEL + "\nn_s = 0.8\nomega_baryon = 0.02"), "-o", run))
        lines = self.lines(run)
        times = [float(line["time"]) for line in lines]
        self.assertAlmostEqual(times[0], 0.02, places=15)
        self.assertAlmostEqual(times[-1], 0.1, places=15)
        steps = [math.log(b / a) for a, b in zip(times, times[1:])]
        self.assertTrue(all(0.15 < step < 0.25 for step in steps[:-1]), steps)
        record = json.loads((run / "run.json").read_text())
        self.assertEqual(record["energy_error"], float(lines[-1]["relative_error"]))
        self.assertEqual(record["configuration"]["cosmology"]["omega_matter"], 0.3)
        names = [check["name"] for check in record["checks"]]
        self.assertIn("large_wave_growth", names)
        # output.redshifts beside the first and the last
        shown = [self.good_json("info", run / f"snap_00{k}.hdf5") for k in range(4)]
        for info, redshift in zip(shown, (49, 24, 14, 9)):
            self.assertAlmostEqual(info["redshift"], redshift, places=9)
            self.assertAlmostEqual(info["time"] * (1 + redshift), 1, places=12)
            self.assertEqual((info["omega0"], info["omega_lambda"], info["hubble_param"]), (0.3, 0.7, 0.7))
            self.assertEqual(info["box_size"], 50)
        self.assertFalse((run / "snap_004.hdf5").exists())
        # What theory expects stands beside the groups: the run says which waves it has; another file does not.
        group = ("--linking", 1.5, "--least", 8, "--bins", 2)
        theory = self.good("analyze", "mass-function", run, *group)
        self.assertIn("tinker[1/(cMpc/h)^3]", theory)
        # An option that is not given leaves what the run says. (20: so that theory has halos of the mass of the box.)
        waves = [self.good("analyze", "mass-function", run, *group, "--sigma8", 20, *more)
                 for more in ((), ("--n-s", 0.8, "--omega-baryon", 0.02), ("--n-s", 0.96), ("--omega-baryon", 0.045))]
        self.assertEqual(waves[0], waves[1])
        self.assertEqual(len(set(waves)), 3)
        alone = self.dir / "alone.hdf5"
        (run / "snap_003.hdf5").rename(alone)
        self.assertNotIn("tinker", self.good("analyze", "mass-function", alone, *group))
        self.assertIn("tinker", self.good("analyze", "mass-function", alone, *group, "--sigma8", 0.8))

    @harness.needs("numpy", "h5py")
    def test_groups_are_written_in_comoving_lengths_and_peculiar_velocities(self):
        import h5py
        import numpy
        file, table = self.made("ic.hdf5"), self.dir / "groups.hdf5"
        self.good("analyze", "groups", file, "--linking", 1.5, "-o", table)
        with h5py.File(file) as ic, h5py.File(table) as groups:
            a, velocities = ic["Header"].attrs["Time"], ic["PartType1/Velocities"][()]
            mass = ic["Header"].attrs["MassTable"][1] or ic["PartType1/Masses"][0]
            self.assertEqual(groups.attrs["analysis"], b"groups")
            self.assertEqual(groups["particles"][()].tolist(), [512])
            self.assertEqual([groups[name].attrs["unit"] for name in ("x", "mass", "vx", "spin")],
                             [b"cMpc/h", b"1e10 Msun/h", b"km/s", b""])
            self.assertAlmostEqual(groups["mass"][0] / (512 * mass), 1, places=6)
            # Reference: Springel 2005, users' guide of GADGET-2: peculiar velocities are sqrt(a) times those of the file.
            spread = numpy.sqrt(a * velocities.var(axis=0).sum() / 3)
            self.assertAlmostEqual(groups["dispersion"][0] / spread, 1, places=5)
        # The same table as CSV.
        header, row = self.good("analyze", "groups", file, "--linking", 1.5).split("\n")[:2]
        self.assertIn(",r200m[cMpc/h],", header)
        self.assertIn(",spin,concentration", header)
        # Profiles of the largest group, with the Hubble flow beside peculiar velocities: a H r = 1/sqrt(a) 100 km/s h r
        # in a universe that matter fills, r in h/Mpc, within the part that is not matter at a = 0.02.
        profile = self.dir / "profiles.hdf5"
        said = self.good("analyze", "profiles", file, "--linking", 1.5, "--from", 5, "--to", 20, "--bins", 3,
                         "-o", profile, "--plot", self.dir / "profiles.svg")
        self.assertIn(", group 1: ", said)
        with h5py.File(profile) as shells:
            self.assertEqual(shells["species"][()].tolist(), [b"halo"] * 4)
            self.assertEqual(shells["density"].attrs["unit"], b"1e10 Msun/h/(cMpc/h)^3")
            flow = shells["hubble_flow"][-1] / (100 * math.sqrt(0.3 / 0.02))
            self.assertTrue(shells["r_inner"][-1] < flow < shells["r_outer"][-1], flow)
        self.bad(2, "analyze", "profiles", file, "--linking", 1.5, "--group", 2, says=["at least 2 groups", "found 1"])
        self.bad(2, "analyze", "profiles", file, "--linking", 1.5, "--group", 1, "--groups", 2, says="found both")
        self.bad(2, "analyze", "profiles", file, "--groups", 1, "--center", "1,2,3", says=["--center, --groups", "both"])
        self.bad(2, "analyze", "profiles", file, "--nfw", "yse", says=["--nfw", "did you mean yes?"])
        # A table without groups has its columns too.
        self.good("analyze", "groups", file, "--linking", 0.1, "-o", table)
        with h5py.File(table) as groups:
            self.assertEqual(groups["m200c"].shape, (0,))

    def test_a_file_gives_the_same_run_as_its_model_and_its_cosmology_is_inherited_aloud(self):
        file, run, other = self.made("ic.hdf5"), self.dir / "run", self.dir / "other"
        self.good("run", self.config(MODEL), "-o", run)
        done = harness.run(["run", self.config(f'file = "{file}"', "file.toml"), "-o", other])
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("[cosmology] was taken from it, omega_matter = 0.3", done.stderr)
        self.assertEqual([line["kinetic"] for line in self.lines(run)], [line["kinetic"] for line in self.lines(other)])
        # GADGET's binary format keeps a, z and h too.
        binary = self.dir / "ic.g2"
        self.good("convert", file, binary, "--double")
        info = self.good_json("info", binary)
        self.assertEqual((info["time"], info["omega0"], info["hubble_param"]), (0.02, 0.3, 0.7))
        self.assertAlmostEqual(info["redshift"], 49)

    @harness.needs("h5py")
    @harness.needs("h5py")
    def test_the_header_has_what_yt_reads_of_a_universe(self):
        """yt's frontend for GADGET takes these and no others for a cosmological data set: Redshift, Omega0, OmegaLambda and
        HubbleParam (not 0), Time as the scale factor, BoxSize and lengths in units over h."""
        import h5py
        path = self.made("yt.hdf5", "--redshift", 9)
        with h5py.File(path) as file:
            header, units = file["Header"].attrs, file["Units"].attrs
            self.assertAlmostEqual(header["Redshift"], 9, places=9)
            self.assertAlmostEqual(header["Time"], 0.1, places=12)
            self.assertEqual((header["Omega0"], header["OmegaLambda"], header["HubbleParam"]), (0.3, 0.7, 0.7))
            self.assertEqual(header["BoxSize"], 50)
            self.assertAlmostEqual(units["UnitLength_in_cm"] / 3.0856775814913673e24, 1, places=9)
            total = sum(file[f"{name}/Masses"][:].sum() for name in file if name.startswith("PartType"))
            # The mean density of matter, 0.3 × 2.7754e11 h² suns/Mpc³, in 1e10 suns/h and Mpc/h.
            self.assertAlmostEqual(total / 50 ** 3 / (0.3 * 27.754), 1, delta=1e-3)

    @harness.needs("yt", "h5py")
    def test_yt_sees_the_redshift_and_the_density_of_a_universe(self):
        import h5py
        import yt
        yt.set_log_level(50)
        path = self.made("yt.hdf5", "--redshift", 9)
        with h5py.File(path) as file:  # yt takes any GADGET file to be in kpc/h, unless it is told
            units = {name: float(value) for name, value in file["Units"].attrs.items()}
        data = yt.load(str(path), unit_base=units)
        self.assertTrue(data.cosmological_simulation)
        self.assertAlmostEqual(data.current_redshift, 9, places=6)
        self.assertAlmostEqual(float(data.domain_width[0].in_units("Mpccm/h")), 50, places=3)
        mass = float(data.all_data()[("all", "Masses")].sum().in_units("g"))
        density = mass / float(data.domain_width.prod().in_units("cm**3"))
        critical = 1.87834e-29 * 0.7 ** 2  # g/cm³, 3 H₀²/(8πG) with h = 0.7 (Particle Data Group)
        self.assertAlmostEqual(density / (0.3 * critical * 10 ** 3), 1, delta=2e-3)

    def test_linear_theory_is_that_of_the_runs_own_table(self):
        """A table whose shape is that of no fit: linear theory in the CSV is k^n T^2 of it, scaled to sigma8 and grown."""
        shape = lambda k: 1 / (1 + 40 * k) ** 2
        table = self.dir / "made.dat"
        waves = [1e-3 * 1.02 ** i for i in range(460)]  # to 8.9 h/Mpc
        write = lambda: table.write_text("# 1:k (h/Mpc) 2:T\n" + "".join(f"{k!r} {shape(k)!r}\n" for k in waves), encoding="utf-8")
        write()
        folder, run = self.dir / "elsewhere", self.dir / "run"
        folder.mkdir()
        config = folder / "box.toml"
        config.write_text('[particles]\nmodel = "cosmology"\nn = "8^3"\nbox = 50\nredshift = 9\ntransfer = "../made.dat"\n'
                          '[units]\nsystem = "cosmology"\n[cosmology]\nsigma8 = 0.9\n[gravity]\nsolver = "mesh"\nmesh.cells = 16\n'
                          '[run]\nend_redshift = 8\n', encoding="utf-8")
        done = harness.run(["run", config, "-o", run])
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("made.dat: 460 wave numbers from 0.001 to ", done.stderr)
        out = self.dir / "power.csv"
        told = self.good("analyze", "power", run, "--folds", 6, "-o", out)
        self.assertIn("linear theory: ", told)
        self.assertIn("made.dat: 460 wave numbers", told)
        rows = [line.split(",") for line in out.read_text(encoding="utf-8").split()]
        k_at, linear_at = ([name.split("[")[0] for name in rows[0]].index(name) for name in ("k", "linear"))
        found = [(float(row[k_at]), float(row[linear_at])) for row in rows[1:]]
        inside = [(k, p) for k, p in found if k < waves[-1]]
        self.assertGreater(len(inside), 8)
        self.assertTrue(all(math.isnan(p) for k, p in found if k > waves[-1]))

        def sphere(k, radius=8):
            x = k * radius
            return 3 * (math.sin(x) - x * math.cos(x)) / x ** 3 if x > 1e-2 else 1

        power = lambda k: k ** 0.96 * shape(k) ** 2
        steps = 20000
        width = math.log(waves[-1] / waves[0]) / steps
        sigma2 = sum(power(k) * sphere(k) ** 2 * k ** 3 * width / (2 * math.pi ** 2)
                     for k in (waves[0] * math.exp((i + 0.5) * width) for i in range(steps)))
        # Growth by quadrature (Heath 1977): D(a) ~ H(a) int da / (a H)^3, over that of today.
        hubble = lambda a: math.sqrt(0.3 / a ** 3 + 0.7)
        growth = lambda a: hubble(a) * sum((a / 2000) / ((a * (i + 0.5) / 2000) * hubble(a * (i + 0.5) / 2000)) ** 3 for i in range(2000))
        grown = growth(1 / 9) / growth(1)
        for k, p in inside:
            self.assertAlmostEqual(p / (0.81 / sigma2 * power(k) * grown ** 2), 1, delta=0.01)
        # Another table under the same name is not that of the run.
        table.write_text(table.read_text(encoding="utf-8").replace("T\n", "T2\n"), encoding="utf-8")
        self.assertIn("has changed since the run", self.good("analyze", "power", run, "-o", out))
        table.unlink()
        self.assertIn("linear theory: not known", self.good("analyze", "power", run, "-o", out))

    def test_a_file_of_gadget_4_has_its_universe_among_the_parameters(self):
        import h5py
        file = self.made("ic.hdf5", "--omega-baryon", 0.03)
        with h5py.File(file, "a") as data:
            moved = {name: data["Header"].attrs.pop(name) for name in ("Omega0", "OmegaLambda", "OmegaBaryon", "HubbleParam")}
            self.assertEqual(moved["OmegaBaryon"], 0.03)
            parameters = data.create_group("Parameters").attrs
            parameters.update(moved)
            parameters["ComovingIntegrationOn"] = 1
        shown = self.good("info", file)
        self.assertIn("Omega0 0.3, OmegaLambda 0.7, h 0.7, OmegaBaryon 0.03", shown)
        self.assertIn(", the scale factor\nredshift ", shown)
        self.good("convert", file, self.dir / "back.hdf5")
        with h5py.File(self.dir / "back.hdf5") as data:
            self.assertEqual({name: data["Header"].attrs[name] for name in moved}, moved)
        run, config = self.dir / "run", self.config(f'file = "{file}"')
        done = harness.run(["run", config, "-o", run])
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("[cosmology] was taken from it, omega_matter = 0.3, omega_lambda = 0.7, h = 0.7", done.stderr)
        taken = json.loads((run / "run.json").read_text())["configuration"]["cosmology"]
        self.assertEqual((taken["omega_matter"], taken["omega_baryon"], taken["h"]), (0.3, 0.03, 0.7))
        # That of a static run says nothing of a universe; the header's own word comes first.
        with h5py.File(file, "a") as data:
            data["Parameters"].attrs["ComovingIntegrationOn"] = 0
        self.assertIsNone(self.good_json("info", file)["omega0"])
        with h5py.File(file, "a") as data:
            data["Header"].attrs["Omega0"] = 0.25
            data["Parameters"].attrs["ComovingIntegrationOn"] = 1
        self.assertEqual(self.good_json("info", file)["omega0"], 0.25)

    def test_a_stopped_run_goes_on_with_the_same_bits(self):
        whole, parts = self.dir / "whole", self.dir / "parts"
        config = self.config(MODEL)
        self.good("run", config, "-o", whole)
        self.good("run", config, "--set", "run.end_redshift=19", "-o", parts)
        self.good("run", config, "-o", parts, "--resume")
        self.good("convert", whole / "snap_003.hdf5", self.dir / "whole.csv")
        last = sorted(parts.glob("snap_*.hdf5"))[-1]
        self.good("convert", last, self.dir / "parts.csv")
        self.assertEqual((self.dir / "whole.csv").read_text(), (self.dir / "parts.csv").read_text())
        self.assertEqual(json.loads((whole / "run.json").read_text())["energy_error"],
                         json.loads((parts / "run.json").read_text())["energy_error"])

    def test_the_example_runs_with_fewer_particles(self):
        run = self.dir / "example"
        self.good("run", harness.SOURCE / "examples" / "cosmology.toml", "-o", run, "--device", "cpu", "--quiet",
                  "--set", "particles.n=8^3", "--set", "gravity.mesh.cells=16", "--set", "run.end_redshift=3")
        self.assertEqual(len(list(run.glob("snap_*.hdf5"))), 3)
        checks = {check["name"]: check for check in json.loads((run / "run.json").read_text())["checks"]}
        self.assertEqual(set(checks), {"energy_error", "momentum", "large_wave_growth", "large_wave_scatter", "force_error"})
        ratios = checks["large_wave_growth"]["parts"]
        self.assertEqual(len(ratios), 13)
        self.assertTrue(all(0.8 < ratio < 1.2 for ratio in ratios), ratios)
        momentum, force = checks["momentum"], checks["force_error"]
        self.assertTrue(0 < momentum["measured"] < momentum["tolerance"], momentum)
        with open(run / "audit.csv") as file:
            self.assertEqual(force["measured"], float(list(csv.DictReader(file))[-1]["median"]))
        self.assertEqual((force["tolerance"], force["passed"]), (1e-3, True), force)

    def test_the_end_is_compared_with_linear_theory_and_with_a_table(self):
        text = CONFIG.replace("cells = 16", "cells = 64").replace("end_redshift = 9", "end_redshift = 4")
        text = text.replace("redshifts = [24, 14]", 'power_reference = "table.txt"')
        particles = 'model = "cosmology"\nn = "32^3"\nbox = 200\nseed = 4\nredshift = 9\nfixed = true'
        table = self.dir / "table.txt"
        # Everything twice as strong as it is: P(k) of the start, which has grown by (1 + 9)²/(1 + 4)² = 4 at the end.
        start = self.dir / "start.hdf5"
        self.good("ic", "cosmology", "--n", "32^3", "--box", 200, "--seed", 4, "--redshift", 9, "--fixed", "-o", start)
        rows = list(csv.DictReader(self.good("analyze", "power", start, "--folds", 0).splitlines()))
        k, power = (next(name for name in rows[0] if name.startswith(word)) for word in ("k", "power["))
        rows = [(float(row[k]), float(row[power])) for row in rows]
        table.write_text("# k P\n" + "".join(f"{k} {8 * p}\n" for k, p in rows))
        run = self.dir / "run"
        self.good("run", self.config(particles, text=text), "-o", run)
        checks = {check["name"]: check for check in json.loads((run / "run.json").read_text())["checks"]}
        linear = checks["power_over_linear"]
        self.assertTrue(linear["passed"], linear)
        self.assertLess(linear["tolerance"], 0.08)  # fixed amplitudes: no scatter from the number of modes
        self.assertNotIn("scatter", linear)
        own = checks["power_over_start"]
        self.assertTrue(own["passed"] and own["tolerance"] < 0.1, own)
        table_check = checks["power_over_reference"]
        self.assertFalse(table_check["passed"], table_check)
        self.assertAlmostEqual(table_check["measured"], 0.5, delta=0.03)
        self.bad(2, "run", self.config(particles, text=text.replace("table.txt", "none.txt")), "-o", self.dir / "no",
                 says=("output.power_reference", "none.txt"))
        table.write_text("1 2\n" * 9)
        self.bad(2, "run", self.config(particles, text=text), "-o", self.dir / "no", says=("table.txt:2", "rising"))
        self.assertFalse((self.dir / "no").exists())

    def test_analyses_with_every_snapshot_are_those_of_the_snapshots(self):
        text = CONFIG.replace("end_redshift = 9", 'end_redshift = 0\nprecision = "double"').replace("cells = 16", "cells = 32")
        text = text.replace("redshifts = [24, 14]", 'redshifts = [1]\nanalyses = ["groups", "power", "mass-function"]')
        particles = 'model = "cosmology"\nn = "16^3"\nbox = 12\nseed = 4'
        run = self.dir / "run"
        said = harness.run(["run", self.config(particles, text=text), "-o", run])
        self.assertEqual(said.returncode, 0, said.stderr)
        # Reference: the command, on the files.
        for k in range(3):
            for what in ("power", "groups"):
                found = (run / "tables" / f"{what}_00{k}.csv").read_text()
                self.assertEqual(found, self.good("analyze", what, run / f"snap_00{k}.hdf5"), (what, k))
        self.assertEqual((run / "tables" / "mass-function_002.csv").read_text(), self.good("analyze", "mass-function", run))
        self.assertGreater(len((run / "tables" / "groups_002.csv").read_text().splitlines()), 3)
        # No groups at redshift 49: the run goes on, and says so.
        self.assertFalse((run / "tables" / "mass-function_000.csv").exists())
        self.assertIn("mass-function_000.csv is not written", said.stderr)
        self.assertIn("tables/power_000.csv to tables/power_002.csv", said.stdout)
        self.assertIn("analysis: power", (run / "profile.csv").read_text())
        self.bad(2, "run", self.config(particles, text=text), "--set", 'output.analyses=["powr"]', "-o", self.dir / "no",
                 says=["output.analyses", 'did you mean "power"?'])

    def test_few_energies_are_not_held_against_the_run(self):
        outcome = harness.run(["run", self.config(MODEL), "-o", self.dir / "run", "--set", "output.energy_every=0.8"])
        self.assertIn("output.energy_every: 0.8", outcome.stderr)
        checks = json.loads((self.dir / "run" / "run.json").read_text())["checks"]
        self.assertAlmostEqual(checks[0]["tolerance"], 0.01 + 0.01 * 0.8 ** 3, places=12)

    def test_plan_foretells_what_can_be_trusted(self):
        config = self.config('model = "cosmology"\nn = "64^3"\nbox = 100')
        plan = self.good_json("plan", config, "--no-trial", "--set", "gravity.mesh.cells=128")
        # cells of 0.78: window, Laplacian and difference take x²/3 together, 1 % at x = 0.173
        self.assertAlmostEqual(plan["universe"]["wave_number_h_per_mpc"] * 100 / 128, 0.174, delta=0.002)
        self.assertIn("mesh", plan["universe"]["wave_number_of"])
        self.assertIn("500 Mpc/h", " ".join(plan["universe"]["notes"]))
        plan = self.good_json("plan", config, "--no-trial", "--set", "gravity.solver=treepm",
                              "--set", "gravity.softening=0.001")
        spacing = 100 / 64
        self.assertAlmostEqual(plan["universe"]["wave_number_h_per_mpc"], math.pi / spacing / 2, places=6)
        self.assertEqual(plan["universe"]["halo_particles"], 1000)
        # Ω_m 3 H₀²/(8πG) = 0.3 × 2.775e11 h² suns per Mpc³
        self.assertAlmostEqual(plan["universe"]["halo_mass_suns_per_h"] / (1000 * 0.3 * 2.775e11 * spacing ** 3), 1, delta=1e-3)
        text = self.good("plan", config, "--no-trial")
        self.assertIn("P(k) to 1 % up to k = ", text)

    # Measured: 365 steps of a particle and 1068 block steps, 633 shared ones on a mesh.
    def test_plan_without_a_trial_knows_the_steps_of_a_universe(self):
        config = self.dir / "plan.toml"
        config.write_text('[run]\nend_redshift = 0\n[particles]\nmodel = "cosmology"\nn = "16^3"\nbox = 4\nredshift = 49\n'
                          '[gravity]\nsolver = "treepm"\nsoftening = 0.01\n')
        plan = self.good_json("plan", config, "--no-trial")
        self.assertAlmostEqual(plan["particle_steps"] / 4096 / 365, 1, delta=0.05)
        self.assertAlmostEqual(plan["steps"] / 1068, 1, delta=0.05)
        plan = self.good_json("plan", config, "--no-trial", "--set", "gravity.solver=mesh")
        self.assertAlmostEqual(plan["steps"] / 633, 1, delta=0.05)

    def test_curvature_and_redshifts_after_the_end_are_said(self):
        said = harness.run(["ic", "cosmology", "--n", "8^3", "--omega-matter", "1", "-o", self.dir / "curved.hdf5"])
        self.assertIn("leave -0.7 to curvature", said.stderr)
        said = harness.run(["run", self.config(MODEL), "-o", self.dir / "run", "--set", "output.redshifts=[24, 4]",
                            "--set", "cosmology.omega_lambda=0.2"])
        self.assertEqual(said.returncode, 0, said.stderr)
        self.assertIn("output.redshifts: no snapshot at 4, after the end of the run at redshift 9", said.stderr)
        self.assertIn("leave 0.5 to curvature", said.stderr)

    def test_a_glass_is_displaced_too(self):
        lattice, glass = self.made("lattice.hdf5"), self.made("glass.hdf5", "--grid", "glass", "--order", 3)
        self.assertEqual(self.good_json("info", glass)["n"], self.good_json("info", lattice)["n"])
        out = self.dir / "x.hdf5"
        self.bad(2, "ic", "cosmology", "--n", "34^3", "--grid", "glass", "-o", out, says=["n", "34^3", "8 to 16"])
        self.bad(2, "ic", "cosmology", "--n", "8^3", "--grid", "glas", "-o", out, says=["grid", "glass"])
        self.bad(2, "ic", "cosmology", "--n", "8^3", "--order", 4, "-o", out, says=["order", "3"])
        self.assertFalse(out.exists())

    def test_a_mesh_that_suits_the_particles_badly_is_said(self):
        # 16 cells for 8 particles of a lattice: dividing by the window makes the first forces worse.
        mesh = ["--set", "gravity.solver=mesh", "--set", "gravity.mesh.cells=16", "--set", "gravity.mesh.assignment=tsc",
                "--set", "gravity.softening=0", "--sample", 100]
        file = self.made("ic.hdf5")
        plain, sharp = (self.good_json("force", file, *mesh, "--set", f"gravity.mesh.deconvolve={word}") for word in ("false", "true"))
        self.assertGreater(sharp["error"]["rms"], 3 * plain["error"]["rms"])
        self.assertIn("gravity.mesh.deconvolve: 4096 cells for 512 particles", sharp["remark"])
        self.assertNotIn("remark", plain)
        # 12 cells and 8 particles do not divide one another; a glass has no rows.
        for cells, grid, said in ((12, "lattice", True), (16, "lattice", False), (12, "glass", False)):
            done = harness.run(["run", self.config(f'{MODEL}\ngrid = "{grid}"'), "-o", self.dir / f"{cells}{grid}", "--set",
                                f"gravity.mesh.cells={cells}", "--set", "run.end_redshift=40"])
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual("do not divide one another" in done.stderr, said, done.stderr)

    def test_refusals(self):
        out, file = self.dir / "out", self.made("ic.hdf5")
        config = self.config(MODEL)
        refused = {"cosmology.omega_matter=0.25 particles.omega_matter=0.3": "particles.omega_matter",
                   "cosmology.omega_mater=0.3": "omega_matter", "cosmology.h=0": "cosmology.h",
                   "time.integrator=hermite": "time.integrator", "run.end_time=0.5 run.end_redshift=1": "run.end_redshift",
                   "particles.n=100": "cube", "gravity.solver=direct": "gravity.solver",
                   "particles.transfer=none.dat": "none.dat", "gravity.mesh.boundary=isolated": "periodic"}
        for sets, says in refused.items():
            words = [word for one in sets.split() for word in ("--set", one)]
            self.bad(2, "run", config, *words, "-o", out, says=says)
            self.assertFalse(out.exists(), sets)
        self.bad(2, "run", self.config(f'file = "{file}"', "file.toml"), "--set", "cosmology.omega_matter=0.4", "-o", out,
                 says=["omega_matter", "0.3"])
        self.bad(2, "run", self.config(f'file = "{file}"', "file.toml"), "--set", "output.redshifts=[60,20]", "-o", out,
                 says=["file.toml: output.redshifts", "49", "60"])
        plain = CONFIG.replace("end_redshift = 9", "end_redshift = 0")
        self.bad(2, "run", self.config('model = "cube"', "cube.toml", plain), "-o", out, says="[cosmology]")
        self.bad(2, "run", self.config('model = "plummer"\nn = 100', "sphere.toml"), "--set", "gravity.solver=tree",
                 "--set", "cosmology.omega_matter=0.3", "-o", out, says=["[cosmology]", "scale factor"])
        self.bad(2, "ic", "cosmology", "--n", 8, "--units", "nbody", "-o", self.dir / "x.hdf5", says="cosmology")
        self.bad(2, "ic", "cosmology", "--n", "2^3^4", "-o", self.dir / "x.hdf5", says="2^3^4")


if __name__ == "__main__":
    harness.main()
