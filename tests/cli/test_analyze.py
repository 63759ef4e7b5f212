"""`pergola analyze`: tables, plots and JSON of each analysis, and what is refused."""

import csv
import math

import harness


def read_table(path):
    """The columns of a CSV file by name, without their units, as numbers where they are."""
    with open(path, encoding="utf-8", newline="") as file:
        rows = list(csv.reader(file))
    columns = {}
    for k, name in enumerate(rows[0]):
        cells = [row[k] for row in rows[1:]]
        try:
            cells = [float(cell) for cell in cells]
        except ValueError:
            pass
        columns[name.split("[")[0]] = cells
    return columns


class AnalyzeTest(harness.CliTest):
    def model(self, name, *options):
        path = self.dir / f"{name}.hdf5"
        self.good("ic", name, *options, "-o", path, "--overwrite", "--quiet")
        return path

    def table(self, what, *args):
        path = self.dir / f"{what}.csv"
        self.good("analyze", what, *args, "-o", path)
        return read_table(path)


class Isolated(AnalyzeTest):
    def test_radii_of_a_plummer_model_are_the_analytic_ones(self):
        # Reference: r(f) = a (f^(-2/3) - 1)^(-1/2), a = 3 pi/16.
        table = self.table("radii", self.model("plummer", "--n", 20000, "--seed", 3))
        for percent in (25, 50, 75):
            expected = 3 * math.pi / 16 / math.sqrt((percent / 100) ** (-2 / 3) - 1)
            self.assertAlmostEqual(table[f"r{percent}"][0], expected, delta=0.03 * expected)

    def test_a_run_is_taken_as_a_whole_or_at_its_end(self):
        config = self.dir / "run.toml"
        config.write_text('[particles]\nmodel = "plummer"\nn = 64\n[run]\nend_time = 0.5\n'
                          "[output]\nsnapshots_every = 0.25\n", encoding="utf-8")
        run = self.dir / "run"
        self.good("run", config, "-o", run, "--quiet")
        self.assertEqual(self.table("radii", run)["time"], [0, 0.25, 0.5])
        self.assertEqual(set(self.table("profile", run)["time"]), {0.5})

    def test_units_stand_in_the_header_and_one_json_value_is_printed(self):
        path = self.model("plummer", "--n", 300, "--units", "gadget")
        plot = self.dir / "profile.png"
        value = self.good_json("analyze", "profile", path, "--plot", plot)
        units = {column["name"]: column["unit"] for column in value["columns"]}
        self.assertEqual((units["r_outer"], units["density"], units["sigma_radial"]),
                         ("kpc", "1e10 Msun/kpc^3", "km/s"))
        self.assertEqual(value["written"], [str(plot)])
        self.assertEqual(plot.read_bytes()[:8], b"\x89PNG\r\n\x1a\n")
        self.assertIn("r50[kpc]", self.good("analyze", "radii", path))

    def test_what_is_no_number_is_nan(self):
        # Without its sign: rings of a cluster have a circular speed or an epicyclic frequency that is none.
        self.assertNotIn("-nan", self.good("analyze", "rotation", self.model("plummer", "--n", 100)))

    def test_what_cannot_be_is_refused(self):
        path = self.model("plummer", "--n", 100)
        empty = self.dir / "empty"
        empty.mkdir()
        self.bad(2, "analyze", "profile", path, "--from", "100", "--to", "200", says=["--from, --to", "found none"])
        self.bad(2, "analyze", "radi", path, says=["radi", "did you mean radii?"])
        self.bad(2, "analyze", says="expected one of radii")
        self.bad(2, "analyze", "profile", path, "--from", "2", "--to", "1", says=["--from, --to", "0 < from < to"])
        self.bad(2, "analyze", "profile", path, "--bins", "-3", says=["--bins", "-3"])
        self.bad(2, "analyze", "profile", path, "--species", "dics", says=["--species", "did you mean disc?"])
        self.bad(2, "analyze", "profile", path, "--species", "disc", says=["species disc", "found none"])
        self.bad(2, "analyze", "radii", path, "--center", "here", says=["--center", "here"])
        self.bad(2, "analyze", "radii", path, "-o", self.dir / "x.txt", says=[".csv, .hdf5", ".txt"])
        self.bad(2, "analyze", "radii", path, "--plot", self.dir / "x.jpeg", says=[".png", ".jpeg"])
        self.bad(2, "analyze", "radii", empty, says=["empty", "needs a snapshot"])
        self.bad(2, "analyze", "radii", self.dir / "none.hdf5", says="none.hdf5")
        table = self.dir / "snap.csv"
        table.write_text("id,mass,x,y,z,vx,vy,vz\n1,1,0,0,0,0,0,0\n", encoding="utf-8")
        self.bad(2, "analyze", "profile", table, says=["profile", "several distances", "found one particle"])
        table.write_text("id,mass,x,y,z,vx,vy,vz\n", encoding="utf-8")
        self.bad(2, "analyze", "profile", table, says="snap.csv")
        self.assertEqual(self.files(), ["plummer.hdf5", "snap.csv"])

    def test_few_particles_have_a_profile(self):
        table = self.dir / "few.csv"
        table.write_text("id,mass,x,y,z,vx,vy,vz\n1,1,0,0,0,0,0,0\n2,1,1,0,0,0,0,0\n3,1,-2,0,0,0,0,0\n", encoding="utf-8")
        found = list(csv.DictReader(self.good("analyze", "profile", table, "--bins", 2, "--center", "0,0,0").splitlines()))
        self.assertEqual([(float(row["r_outer"]), float(row["mass_within"])) for row in found][0::2], [(1, 2), (2, 3)])

    def test_the_file_that_is_read_is_not_replaced(self):
        table = self.dir / "snap.csv"
        table.write_text("id,mass,x,y,z,vx,vy,vz\n1,1,0,0,0,0,0,0\n2,1,1,0,0,0,0,0\n", encoding="utf-8")
        self.bad(2, "analyze", "radii", table, "-o", table, says="another file")


