"""The galactic disc as a user meets it: its initial conditions, its halo stated once, and the examples."""
import csv
import json
import os
import pathlib

import harness

HALO = 'gravity.external=[{ kind = "logarithmic", speed = 3, radius = 0.5 }]'
EXAMPLES = pathlib.Path(os.environ["PERGOLA_SOURCE"]) / "examples"


class Disc(harness.CliTest):
    def spin(self, *options):
        """The angular momentum of the disc that `pergola ic` makes with these options."""
        path = self.dir / "disc.csv"
        self.good("ic", "exponential-disc", "--n", 2000, *options, "-o", path, "--overwrite")
        with open(path) as file:
            rows = [{key: float(value) for key, value in row.items() if key != "species"} for row in csv.DictReader(file)]
        return sum(row["mass"] * (row["x"] * row["vy"] - row["y"] * row["vx"]) for row in rows)

    def test_turns_faster_in_the_halo_it_is_made_for(self):
        alone, held = self.spin(), self.spin("--set", HALO)
        self.assertGreater(alone, 0.5)
        self.assertGreater(held, 3 * alone)

    def test_a_bad_halo_and_a_model_that_takes_none_are_refused(self):
        out = self.dir / "a.hdf5"
        self.bad(2, "ic", "exponential-disc", "-o", out, "--set", 'gravity.external=[{ kind = "plumer" }]',
                 says=["gravity.external[0].kind", 'did you mean "plummer"?'])
        self.bad(2, "ic", "plummer", "-o", out, "--set", HALO, says=["gravity.external", "plummer"])
        self.bad(2, "ic", "exponential-disc", "-o", out, "--satellite-mass", 0.1, "--satellite-pericentre", 9,
                 says=["satellite_distance", "found 6"])
        self.assertEqual(self.files(), [])

    def test_a_run_makes_the_disc_that_ic_makes_for_the_same_halo(self):
        self.good("ic", "exponential-disc", "--n", 500, "--set", HALO, "-o", self.dir / "disc.hdf5")
        self.good("convert", self.dir / "disc.hdf5", self.dir / "made.csv")
        config = self.dir / "run.toml"
        config.write_text("[run]\nend_time = 0.01\n[particles]\nmodel = \"exponential-disc\"\nn = 500\n"
                          "[time]\nintegrator = \"leapfrog\"\n[[gravity.external]]\nkind = \"logarithmic\"\nspeed = 3\n"
                          "radius = 0.5\n")
        self.good("run", config, "-o", self.dir / "run", "--quiet")
        self.good("convert", self.dir / "run" / "snap_000.hdf5", self.dir / "ran.csv")

        def states(name):
            with open(self.dir / name) as file:
                return [[row[key] for key in ("id", "x", "y", "z", "vx", "vy", "vz")] for row in csv.DictReader(file)]

        self.assertEqual(states("made.csv"), states("ran.csv"))

    def test_the_examples_run_and_keep_their_energy(self):
        # With 48 cells a side one is wider than the satellite: at any step its energy then changes by 6e-3 of the internal one.
        for example, most in (("disc-spiral", 1e-3), ("disc-satellite", 1e-2)):
            self.good("run", EXAMPLES / f"{example}.toml", "-o", self.dir / example, "--quiet", "--device", "cpu",
                      "--set", "particles.n=20000", "--set", "gravity.mesh.cells=48", "--set", "run.end_time=2",
                      "--set", f"expect.energy_error={most}")
            record = json.loads((self.dir / example / "run.json").read_text())
            self.assertEqual([check["passed"] for check in record["checks"]], [True, True], record["checks"])


if __name__ == "__main__":
    harness.main()
