"""pergola force: its JSON, its error against a sum written here, the dump, and bad input."""

import math
import random

from harness import CliTest, main, needs

LAYOUT = {"solver", "device", "precision", "n", "seconds", "particles_per_second", "interactions_per_second", "error"}


class Force(CliTest):
    def write_particles(self, name="cluster.csv", n=300, seed=1):
        self.random = random.Random(seed)
        self.rows = [[1.0 / n] + [self.random.gauss(0, 1) for _ in range(6)] for _ in range(n)]
        path = self.dir / name
        with open(path, "w") as file:
            file.write("id,mass,x,y,z,vx,vy,vz\n")
            for i, row in enumerate(self.rows):
                file.write(",".join([str(i + 1), *map(repr, row)]) + "\n")
        return path

    def test_json_has_the_layout_of_the_contract(self):
        path = self.write_particles()
        report = self.good_json("force", path, "--solver", "direct", "--device", "cpu")
        self.assertEqual(set(report), LAYOUT)
        self.assertEqual(set(report["seconds"]), {"prepare", "evaluate", "total"})
        self.assertEqual(set(report["error"]), {"median", "rms", "p99", "max", "sample"})
        self.assertEqual((report["solver"], report["device"], report["precision"]), ("direct", "cpu", "mixed"))
        self.assertEqual((report["n"], report["error"]["sample"]), (300, 300))
        self.assertLess(report["error"]["max"], 1e-4)
        self.assertGreater(report["error"]["median"], 0)
        self.assertAlmostEqual(report["particles_per_second"] * report["seconds"]["total"], 300, places=6)

    def test_precision_and_sample_follow_the_options(self):
        path = self.write_particles()
        errors = {}
        for precision in ("single", "mixed", "double"):
            report = self.good_json(
                "force", path, "--solver", "direct", "--device", "cpu", "--set", f"run.precision={precision}",
                "--set", "gravity.softening=0.01", "--sample", "50")
            self.assertEqual((report["precision"], report["error"]["sample"]), (precision, 50))
            errors[precision] = report["error"]["rms"]
        self.assertEqual(errors["double"], 0)
        self.assertLess(errors["mixed"], errors["single"])

    def test_text_names_the_error(self):
        self.assertIn("median", self.good("force", self.write_particles(), "--solver", "direct", "--device", "cpu"))

    def test_one_particle_gives_zero_error_and_no_nan(self):
        report = self.good_json("force", self.write_particles(n=1), "--solver", "direct", "--device", "cpu")
        self.assertEqual(report["error"], {"median": 0, "rms": 0, "p99": 0, "max": 0, "sample": 1})

    @needs("h5py")
    def test_dump_holds_the_acceleration(self):
        import h5py

        path, dump = self.write_particles(n=40), self.dir / "out.hdf5"
        self.good("force", path, "--solver", "direct", "--device", "cpu", "--set", "run.precision=double",
                  "--set", "gravity.softening=0.1", "--dump", dump)
        with h5py.File(dump) as file:
            found = file["PartType1/Acceleration"][...]
            ids = file["PartType1/ParticleIDs"][...]
        self.assertEqual(found.shape, (40, 3))
        for identity, acceleration in zip(ids, found):
            me = self.rows[int(identity) - 1]
            for axis in range(3):
                expected = math.fsum(
                    m * (x[axis] - me[1 + axis]) / (math.dist(x[:3], me[1:4]) ** 2 + 0.01) ** 1.5
                    for m, *x in self.rows)
                self.assertAlmostEqual(acceleration[axis], expected, places=12)

    def test_bad_input_is_refused_with_a_sentence(self):
        path = self.write_particles()
        before = self.files()
        self.bad(2, "force", self.dir / "missing.hdf5", "--solver", "direct", says="missing.hdf5")
        self.bad(2, "force", path, "--solver", "dirct", says=["gravity.solver", 'did you mean "direct"'])
        self.bad(2, "force", path, "--solver", "direct", "--set", "gravity.softning=1", says="gravity.softening")
        self.bad(2, "force", path, "--solver", "direct", "--sample", "0", says="--sample")
        self.bad(2, "force", path, "--solver", "direct", "--dump", self.dir / "out.csv", says=["--dump", ".hdf5"])
        self.assertEqual(self.files(), before)

    def test_two_particles_in_one_place_are_named_by_id(self):
        path = self.dir / "twins.csv"
        path.write_text("id,mass,x,y,z,vx,vy,vz\n7,1,0,0,0,0,0,0\n9,1,1,2,3,0,0,0\n11,1,1,2,3,0,0,0\n")
        self.bad(1, "force", path, "--solver", "direct", "--device", "cpu", "--set", "gravity.softening=0.0",
                 says=["9", "11", "softening"])
        self.good("force", path, "--solver", "direct", "--device", "cpu")


if __name__ == "__main__":
    main()