class Logs(AnalyzeTest):
    def test_every_run_in_open_space_logs_its_lagrangian_radii(self):
        # Reference: `analyze radii` of the snapshots of the same run.
        config = self.dir / "run.toml"
        config.write_text('[particles]\nmodel = "plummer"\nn = 200\n[run]\nend_time = 0.5\n'
                          "[output]\nsnapshots_every = 0.25\nenergy_every = 0.125\n", encoding="utf-8")
        self.good("run", config, "-o", self.dir / "run", "--quiet")
        log, radii = read_table(self.dir / "run" / "lagrangian.csv"), self.table("radii", self.dir / "run")
        self.assertEqual(log["time"], [0, 0.125, 0.25, 0.375, 0.5])
        for name in ("r1", "r50", "r90", "center_x"):
            self.assertEqual(log[name][::2], radii[name], name)
        self.good("run", config, "-o", self.dir / "none", "--quiet", "--set", "output.radii_every=0")
        self.assertFalse((self.dir / "none" / "lagrangian.csv").exists())
        self.bad(2, "run", config, "-o", self.dir / "bad", "--set", "output.radii_every=-3", says="output.radii_every")

    def test_a_resumed_run_has_the_same_lines(self):
        config = self.dir / "run.toml"
        config.write_text('[particles]\nmodel = "plummer"\nn = 100\n[run]\nend_time = 0.5\n', encoding="utf-8")
        self.good("run", config, "-o", self.dir / "whole", "--quiet")
        self.good("run", config, "-o", self.dir / "parts", "--quiet", "--set", "run.end_time=0.25")
        self.good("run", config, "-o", self.dir / "parts", "--quiet", "--resume", "--set", "run.end_time=0.5")
        whole = read_table(self.dir / "whole" / "lagrangian.csv")
        parts = read_table(self.dir / "parts" / "lagrangian.csv")
        self.assertEqual(whole["time"][0], parts["time"][0])
        self.assertEqual(whole["time"][-1], parts["time"][-1])


