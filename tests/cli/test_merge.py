"""`pergola merge`: two snapshots on an orbit, and the collision of two galaxies with it."""
import csv
import json
import pathlib
import tomllib

import harness

EXAMPLES = harness.SOURCE / "examples"


class Merge(harness.CliTest):
    def made(self, name, *args):
        path = self.dir / name
        self.good("ic", *args, "-o", path)
        return path

    def test_two_clusters_on_a_parabola(self):
        a, b = self.made("a.hdf5", "plummer", "--n", 100), self.made("b.csv", "king", "--n", 50, "--mass", 0.5)
        out = self.dir / "both.csv"
        result = self.good_json("merge", a, b, "--pericentre", 1, "--separation", 8, "-o", out)
        self.assertEqual((result["n"], result["eccentricity"]), (150, 1))
        with open(out) as file:
            rows = list(csv.DictReader(file))
        self.assertEqual([int(row["id"]) for row in rows], list(range(1, 151)))
        apart = [sum(float(row[axis]) for row in rows[100:]) / 50 - sum(float(row[axis]) for row in rows[:100]) / 100
                 for axis in ("x", "y", "z", "vx", "vy", "vz")]
        self.assertAlmostEqual(sum(d * d for d in apart[:3]) ** 0.5, 8, places=9)
        self.assertAlmostEqual(sum(d * d for d in apart[3:]) / 2, 1.5 / 8, places=9)

    def test_files_in_gadgets_units_move_as_fast_as_their_masses_ask(self):
        a = self.made("a.hdf5", "m81", "--n", 100)
        self.good("merge", a, a, "--pericentre", 20, "--separation", 200, "-o", self.dir / "both.hdf5")
        self.assertEqual(json.loads(self.good("info", a, "--json"))["units"],
                         json.loads(self.good("info", self.dir / "both.hdf5", "--json"))["units"])
        self.good("convert", self.dir / "both.hdf5", self.dir / "both.csv")
        with open(self.dir / "both.csv") as file:
            rows = list(csv.DictReader(file))
        mass = sum(float(row["mass[1e10 Msun]"]) for row in rows)
        drift = [sum(float(row["mass[1e10 Msun]"]) * float(row[axis]) for row in rows if int(row["id"]) <= 100) / (mass / 2)
                 for axis in ("vx[km/s]", "vy[km/s]")]
        self.assertAlmostEqual((2 * (drift[0] ** 2 + drift[1] ** 2) ** 0.5) / (2 * 43009.17 * mass / 200) ** 0.5, 1, 4)

    def test_refusals(self):
        a, cube = self.made("a.hdf5", "plummer", "--n", 10), self.made("cube.hdf5", "cube", "--n", 10)
        m81, out = self.made("m81.hdf5", "m81", "--n", 10), self.dir / "out.hdf5"
        orbit = ["--pericentre", 2, "--separation", 8, "-o", out]
        self.bad(2, "merge", a, a, "--separation", 8, "-o", out, says="--pericentre")
        self.bad(2, "merge", a, a, "--pericentre", 9, "--separation", 8, "-o", out, says=["--separation", "found 8"])
        self.bad(2, "merge", a, a, "--pericentre", 2, "--separation", 8, "--eccentricity", 0.5, "-o", out, says="apocentre 6")
        self.bad(2, "merge", a, a, *orbit, "--eccentricity", -1, says="--eccentricity")
        self.bad(2, "merge", a, cube, *orbit, says=["cube.hdf5", "periodic"])
        self.bad(2, "merge", a, m81, *orbit, says=["m81.hdf5", "units"])
        self.bad(2, "merge", a, self.dir / "none.hdf5", *orbit, says="none.hdf5")
        self.assertFalse(out.exists())
        self.good("merge", a, a, *orbit)
        self.bad(2, "merge", a, a, *orbit, says="exists")
        self.good("merge", a, a, *orbit, "--overwrite")

    def test_the_collision_of_two_galaxies_runs_and_keeps_its_energy(self):
        galaxy = self.made("galaxy.hdf5", "galaxy", "--n", 3000, "--halo-mass", 4, "--halo-scale-radius", 2,
                           "--halo-concentration", 5)
        self.good("run", EXAMPLES / "galaxy-collision.toml", "-o", self.dir / "run", "--quiet", "--device", "cpu",
                  "--set", "run.end_time=4", "--set", "particles.parts.1.n=3000", "--set", "particles.parts.2.n=3000")
        record = json.loads((self.dir / "run" / "run.json").read_text())
        self.assertEqual([check["passed"] for check in record["checks"]], [True], record["checks"])
        self.good("picture", self.dir / "run" / "snap_001.hdf5", "-o", self.dir / "stars.png", "--species", "disc,bulge")
        self.bad(2, "picture", galaxy, "-o", self.dir / "gas.png", "--species", "gas", says=["galaxy.hdf5", "gas"])

    def test_a_run_makes_and_merges_the_same_particles(self):
        a, b = self.made("a.hdf5", "plummer", "--n", 100), self.made("b.hdf5", "king", "--n", 50, "--mass", 0.5, "--seed", 7)
        orbit = {"pericentre": 1, "separation": 8, "eccentricity": 1.5, "inclination_1": 20, "argument_2": 40, "inclination_2": 70}
        options = [word for key, value in orbit.items() for word in ("--" + key.replace("_", "-"), value)]
        self.good("merge", a, b, *options, "-o", self.dir / "both.hdf5")
        head = "[run]\nend_time = 0.001\n[time]\nintegrator = \"leapfrog\"\nstep = 0.001\n"
        parts = ("[particles.orbit]\n" + "".join(f"{key} = {value}\n" for key, value in orbit.items()) +
                 '[[particles.parts]]\nmodel = "plummer"\nn = 100\n[[particles.parts]]\nfile = "b.hdf5"\n')
        runs = {"file": head + '[particles]\nfile = "both.hdf5"\n', "parts": head + parts,
                "model": head + parts.replace('file = "b.hdf5"', 'model = "king"\nn = 50\nmass = 0.5\nseed = 7')}
        rows = {}
        for name, text in runs.items():
            config = self.dir / f"{name}.toml"
            config.write_text(text)
            self.good("run", config, "-o", self.dir / name, "--quiet")
            self.good("convert", self.dir / name / "snap_001.hdf5", self.dir / f"{name}.csv")
            rows[name] = (self.dir / f"{name}.csv").read_text()
        self.assertEqual(rows["parts"], rows["file"])
        self.assertEqual(rows["model"], rows["file"])
        # What --print-config and run.json say makes the same run.
        (self.dir / "again.toml").write_text(self.good("run", self.dir / "parts.toml", "--print-config"))
        self.good("run", self.dir / "again.toml", "-o", self.dir / "again", "--quiet")
        record = json.loads((self.dir / "again" / "run.json").read_text())
        self.assertEqual([part.get("model") for part in record["configuration"]["particles"]["parts"]], ["plummer", None])
        self.assertEqual((self.dir / "again" / "energy.csv").read_text().split(",")[12:20],
                         (self.dir / "parts" / "energy.csv").read_text().split(",")[12:20])

    def test_parts_that_cannot_be_are_refused(self):
        self.made("cube.hdf5", "cube", "--n", 10)
        self.made("m81.hdf5", "m81", "--n", 10)
        one = '[[particles.parts]]\nmodel = "plummer"\nn = 10\n'
        orbit = "[particles.orbit]\npericentre = 2\nseparation = 8\n"
        for text, says in ((orbit + one, ["particles.parts", "two"]),
                           (one + one, ["particles.orbit.pericentre"]),
                           (orbit, ["particles.orbit.pericentre", "[[particles.parts]]"]),
                           (orbit.replace("8", "1") + one + one, ["particles.orbit.separation", "found 1"]),
                           (orbit.replace("pericentre", "pericenter") + one + one, ["did you mean particles.orbit.pericentre"]),
                           (orbit + one + one.replace("plummer", "plumer"), ["particles.parts.2.model", "plummer"]),
                           (orbit + one + one + "masss = 2\n", ["particles.parts.2.masss", "did you mean mass"]),
                           (orbit + one + one + 'file = "a.hdf5"\n', ["particles.parts.2", "both"]),
                           (orbit + one + "[[particles.parts]]\nn = 3\n", ["particles.parts.2", "neither"]),
                           ('[particles]\nmodel = "plummer"\n' + orbit + one + one, ["particles.parts", "particles.model"]),
                           (orbit + one + one.replace("n = 10", "n = 0"), ["particles.parts.2.n", "expected", "found 0"]),
                           (orbit + one + one.replace("n = 10", "n = ten"), ["bad.toml:"]),
                           (orbit + one + one.replace("n = 10", "mass = -1"), ["particles.parts.2.mass", "found -1"]),
                           (orbit + one + one.replace("n = 10", "seed = -1"), ["particles.parts.2.seed", "found -1"]),
                           (orbit + one + "[[particles.parts]]\nfile = 3\n", ["particles.parts.2.file", "found 3"]),
                           ("[particles]\nparts = 3\n" + orbit, ["particles.parts", "two tables", "found 3"]),
                           ("[particles]\nparts = [1, 2]\n" + orbit, ["particles.parts.1", "a table", "found 1"]),
                           (orbit.replace("2", '"two"') + one + one, ["particles.orbit.pericentre", 'found "two"']),
                           (orbit.replace("2", "-2") + one + one, ["particles.orbit.pericentre", "> 0", "found -2"]),
                           (orbit + "eccentricity = 0.5\n" + one + one, ["particles.orbit.separation", "apocentre 6"]),
                           (orbit + "argument_1 = 400\n" + one + one, ["particles.orbit.argument_1", "found 400"]),
                           ("[particles]\norbit = 3\n" + one + one, ["particles.orbit", "a table", "found 3"]),
                           ("[cosmology]\n" + orbit + one + one, ["particles.parts", "[cosmology]"]),
                           ("[plasma]\n" + orbit + one + one, ["[plasma]"]),
                           (orbit + one + one.replace("plummer", "cube"), ["particles.parts.2", "periodic box"]),
                           ("[particles]\nn = 10\n" + orbit + one + one, ["particles.n", "[[particles.parts]]"]),
                           (orbit + one + '[[particles.parts]]\nfile = "cube.hdf5"\n', ["particles.parts.2", "periodic box"]),
                           (orbit + one + '[[particles.parts]]\nfile = "none.hdf5"\n', ["none.hdf5"]),
                           ('[units]\nsystem = "nbody"\n' + orbit + one + '[[particles.parts]]\nfile = "m81.hdf5"\n',
                            ["units.system", "m81.hdf5"])):
            config = self.dir / "bad.toml"
            config.write_text(text)
            self.bad(2, "run", config, "-o", self.dir / "out", says=says)
            self.assertFalse((self.dir / "out").exists(), text)
        config.write_text(orbit + one + one)
        self.bad(2, "run", config, "-o", self.dir / "out", "--set", "particles.parts.3.n=5", says="particles.parts.3.n")

    @harness.needs("h5py")
    def test_files_in_different_units_are_refused(self):
        import h5py

        self.made("m81.hdf5", "m81", "--n", 10)
        with h5py.File(self.dir / "other.hdf5", "w") as copy, h5py.File(self.dir / "m81.hdf5") as m81:
            for name in m81:
                m81.copy(name, copy)
            for spelling in ("UnitLength_in_cm", "UnitLength_in_cgs"):
                self.assertIn(spelling, copy["Units"].attrs)
                copy["Units"].attrs[spelling] = 3e18
        config = self.dir / "run.toml"
        config.write_text("[particles.orbit]\npericentre = 2\nseparation = 8\n"
                          '[[particles.parts]]\nfile = "m81.hdf5"\n[[particles.parts]]\nfile = "other.hdf5"\n')
        self.bad(2, "run", config, "-o", self.dir / "out", says=["particles.parts", "same units", "m81.hdf5", "other.hdf5"])

    def test_set_changes_a_part_and_replaces_all_of_them(self):
        config = self.dir / "run.toml"
        config.write_text('[particles.orbit]\npericentre = 2\nseparation = 8\n[[particles.parts]]\nmodel = "plummer"\nn = 10\n'
                          '[[particles.parts]]\nfile = "none.hdf5"\n')

        def particles(*sets):
            words = [word for one in sets for word in ("--set", one)]
            return tomllib.loads(self.good("run", config, "--print-config", *words))["particles"]

        changed = particles("particles.parts.2.model=king", "particles.parts.2.w0=7", "particles.parts.1.n=20")
        self.assertEqual([part["model"] for part in changed["parts"]], ["plummer", "king"])
        self.assertEqual((changed["parts"][0]["n"], changed["parts"][1]["w0"]), (20, 7))
        self.assertNotIn("file", changed["parts"][1])
        self.assertEqual(particles("particles.parts.1.file=a.hdf5")["parts"][0], {"file": str(pathlib.Path.cwd() / "a.hdf5")})
        self.assertEqual(particles("particles.orbit.separation=9")["orbit"]["separation"], 9)
        one = particles("particles.model=plummer")
        self.assertEqual((one["model"], "parts" in one, "orbit" in one), ("plummer", False, False))

    def test_plan_counts_both(self):
        plan = self.good_json("plan", EXAMPLES / "galaxy-collision.toml", "--no-trial")
        self.assertEqual(plan["n"], 24000)
        config = self.dir / "two.toml"
        config.write_text('[run]\nend_time = 0.25\n[particles.orbit]\npericentre = 2\nseparation = 8\n[gravity]\nsoftening = 0.1\n'
                          '[time]\nintegrator = "leapfrog"\nstep = 0.0625\n[[particles.parts]]\nmodel = "plummer"\nn = 300\n'
                          '[[particles.parts]]\nmodel = "king"\nn = 100\n')
        plan = self.good_json("plan", config)
        self.assertEqual((plan["n"], plan["steps"]), (400, 4))

    def test_has_help_with_an_example(self):
        self.assertIn("pergola merge galaxy.hdf5", self.good("merge", "--help"))


if __name__ == "__main__":
    harness.main()
