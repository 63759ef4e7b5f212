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

    def test_what_cannot_be_is_refused(self):
        path = self.model("plummer", "--n", 100)
        empty = self.dir / "empty"
        empty.mkdir()
        self.bad(2, "analyze", "radi", path, says=["radi", "did you mean radii?"])
        self.bad(2, "analyze", says="expected one of radii")
        self.bad(2, "analyze", "profile", path, "--from", "2", "--to", "1", says=["--from, --to", "0 < from < to"])
        self.bad(2, "analyze", "profile", path, "--bins", "-3", says=["--bins", "-3"])
        self.bad(2, "analyze", "profile", path, "--species", "dics", says=["--species", "did you mean disc?"])
        self.bad(2, "analyze", "profile", path, "--species", "disc", says=["species disc", "found none"])
        self.bad(2, "analyze", "radii", path, "--center", "here", says=["--center", "here"])
        self.bad(2, "analyze", "radii", path, "-o", self.dir / "x.txt", says=[".csv", ".txt"])
        self.bad(2, "analyze", "radii", path, "--plot", self.dir / "x.jpeg", says=[".png", ".jpeg"])
        self.bad(2, "analyze", "radii", empty, says=["empty", "needs a snapshot"])
        self.bad(2, "analyze", "radii", self.dir / "none.hdf5", says="none.hdf5")
        table = self.dir / "snap.csv"
        table.write_text("id,mass,x,y,z,vx,vy,vz\n", encoding="utf-8")
        self.bad(2, "analyze", "profile", table, says="snap.csv")
        self.assertEqual(self.files(), ["plummer.hdf5", "snap.csv"])

    def test_the_file_that_is_read_is_not_replaced(self):
        table = self.dir / "snap.csv"
        table.write_text("id,mass,x,y,z,vx,vy,vz\n1,1,0,0,0,0,0,0\n2,1,1,0,0,0,0,0\n", encoding="utf-8")
        self.bad(2, "analyze", "radii", table, "-o", table, says="another file")


if __name__ == "__main__":
    harness.main()