class FewBodies(AnalyzeTest):
    def test_elements_of_a_binary_are_those_that_it_was_made_with(self):
        table = self.table("orbits", self.model("kepler", "--eccentricity", 0.6))
        self.assertEqual((table["first"], table["second"]), ([1], [2]))
        self.assertAlmostEqual(table["eccentricity"][0], 0.6, places=12)
        self.assertAlmostEqual(table["period"][0], 2 * math.pi * math.sqrt(table["semi_major_axis"][0] ** 3 /
                                                                           (table["mass_1"][0] + table["mass_2"][0])))

    def test_nobody_is_bound_or_leaves(self):
        path = self.dir / "two.csv"
        path.write_text("id,mass,x,y,z,vx,vy,vz\n1,1,0,0,0,0,0,0\n2,1,1,0,0,9,0,0\n", encoding="utf-8")
        self.bad(2, "analyze", "orbits", path, says=["bound pair", "found none"])
        self.assertEqual(self.table("escapers", path)["escapers"], [2])
        self.assertEqual(self.table("escapers", self.model("kepler"))["escapers"], [0])


    def test_a_cluster_in_the_tide_of_a_galaxy_keeps_its_stars(self):
        """A flat rotation curve: the tidal radius is (G m R²/2 v²)^(1/3) (King 1962)."""
        self.good("ic", "plummer", "--n", 400, "--seed", 3, "-o", self.dir / "plummer.csv", "--quiet")
        stars = read_table(self.dir / "plummer.csv")
        distance, speed = 100.0, 2.0  # r_J = 10.8, the half-mass radius 0.77
        lines = ["mass,x,y,z,vx,vy,vz,id"]
        for k in range(400):
            x, v = stars["x"][k] + distance, stars["vy"][k] + speed
            lines.append(f'{stars["mass"][k]},{x},{stars["y"][k]},{stars["z"][k]},{stars["vx"][k]},{v},{stars["vz"][k]},{k + 1}')
        (self.dir / "orbit.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
        config = self.dir / "tide.toml"
        config.write_text('[particles]\nfile = "orbit.csv"\n[run]\nend_time = 0.5\n[time]\nstep = 0.015625\n[gravity]\nsoftening = 0.02\n'
                          f'[[gravity.external]]\nkind = "logarithmic"\nspeed = {speed}\nradius = 0.01\n'
                          '[output]\nsnapshots_every = 0.25\nanalyses = ["escapers"]\n', encoding="utf-8")
        self.good("run", config, "-o", self.dir / "tide", "--quiet")
        table = self.table("escapers", self.dir / "tide")
        self.assertEqual(table["criterion"], ["jacobi"] * 3)
        for escapers, radius in zip(table["escapers"], table["tidal_radius"]):
            self.assertLess(escapers, 40)
            self.assertAlmostEqual(radius / (distance ** 2 / (2 * speed ** 2)) ** (1 / 3), 1, delta=0.01)
        in_the_run = read_table(self.dir / "tide" / "tables" / "escapers_002.csv")
        self.assertEqual(in_the_run["escapers"][0], table["escapers"][2])
        self.assertEqual(in_the_run["criterion"], ["jacobi"])


class Discs(AnalyzeTest):
    def test_a_disc_turns_and_has_the_q_that_it_was_made_with(self):
        path = self.model("exponential-disc", "--n", 8000, "--toomre-q", 1.5)
        table = self.table("rotation", path, "--to", 4, "--bins", 8, "--softening", 0.05)
        inner = [q for q, r in zip(table["toomre_q"], table["R_inner"]) if 0.9 < r < 2.6]
        self.assertTrue(all(1.0 < q < 2.2 for q in inner), inner)
        self.assertTrue(all(0 < v < c for v, c in zip(table["rotation"][2:6], table["circular_speed"][2:6])))
        self.assertLess(self.table("bar", path)["A2"][0], 0.06)
        self.bad(2, "analyze", "bar", path, "--from", "3", "--to", "2", says="--from, --to")


class Boxes(AnalyzeTest):
    def test_points_at_random_have_the_power_of_shot_noise_and_hardly_groups(self):
        # Reference: P = V/N.
        path = self.model("cube", "--n", 4096, "--side", 2)
        table = self.table("power", path, "--cells", 32, "--folds", 1)
        self.assertAlmostEqual(table["shot_noise"][0], 8 / 4096, places=12)
        noise = table["shot_noise"][0]
        self.assertTrue(all(abs(p - noise) < 5 * e for p, e in zip(table["power"], table["error"])))
        self.assertEqual(set(table["taken_off"]), {0})
        without = self.table("power", path, "--cells", 32, "--folds", 1, "--shot-noise", "subtract")
        self.assertEqual(without["taken_off"], without["shot_noise"])
        self.assertEqual(without["power"], [p - noise for p in table["power"]])
        self.bad(2, "analyze", "power", path, "--shot-noise", "substract", says=["--shot-noise", "did you mean subtract?"])
        self.assertEqual(table["k"], sorted(table["k"]))
        self.assertEqual(self.table("groups", path, "--linking", 0.1)["group"], [])
        found = self.table("groups", path, "--linking", 0.8, "--least", 5)
        self.assertEqual(found["particles"], sorted(found["particles"], reverse=True))
        self.assertGreater(sum(self.table("mass-function", path, "--linking", 0.8, "--least", 5)["groups"]), 0)
        self.bad(2, "analyze", "mass-function", path, "--linking", 0.1, says=["groups", "found none"])
        self.bad(2, "analyze", "mass-function", path, "--linking", 0.8, "--least", 5, "--sigma8", 0.8,
                 says=["--sigma8", "cosmological box", "found none"])
        self.bad(2, "analyze", "power", path, "--cells", 30, says=["--cells", "multiple of 8"])
        self.bad(2, "analyze", "radii", path, says=["periodic box", "--center"])

    def test_what_needs_a_box_says_so(self):
        path = self.model("plummer", "--n", 100)
        self.bad(2, "analyze", "power", path, says=["periodic box"])
        self.bad(2, "analyze", "groups", path, says=["--linking-length"])
        self.assertEqual(len(self.table("groups", path, "--linking-length", 5)["group"]), 1)


if __name__ == "__main__":
    harness.main()
