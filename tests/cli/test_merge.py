"""`pergola merge`: two snapshots on an orbit, and the collision of two galaxies with it."""
import csv
import json
import shutil

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
        self.good("merge", galaxy, galaxy, "--pericentre", 2, "--separation", 12, "--inclination-2", 60, "--argument-2", 30,
                  "-o", self.dir / "pair.hdf5")
        shutil.copy(EXAMPLES / "galaxy-collision.toml", self.dir)
        self.good("run", self.dir / "galaxy-collision.toml", "-o", self.dir / "run", "--quiet", "--device", "cpu",
                  "--set", "run.end_time=4")
        record = json.loads((self.dir / "run" / "run.json").read_text())
        self.assertEqual([check["passed"] for check in record["checks"]], [True], record["checks"])
        self.good("picture", self.dir / "run" / "snap_001.hdf5", "-o", self.dir / "stars.png", "--species", "disc,bulge")
        self.bad(2, "picture", galaxy, "-o", self.dir / "gas.png", "--species", "gas", says=["galaxy.hdf5", "gas"])

    def test_has_help_with_an_example(self):
        self.assertIn("pergola merge galaxy.hdf5", self.good("merge", "--help"))


if __name__ == "__main__":
    harness.main()
